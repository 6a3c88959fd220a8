import pytest
import torch

from cosyvoice_web.engines.cosyvoice.layers.time_convolution import Bfloat16TimeConvolution, TimeConvolution

LAYOUTS = [(3, 1, 1), (7, 1, 3), (4, 2, 1), (1, 1, 1)]


@pytest.mark.parametrize(("kernel_size", "stride", "dilation"), LAYOUTS)
def test_bfloat16_is_as_near_as_8_bits_allow(kernel_size: int, stride: int, dilation: int) -> None:
    torch.manual_seed(1)
    exact = TimeConvolution(24, 40, kernel_size, stride=stride, dilation=dilation)
    for parameter in exact.parameters():
        torch.nn.init.normal_(parameter)
    x = torch.randn(2, 50, 24)
    with torch.inference_mode():
        rounded, expected = Bfloat16TimeConvolution.of(exact)(x), exact(x)
    assert rounded.shape == expected.shape
    assert rounded.dtype == torch.float32
    assert rounded.is_contiguous()
    assert 0 < float((rounded - expected).norm() / expected.norm()) < 0.01
