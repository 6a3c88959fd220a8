import pytest
import torch

from cosyvoice_web.engines.cosyvoice.language_model.speech_lm import SpeechLM
from cosyvoice_web.engines.cosyvoice.layers.assembly import assemble
from cosyvoice_web.engines.cosyvoice.weights.llm_keys import language_model_state
from cosyvoice_web.engines.cosyvoice.weights.tensor_source import TensorSource
from cosyvoice_web.errors import KeyMismatch, ShapeMismatch
from tests.engines.cosyvoice.golden_files import golden


@pytest.mark.parametrize("size", ["tiny", "full"])
def test_every_official_key_is_consumed_and_every_parameter_of_ours_is_given(size: str) -> None:
    values = golden(size)
    tensors = {name: torch.zeros(1).expand(shape) for name, shape in values.shapes["llm"].items()}
    source = TensorSource("llm.pt", tensors)
    state = language_model_state(source, values.config.language_model)
    source.finish()
    assemble(lambda: SpeechLM(values.config.language_model), state)


@pytest.mark.parametrize(
    "name", ["llm_decoder.bias", "llm.encoders.2.self_attn.linear_k.bias", "text_encoder.encoders.0.norm_ff.weight"]
)
def test_a_missing_tensor_is_named(name: str) -> None:
    tensors = golden("tiny").checkpoint("llm")
    del tensors[name]
    source = TensorSource("llm.pt", tensors)
    language_model_state(source, golden("tiny").config.language_model)
    with pytest.raises(KeyMismatch) as raised:
        source.finish()
    assert (raised.value.missing, raised.value.unexpected) == ((name,), ())


def test_a_tensor_of_another_shape_is_named() -> None:
    tensors = golden("tiny").checkpoint("llm")
    tensors["llm.encoders.1.feed_forward.w_1.weight"] = torch.zeros(3, 64)
    with pytest.raises(ShapeMismatch, match=r"llm\.encoders\.1\.feed_forward\.w_1\.weight"):
        language_model_state(TensorSource("llm.pt", tensors), golden("tiny").config.language_model)


def test_large_tensors_are_not_copied() -> None:
    tensors = golden("tiny").checkpoint("llm")
    state = language_model_state(TensorSource("llm.pt", tensors), golden("tiny").config.language_model)
    assert state["text_encoder.embedding.weight"].data_ptr() == tensors["text_embedding.weight"].data_ptr()
    theirs = tensors["llm.encoders.0.feed_forward.w_1.weight"]
    assert state["decoder.blocks.0.feed_forward.expand.weight"].data_ptr() == theirs.data_ptr()
