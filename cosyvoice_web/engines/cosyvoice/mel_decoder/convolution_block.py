"""Convolution, group normalisation, mish: the block that the length regulator and the velocity network share."""

import torch
import torch.nn.functional as F
from torch import nn

from cosyvoice_web.engines.cosyvoice.layers.time_convolution import TimeConvolution

_KERNEL_SIZE = 3


class ConvolutionBlock(nn.Module):
    """Kernel-3 convolution, group normalisation over time and the group's channels, mish.

    Source: Matcha-TTS, matcha/models/components/decoder.py, Block1D; CosyVoice, flow/length_regulator.py.
    Differs: channels last, no padding mask: one utterance at a time has none.
    """

    def __init__(self, input_channels: int, output_channels: int, group_count: int) -> None:
        super().__init__()
        self.convolution = TimeConvolution(input_channels, output_channels, _KERNEL_SIZE)
        self.norm = nn.GroupNorm(group_count, output_channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, time, input) float32 to a new tensor (batch, time, output)."""
        image = self.convolution(x).transpose(1, 2).unsqueeze(2)
        normed: torch.Tensor = self.norm(image)
        return F.mish(normed.squeeze(2).transpose(1, 2), inplace=True)
