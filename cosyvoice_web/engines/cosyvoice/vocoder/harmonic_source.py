"""The excitation of the vocoder: harmonics of the fundamental where speech is voiced, noise everywhere."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from cosyvoice_web.engines.cosyvoice.config import VocoderConfig

UNVOICED_NOISE_SHARE = 1 / 3
"""Deviation of the noise in unvoiced parts, relative to the amplitude of a sine."""


class HarmonicSource(nn.Module):
    """Sines of the fundamental and its harmonics plus noise, mixed to one signal.

    Source: CosyVoice, hifigan/generator.py, SineGen and SourceModuleHnNSF; Wang et al. 2019, "Neural source-filter
    waveform models".
    Differs: phases and noise come from the caller, and the phases at the end are given back, so that the next chunk of
    a stream goes on without a jump. The reference draws new phases in every chunk.
    """

    def __init__(self, config: VocoderConfig) -> None:
        super().__init__()
        self.config = config
        self.mix = nn.Linear(config.harmonic_count + 1, 1)

    def random_phases(self, generator: torch.Generator) -> torch.Tensor:
        """Phases to begin with, (harmonics + 1, 1) float64 in radians: 0 for the fundamental, uniform for the rest."""
        phases = (torch.rand(self.config.harmonic_count + 1, 1, generator=generator) * 2 - 1) * math.pi
        phases[0] = 0
        return phases.double()

    def forward(
        self, f0_hz: torch.Tensor, phases: torch.Tensor, noise: torch.Generator | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Excitation of some mel frames.

        Args:
            f0_hz: (1, frames) float32, constant over each frame; at or below the threshold: unvoiced.
            phases: (harmonics + 1, 1) float64 in radians, phases before the first sample; `random_phases` or what the
                frames before these gave back.
            noise: generator of the noise, drawn sample by sample, so that frames in pieces get what they get as a
                whole where a frame's draws are a multiple of 16; None: none at all.

        Returns:
            The source (1, frames * samples_per_frame) float32 in (-1, 1), and the phases after its last sample.
        """
        config = self.config
        pitch_hz = f0_hz.repeat_interleave(config.samples_per_frame, dim=1)
        multiples = torch.arange(1, config.harmonic_count + 2, dtype=torch.float32)[:, None]
        cycles = (pitch_hz * multiples / config.sample_rate_hz).cumsum(dim=1)
        end_phases = (phases + 2 * math.pi * cycles[:, -1:].double()).remainder(2 * math.pi)
        angles = cycles.remainder_(1).mul_(2 * math.pi).add_(phases.float())
        is_voiced = (pitch_hz > config.voiced_threshold_hz).float()
        sines = angles.sin_().mul_(config.sine_amplitude * is_voiced)
        if noise is not None:
            unvoiced_deviation = config.sine_amplitude * UNVOICED_NOISE_SHARE
            deviation = is_voiced * config.noise_deviation + (1 - is_voiced) * unvoiced_deviation
            sines.addcmul_(torch.randn(sines.T.shape, generator=noise).T, deviation)
        source: torch.Tensor = torch.tanh(F.linear(sines.T, self.mix.weight, self.mix.bias))
        return source.T, end_phases
