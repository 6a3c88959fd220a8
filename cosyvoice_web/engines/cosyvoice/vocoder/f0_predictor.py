"""Fundamental frequency from the mel spectrogram."""

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import nn

from cosyvoice_web.engines.cosyvoice.config import F0PredictorConfig
from cosyvoice_web.engines.cosyvoice.layers.time_convolution import TimeConvolution

CONVOLUTION_COUNT = 5
KERNEL_SIZE = 3


class F0Predictor(nn.Module):
    """Five convolutions with ELU and a linear read-out.

    Source: CosyVoice, hifigan/f0_predictor.py, ConvRNNF0Predictor.
    Differs: weight normalisation folded; channels last.
    """

    def __init__(self, config: F0PredictorConfig) -> None:
        super().__init__()
        widths = (config.input_channels, *(config.hidden_channels,) * CONVOLUTION_COUNT)
        self.convolutions = nn.ModuleList(
            TimeConvolution(before, after, KERNEL_SIZE) for before, after in pairwise(widths)
        )
        self.output = nn.Linear(config.hidden_channels, config.output_count)

    def forward(self, mel: torch.Tensor) -> torch.Tensor:
        """`mel` (1, frames, mel) float32 to f0 in Hz, (1, frames) float32, not negative; near 0 where unvoiced."""
        x = mel
        for convolution in self.convolutions:
            x = F.elu(convolution(x), inplace=True)
        f0_hz: torch.Tensor = self.output(x)
        return f0_hz[..., 0].abs()
