"""Convolutions over time of tensors that keep their channels last."""

from typing import Self

import torch
import torch.nn.functional as F
from torch import nn


class TimeConvolution(nn.Module):
    """One-dimensional convolution over (batch, time, channels).

    The channels-last layout is that of an image one row high, so the image kernels of the backend work on it without
    a transposition. `weight` is (output, kernel, input): flattened over the last two axes it is the matrix that maps a
    window of `kernel` frames to one output frame.

    Source: torch.nn.Conv1d, whose weight is (output, input, kernel).
    Differs: layout only; results agree to rounding.
    """

    def __init__(
        self,
        input_channels: int,
        output_channels: int,
        kernel_size: int,
        *,
        stride: int = 1,
        dilation: int = 1,
        padding: int | None = None,
    ) -> None:
        """`padding` in frames of zeros at both ends; None keeps the length for odd kernels and stride 1."""
        super().__init__()
        self.weight = nn.Parameter(torch.empty(output_channels, kernel_size, input_channels))
        self.bias = nn.Parameter(torch.empty(output_channels))
        self.stride = stride
        self.dilation = dilation
        self.padding = dilation * (kernel_size - 1) // 2 if padding is None else padding

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, time, input) float32 to (batch, time', output); `time'` = time at stride 1 and default padding."""
        image = F.conv2d(
            x.transpose(1, 2).unsqueeze(2),
            self.weight.transpose(1, 2).unsqueeze(2),
            self.bias,
            stride=(1, self.stride),
            padding=(0, self.padding),
            dilation=(1, self.dilation),
        )
        return image.squeeze(2).transpose(1, 2).contiguous()


class Bfloat16TimeConvolution(nn.Module):
    """A `TimeConvolution` computed with 8 significant bits, for processors that multiply bfloat16 faster than float32.

    Takes and answers float32. It can neither be trained nor saved.
    """

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor, stride: int, dilation: int, padding: int) -> None:
        """`weight` (output, kernel, input), `bias` (output,), float32; the rest as in `TimeConvolution`."""
        super().__init__()
        image_weight = weight.bfloat16().transpose(1, 2).unsqueeze(2)
        self._weight = image_weight.contiguous(memory_format=torch.channels_last)
        self._bias = bias.bfloat16()
        self._stride, self._dilation, self._padding = stride, dilation, padding

    @classmethod
    def of(cls, convolution: TimeConvolution) -> Self:
        """With the weights of `convolution`, rounded."""
        weight, bias = convolution.weight.detach(), convolution.bias.detach()
        return cls(weight, bias, convolution.stride, convolution.dilation, convolution.padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, time, input) float32 to (batch, time', output) float32, as `TimeConvolution`."""
        image = F.conv2d(
            x.bfloat16().transpose(1, 2).unsqueeze(2),
            self._weight,
            self._bias,
            stride=(1, self._stride),
            padding=(0, self._padding),
            dilation=(1, self._dilation),
        )
        return image.squeeze(2).transpose(1, 2).float().contiguous()


class TimeUpsampling(nn.Module):
    """Transposed convolution over (batch, time, channels) that makes the time axis `stride` times longer.

    `weight` is (input, kernel, output).

    Source: torch.nn.ConvTranspose1d with padding (kernel - stride) / 2, whose weight is (input, output, kernel).
    Differs: layout only; results agree to rounding.
    """

    def __init__(self, input_channels: int, output_channels: int, kernel_size: int, stride: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(input_channels, kernel_size, output_channels))
        self.bias = nn.Parameter(torch.empty(output_channels))
        self.stride = stride
        self.padding = (kernel_size - stride) // 2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, time, input) float32 to (batch, time x stride, output), for an even `kernel - stride`."""
        image = F.conv_transpose2d(
            x.transpose(1, 2).unsqueeze(2),
            self.weight.transpose(1, 2).unsqueeze(2),
            self.bias,
            stride=(1, self.stride),
            padding=(0, self.padding),
        )
        return image.squeeze(2).transpose(1, 2).contiguous()
