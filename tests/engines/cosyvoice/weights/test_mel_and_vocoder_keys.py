from collections.abc import Callable

import pytest
import torch

from cosyvoice_web.engines.cosyvoice.weights.flow_keys import mel_decoder_state
from cosyvoice_web.engines.cosyvoice.weights.hift_keys import vocoder_state
from cosyvoice_web.engines.cosyvoice.weights.tensor_source import TensorSource
from cosyvoice_web.errors import KeyMismatch, ShapeMismatch
from tests.engines.cosyvoice.golden_files import assert_close, golden

Read = Callable[[TensorSource], dict[str, torch.Tensor]]


def flow(source: TensorSource) -> dict[str, torch.Tensor]:
    return mel_decoder_state(source, golden("tiny").config.mel_decoder)


def hift(source: TensorSource) -> dict[str, torch.Tensor]:
    return vocoder_state(source, golden("tiny").config.vocoder)


@pytest.mark.parametrize(
    ("module", "read", "key"),
    [
        ("flow", flow, "decoder.estimator.mid_blocks.0.1.0.attn1.to_k.weight"),
        ("flow", flow, "decoder.estimator.up_blocks.1.0.mlp.1.bias"),
        ("flow", flow, "decoder.estimator.up_blocks.0.2.conv.weight"),
        ("flow", flow, "length_regulator.model.12.weight"),
        ("flow", flow, "encoder.encoders.1.self_attn.linear_q.weight"),
        ("hift", hift, "ups.1.parametrizations.weight.original0"),
        ("hift", hift, "resblocks.5.activations2.2.alpha"),
        ("hift", hift, "m_source.l_linear.weight"),
    ],
)
def test_a_missing_and_an_unknown_tensor_are_named(module: str, read: Read, key: str) -> None:
    tensors = golden("tiny").checkpoint(module)
    del tensors[key]
    source = TensorSource(f"{module}.pt", tensors | {"stranger": torch.zeros(1)})
    read(source)
    with pytest.raises(KeyMismatch) as caught:
        source.finish()
    assert caught.value.missing == (key,)
    assert caught.value.unexpected == ("stranger",)


def test_a_tensor_of_another_size_is_named() -> None:
    tensors = golden("tiny").checkpoint("flow")
    tensors["decoder.estimator.final_proj.weight"] = torch.zeros(80, 33, 1)
    with pytest.raises(ShapeMismatch, match=r"final_proj\.weight of shape \(80, 33, 1\)"):
        flow(TensorSource("flow.pt", tensors))


def test_both_spellings_of_weight_normalisation_fold_to_the_same_weights() -> None:
    newer = golden("tiny").checkpoint("hift")
    older = {
        name.replace("parametrizations.weight.original0", "weight_g").replace(
            "parametrizations.weight.original1", "weight_v"
        ): tensor
        for name, tensor in newer.items()
    }
    assert older.keys() != newer.keys()
    states = []
    for tensors in (newer, older):
        source = TensorSource("hift.pt", tensors)
        states.append(hift(source))
        source.finish()
    for name, tensor in states[0].items():
        assert torch.equal(states[1][name], tensor), name


def test_folded_weights_are_those_of_the_normalised_layer() -> None:
    tensors = golden("tiny").checkpoint("hift")
    layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Conv1d(80, 32, 7))
    layer.load_state_dict(
        {name.removeprefix("conv_pre."): tensor for name, tensor in tensors.items() if name.startswith("conv_pre.")}
    )
    folded = hift(TensorSource("hift.pt", tensors))["input.weight"].transpose(1, 2)
    assert_close(folded, layer.weight.detach(), 1e-6)
