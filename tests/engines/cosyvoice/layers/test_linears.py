"""The stand-ins for nn.Linear: as exact as their numbers allow, on every shape that is called."""

import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from cosyvoice_web.engines.cosyvoice.layers.linears import Int8Linear, Kernels, PackedLinear, quantize_rows

SHAPES = [(1, 24), (1, 1, 24), (8, 1, 24), (3, 50, 24)]


def linear(bias: bool = True, inputs: int = 24, outputs: int = 40) -> nn.Linear:
    torch.manual_seed(1)
    return nn.Linear(inputs, outputs, bias=bias).requires_grad_(False)


def rows(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_packed_equals_linear_to_rounding(shape: tuple[int, ...], bias: bool) -> None:
    layer = linear(bias)
    torch.testing.assert_close(PackedLinear.of(layer)(rows(*shape)), layer(rows(*shape)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kernels", Kernels)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_int8_is_the_product_of_rounded_numbers(shape: tuple[int, ...], bias: bool, kernels: Kernels) -> None:
    layer, x = linear(bias), rows(*shape)
    weight, scales = quantize_rows(layer.weight)
    expected = F.linear(x, weight * scales[:, None], layer.bias)
    largest_step = (x.max() - x.min()) / 127  # of activations, which the layer rounds itself
    bound = float(largest_step / 2 * layer.weight.abs().sum(dim=1).max())
    output = Int8Linear.of(layer, kernels)(x)
    assert output.shape == expected.shape
    assert float((output - expected).abs().max()) <= bound


@pytest.mark.parametrize("kernels", Kernels)
def test_int8_of_activations_of_one_sign(kernels: Kernels) -> None:
    layer, x = linear(), rows(5, 24).abs() + 3
    error = Int8Linear.of(layer, kernels)(x) - layer(x)
    assert float(error.abs().max() / layer(x).abs().max()) < 0.02


def test_rows_are_rounded_each_by_its_own_scale() -> None:
    weight = torch.tensor([[127.0, -63.5, 1.0], [0.127, 0.0, -0.127], [0.0, 0.0, 0.0]])
    rounded, scales = quantize_rows(weight)
    assert rounded.dtype == torch.int8
    assert rounded.tolist() == [[127, -64, 1], [127, 0, -127], [0, 0, 0]]
    torch.testing.assert_close(scales[:2], torch.tensor([1.0, 0.001]))
    assert bool(torch.isfinite(weight / scales[:, None]).all())


def test_packing_in_many_threads_leaves_the_choice_of_kernels_alone() -> None:
    before = torch.backends.quantized.engine
    layer, x, outputs = linear(), rows(4, 24), {}

    def pack(number: int) -> None:
        outputs[number] = Int8Linear.of(layer, list(Kernels)[number % 2])(x)

    threads = [threading.Thread(target=pack, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.backends.quantized.engine == before
    for number in range(2, 8):
        assert torch.equal(outputs[number], outputs[number % 2])
