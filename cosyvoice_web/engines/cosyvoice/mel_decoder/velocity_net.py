"""The network that estimates the velocity of the flow: a one-dimensional U-Net of residual and transformer blocks."""

import math
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import nn

from cosyvoice_web.engines.cosyvoice.config import VelocityNetConfig
from cosyvoice_web.engines.cosyvoice.layers.self_attention import SelfAttention
from cosyvoice_web.engines.cosyvoice.layers.time_convolution import TimeConvolution, TimeUpsampling
from cosyvoice_web.engines.cosyvoice.mel_decoder.convolution_block import ConvolutionBlock

NORM_GROUP_COUNT = 8
FEED_FORWARD_FACTOR = 4
TIME_CHANNELS_FACTOR = 4
"""Width of the time embedding relative to the outermost level."""
TIME_SCALE = 1000.0
"""The flow's time, 0 to 1, is embedded as if it were this many positions."""
LONGEST_PERIOD = 10_000.0


class AttentionBlock(nn.Module):
    """Pre-norm self-attention over all frames and a feed-forward of 4 times the width.

    Source: Matcha-TTS, matcha/models/components/transformer.py, BasicTransformerBlock; diffusers, Attention.
    Differs: one product for queries, keys and values; no mask, since one utterance at a time has no padding.
    """

    def __init__(self, channels: int, head_count: int, head_dim: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(channels)
        self.query_key_value = nn.Linear(channels, 3 * head_count * head_dim, bias=False)
        self.attention = SelfAttention(head_count, head_dim)
        self.attention_output = nn.Linear(head_count * head_dim, channels)
        self.feed_forward_norm = nn.LayerNorm(channels)
        self.expand = nn.Linear(channels, FEED_FORWARD_FACTOR * channels)
        self.contract = nn.Linear(FEED_FORWARD_FACTOR * channels, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, frames, channels) float32; adds the two branches to `x` in place and returns it."""
        attended = self.attention(self.query_key_value(self.attention_norm(x)))
        x.add_(self.attention_output(attended))
        hidden = torch.ops.aten.gelu_(self.expand(self.feed_forward_norm(x)))
        return x.add_(self.contract(hidden))


class ResidualBlock(nn.Module):
    """Two convolution blocks with the step's time bias between them, and a linear shortcut.

    Source: Matcha-TTS, matcha/models/components/decoder.py, ResnetBlock1D.
    Differs: the time bias arrives ready made, see `VelocityNet.time_biases`.
    """

    def __init__(self, input_channels: int, output_channels: int) -> None:
        super().__init__()
        self.first = ConvolutionBlock(input_channels, output_channels, NORM_GROUP_COUNT)
        self.second = ConvolutionBlock(output_channels, output_channels, NORM_GROUP_COUNT)
        self.shortcut = nn.Linear(input_channels, output_channels)

    def forward(self, x: torch.Tensor, time_bias: torch.Tensor) -> torch.Tensor:
        """`x` (batch, frames, input), `time_bias` (output,), float32, to a new tensor (batch, frames, output)."""
        hidden: torch.Tensor = self.first(x)
        hidden = self.second(hidden.add_(time_bias))
        return hidden.add_(self.shortcut(x))


class Level(nn.Module):
    """One level of the U-Net: a residual block, then transformer blocks, all at one frame rate."""

    def __init__(self, input_channels: int, output_channels: int, config: VelocityNetConfig) -> None:
        super().__init__()
        self.residual = ResidualBlock(input_channels, output_channels)
        self.attention = nn.ModuleList(
            AttentionBlock(output_channels, config.head_count, config.head_dim) for _ in range(config.blocks_per_level)
        )

    def forward(self, x: torch.Tensor, time_bias: torch.Tensor) -> torch.Tensor:
        """`x` (batch, frames, input), `time_bias` (output,), float32, to a new tensor (batch, frames, output)."""
        x = self.residual(x, time_bias)
        for block in self.attention:
            x = block(x)
        return x


class VelocityNet(nn.Module):
    """Velocity of the flow at one time, from the noisy mel and its conditions.

    Levels, outermost first: down (each but the last halves the frame rate), middle, up (each but the last doubles it),
    with a skip connection from every down level to its up level.

    Source: CosyVoice, flow/decoder.py, ConditionalDecoder.
    Differs: channels last throughout; no masks; the time biases of all levels come from one product for all steps.
    """

    def __init__(self, config: VelocityNetConfig) -> None:
        super().__init__()
        self.input_channels = config.input_channels
        outer_channels, inner_channels = config.channels[0], config.channels[-1]
        inwards = (config.input_channels, *config.channels)
        outwards = (*config.channels[::-1], outer_channels)
        self.down_levels = nn.ModuleList(Level(*pair, config) for pair in pairwise(inwards))
        self.downsamplings = nn.ModuleList(
            _plain_or(level == len(config.channels) - 1, channels, TimeConvolution(channels, channels, 3, stride=2))
            for level, channels in enumerate(config.channels)
        )
        self.middle_levels = nn.ModuleList(
            Level(inner_channels, inner_channels, config) for _ in range(config.middle_level_count)
        )
        self.up_levels = nn.ModuleList(Level(2 * before, after, config) for before, after in pairwise(outwards))
        self.upsamplings = nn.ModuleList(
            _plain_or(level == len(config.channels) - 1, channels, TimeUpsampling(channels, channels, 4, stride=2))
            for level, channels in enumerate(outwards[1:])
        )
        self.final = ConvolutionBlock(outer_channels, outer_channels, NORM_GROUP_COUNT)
        self.output = nn.Linear(outer_channels, config.output_channels)
        self.level_channels = (*config.channels, *(inner_channels,) * config.middle_level_count, *outwards[1:])
        time_channels = TIME_CHANNELS_FACTOR * outer_channels
        self.time_input = nn.Linear(config.input_channels, time_channels)
        self.time_hidden = nn.Linear(time_channels, time_channels)
        self.time_output = nn.Linear(time_channels, sum(self.level_channels))

    def time_biases(self, times: torch.Tensor) -> torch.Tensor:
        """What the flow's time adds in every level: `times` (steps,) in 0..1 to (steps, sum of the levels' channels).

        Source: Matcha-TTS, SinusoidalPosEmb and TimestepEmbedding; ResnetBlock1D.mlp.
        Differs: for all steps and levels at once.
        """
        half = self.input_channels // 2
        rates = torch.arange(half, dtype=torch.float32).mul(-math.log(LONGEST_PERIOD) / (half - 1)).exp()
        angles = TIME_SCALE * times[:, None] * rates
        embedded = self.time_hidden(F.silu(self.time_input(torch.cat((angles.sin(), angles.cos()), dim=1))))
        biases: torch.Tensor = self.time_output(F.mish(embedded))
        return biases

    def forward(self, x: torch.Tensor, time_bias: torch.Tensor) -> torch.Tensor:
        """Velocity of the first mel channels of `x`.

        Args:
            x: (batch, frames, input) float32: noisy mel, encoded tokens, speaker, prompt mel, side by side; any batch.
            time_bias: (sum of the levels' channels,) float32, one row of `time_biases`.

        Returns:
            (batch, frames, mel) float32, per unit of the flow's time.
        """
        biases = iter(torch.split(time_bias, list(self.level_channels)))
        skips: list[torch.Tensor] = []
        for level, downsampling in zip(self.down_levels, self.downsamplings, strict=True):
            x = level(x, next(biases))
            skips.append(x)
            x = downsampling(x)
        for level in self.middle_levels:
            x = level(x, next(biases))
        for level, upsampling in zip(self.up_levels, self.upsamplings, strict=True):
            skip = skips.pop()
            x = level(torch.cat((x[:, : skip.shape[1]], skip), dim=2), next(biases))
            x = upsampling(x)
        velocity: torch.Tensor = self.output(self.final(x))
        return velocity


def _plain_or(is_innermost_or_last: bool, channels: int, resampling: nn.Module) -> nn.Module:
    return TimeConvolution(channels, channels, 3) if is_innermost_or_last else resampling
