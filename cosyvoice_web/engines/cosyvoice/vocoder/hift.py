"""Mel spectrogram and excitation to waveform."""

import math
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, wait
from itertools import pairwise
from typing import Self, cast

import torch
import torch.nn.functional as F
from torch import nn

from cosyvoice_web.engines.cosyvoice.config import VocoderConfig
from cosyvoice_web.engines.cosyvoice.layers.assembly import assemble
from cosyvoice_web.engines.cosyvoice.layers.time_convolution import TimeConvolution, TimeUpsampling
from cosyvoice_web.engines.cosyvoice.vocoder import spectral
from cosyvoice_web.engines.cosyvoice.vocoder.f0_predictor import F0Predictor
from cosyvoice_web.engines.cosyvoice.vocoder.harmonic_source import HarmonicSource

EDGE_KERNEL_SIZE = 7
"""Kernel of the first and the last convolution."""
LAST_LEAKY_RELU_SLOPE = 0.01
"""The last activation does not take the configured slope but the default of its framework."""


class Snake(nn.Module):
    """x + sin(alpha x)^2 / alpha, one alpha a channel; `reciprocal` is 1 / (alpha + 1e-9).

    Source: Liu, Hartwig and Ueda 2020, "Neural Networks Fail to Learn Periodic Functions"; CosyVoice,
    transformer/activation.py, Snake.
    Differs: the division is done once, when weights are read.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.empty(channels))
        self.reciprocal = nn.Parameter(torch.empty(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, time, channels) float32 to a new tensor of the same shape."""
        wave = torch.mul(x, self.alpha).sin_().square_()
        return torch.addcmul(x, wave, self.reciprocal, out=wave)


class ResidualStack(nn.Module):
    """Pairs of a dilated and a plain convolution, each after a snake, added to their input.

    Source: CosyVoice, hifigan/generator.py, ResBlock.
    Differs: weight normalisation folded; channels last.
    """

    def __init__(self, channels: int, kernel_size: int, dilations: tuple[int, ...]) -> None:
        super().__init__()
        self.dilated = nn.ModuleList(
            TimeConvolution(channels, channels, kernel_size, dilation=dilation) for dilation in dilations
        )
        self.plain = nn.ModuleList(TimeConvolution(channels, channels, kernel_size) for _ in dilations)
        self.dilated_activations = nn.ModuleList(Snake(channels) for _ in dilations)
        self.plain_activations = nn.ModuleList(Snake(channels) for _ in dilations)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, time, channels) float32 to a new tensor of the same shape."""
        pairs = zip(self.dilated_activations, self.dilated, self.plain_activations, self.plain, strict=True)
        for first_activation, first, second_activation, second in pairs:
            x = second(second_activation(first(first_activation(x)))).add_(x)
        return x


class HiFTVocoder(nn.Module):
    """The whole vocoder.

    Source: CosyVoice, hifigan/generator.py, HiFTGenerator; Li et al. 2023, "HiFTNet"; Kaneko et al. 2022, "iSTFTNet".
    Differs: weight normalisation folded; channels last; randomness is passed in.
    """

    def __init__(self, config: VocoderConfig) -> None:
        super().__init__()
        self.config = config
        self.f0_predictor = F0Predictor(config.f0_predictor)
        self.harmonic_source = HarmonicSource(config)
        self.input = TimeConvolution(config.mel_channels, config.base_channels, EDGE_KERNEL_SIZE)
        self.upsamplings = nn.ModuleList()
        self.source_inputs = nn.ModuleList()
        self.source_stacks = nn.ModuleList()
        self.stacks = nn.ModuleList()
        for stage, rate in enumerate(config.upsample_rates):
            channels = config.channels(stage + 1)
            self.upsamplings.append(
                TimeUpsampling(config.channels(stage), channels, config.upsample_kernel_sizes[stage], rate)
            )
            stride = config.source_strides[stage]
            self.source_inputs.append(
                TimeConvolution(
                    config.fft_size + 2,
                    channels,
                    1 if stride == 1 else 2 * stride,
                    stride=stride,
                    padding=0 if stride == 1 else stride // 2,
                )
            )
            self.source_stacks.append(
                ResidualStack(channels, config.source_kernel_sizes[stage], config.source_dilations[stage])
            )
            self.stacks.append(
                nn.ModuleList(
                    ResidualStack(channels, kernel_size, dilations)
                    for kernel_size, dilations in zip(config.kernel_sizes, config.dilations, strict=True)
                )
            )
        self.output = TimeConvolution(channels, config.fft_size + 2, EDGE_KERNEL_SIZE)

    @classmethod
    def from_state(
        cls,
        config: VocoderConfig,
        state: Mapping[str, torch.Tensor],
        replace: Callable[[nn.Module], None] | None = None,
    ) -> Self:
        """The model with the weights of `weights.hift_keys.vocoder_state`, which it keeps without copying.

        `replace`: see `assemble`.
        """
        return assemble(lambda: cls(config), state, replace)

    @torch.inference_mode()
    def decode(self, mel: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
        """Waveform of a mel spectrogram.

        Args:
            mel: (1, frames, mel) float32, natural log mel at the rate of the model's frames.
            source: (1, frames * samples_per_frame) float32, see `source`.

        Returns:
            (1, frames * samples_per_frame) float32 at `config.sample_rate_hz`, within +-`config.audio_limit`.
        """
        config = self.config
        source_bins = spectral.spectrum(source, config)
        x: torch.Tensor = self.input(mel)
        last = len(self.upsamplings) - 1
        for stage, upsampling in enumerate(self.upsamplings):
            x = upsampling(F.leaky_relu_(x, config.leaky_relu_slope))
            if stage == last:
                x = torch.cat((x[:, 1:2], x), dim=1)
            x.add_(self.source_stacks[stage](self.source_inputs[stage](source_bins)))
            x = _mean_of(cast(nn.ModuleList, self.stacks[stage]), x)
        bins = self.output(F.leaky_relu_(x, LAST_LEAKY_RELU_SLOPE))
        log_magnitude, phase = bins.split(config.fft_size // 2 + 1, dim=2)
        return spectral.waveform(log_magnitude, phase.sin(), config).clamp_(-config.audio_limit, config.audio_limit)

    @property
    def context_frames(self) -> int:
        """Mel frames to either side, together with their excitation, that can change the waveform of a frame."""
        config = self.config
        reach, rate = (EDGE_KERNEL_SIZE - 1) / 2, 1
        for stage, upsample_rate in enumerate(config.upsample_rates):
            reach += config.upsample_kernel_sizes[stage] / (upsample_rate * rate)
            rate *= upsample_rate
            source_reach = _stack_reach(config.source_kernel_sizes[stage], config.source_dilations[stage])
            reach = max(reach, (source_reach + config.fft_size) / rate + 1 / rate)
            stacks = zip(config.kernel_sizes, config.dilations, strict=True)
            reach += (1 + max(_stack_reach(*stack) for stack in stacks)) / rate
        reach += ((EDGE_KERNEL_SIZE - 1) / 2 + config.fft_size / config.fft_hop_samples) / rate
        return math.ceil(reach)

    def decode_in_parts(
        self, mel: torch.Tensor, source: torch.Tensor, part_count: int, executor: Executor
    ) -> torch.Tensor:
        """As `decode`, cut along time into `part_count` parts: the caller's thread decodes one, `executor` the others.

        Every part is decoded with `context_frames` of its neighbours, so the result is that of `decode` to rounding.
        """
        frames, per_frame = mel.shape[1], self.config.samples_per_frame
        context = self.context_frames

        def decode_part(start: int, end: int) -> torch.Tensor:
            before, after = max(0, start - context), min(frames, end + context)
            samples = self.decode(mel[:, before:after], source[:, before * per_frame : after * per_frame])
            return samples[:, (start - before) * per_frame : (end - before) * per_frame]

        edges = [frames * part // part_count for part in range(part_count + 1)]
        first, *others = [(start, end) for start, end in pairwise(edges) if end > start]
        pending = [executor.submit(decode_part, *span) for span in others]
        try:
            parts = [decode_part(*first)]
        finally:
            wait(pending)
        return torch.cat((*parts, *(part.result() for part in pending)), dim=1)


def _mean_of(stacks: nn.ModuleList, x: torch.Tensor) -> torch.Tensor:
    first, *others = stacks
    total: torch.Tensor = first(x)
    for stack in others:
        total.add_(stack(x))
    return total.div_(len(stacks))


def _stack_reach(kernel_size: int, dilations: tuple[int, ...]) -> int:
    """Steps to either side that a `ResidualStack` looks at."""
    return (kernel_size - 1) // 2 * (sum(dilations) + len(dilations))
