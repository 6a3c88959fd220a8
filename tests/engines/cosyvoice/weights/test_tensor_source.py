import pytest
import torch
from torch.nn.utils import parametrizations

from cosyvoice_web.engines.cosyvoice.weights.tensor_source import TensorSource
from cosyvoice_web.errors import KeyMismatch, ShapeMismatch


def test_everything_taken_or_dropped_finishes() -> None:
    source = TensorSource("a.pt", {"a": torch.ones(2), "b.c": torch.ones(1), "b.d": torch.ones(1)})
    assert torch.equal(source.take("a", (2,)), torch.ones(2))
    source.drop("b.", "not needed")
    source.finish()
    assert source.dropped == {"b.c": "not needed", "b.d": "not needed"}


def test_all_missing_and_unknown_names_come_in_one_error() -> None:
    source = TensorSource("a.pt", {"known": torch.ones(1), "extra": torch.ones(1)})
    source.take("known", (1,))
    source.take("lost", (1,))
    source.take_folded("layer", (2, 3, 1))
    with pytest.raises(KeyMismatch) as caught:
        source.finish()
    assert caught.value.unexpected == ("extra",)
    assert caught.value.missing == (
        "lost",
        "layer.parametrizations.weight.original0",
        "layer.parametrizations.weight.original1",
    )


def test_another_shape_or_kind_is_named_at_once() -> None:
    source = TensorSource("a.pt", {"a": torch.ones(2, 3), "n": torch.ones(2, dtype=torch.int64)})
    with pytest.raises(ShapeMismatch, match=r"a\.pt: found a of shape \(2, 3\); expected shape \(3, 2\)"):
        source.take("a", (3, 2))
    with pytest.raises(ShapeMismatch, match="int64"):
        source.take("n", (2,))


def test_float32_is_not_copied_and_half_is_widened() -> None:
    tensor = torch.randn(3)
    source = TensorSource("a.pt", {"a": tensor, "h": tensor.half()})
    assert source.take("a", (3,)).data_ptr() == tensor.data_ptr()
    assert source.take("h", (3,)).dtype == torch.float32


@pytest.mark.parametrize("layer", [torch.nn.Conv1d(3, 5, 4), torch.nn.ConvTranspose1d(3, 5, 4)])
def test_weight_norm_is_folded_in_every_spelling(layer: torch.nn.Module) -> None:
    torch.manual_seed(0)
    normed = parametrizations.weight_norm(layer)
    with torch.no_grad():
        normed.parametrizations.weight.original0.mul_(torch.rand_like(normed.parametrizations.weight.original0) + 0.5)
    folded = normed.weight.detach()
    new = {f"up.0.{name}": tensor for name, tensor in normed.state_dict().items()}
    old = {
        "up.0.weight_g": new["up.0.parametrizations.weight.original0"],
        "up.0.weight_v": new["up.0.parametrizations.weight.original1"],
    }
    for tensors in (new, old, {"up.0.weight": folded}):
        source = TensorSource("hift.pt", tensors)
        assert torch.equal(source.take_folded("up.0", tuple(folded.shape)), folded)
        source.drop("up.0.bias", "checked elsewhere")
        source.finish()
