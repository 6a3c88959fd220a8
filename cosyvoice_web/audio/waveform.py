"""Arithmetic on finished speech: join, check, convert, resample, change the tempo.

Samples are float32, shape (samples,), nominal range [-1, 1]. Every function leaves its input untouched.
"""

from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
import soxr
from python_stretch.Signalsmith import Stretch

from cosyvoice_web.errors import NonFiniteAudio
from cosyvoice_web.speech import AudioChunk, Samples

SILENCE_PEAK = 1e-3
"""Highest magnitude that still counts as silence (-60 dBFS): far below speech, above the noise floor of a network."""

PCM16_PEAK = 32_767

SLOWEST_SINGLE_STRETCH = 0.6
"""Below this factor the stretcher blurs phases at random, so the same input no longer gives the same bytes (seen at
0.5 and below). Slower tempos are reached in equal steps that each stay above it."""


def join(chunks: Sequence[AudioChunk]) -> AudioChunk:
    """All pieces in order as one.

    Raises:
        ValueError: no pieces, or pieces of different rates: a header can only be true for one.
    """
    rates = {chunk.sample_rate_hz for chunk in chunks}
    if len(rates) != 1:
        raise ValueError(f"pieces to join must share one sample rate, got {sorted(rates) or 'no pieces'}")
    return AudioChunk(np.concatenate([chunk.samples for chunk in chunks]), rates.pop())


def is_finite(samples: Samples) -> bool:
    """Whether no sample is NaN or infinite."""
    return bool(np.isfinite(samples).all())


def is_silent(samples: Samples) -> bool:
    """Whether nothing can be heard: no samples, or a peak below `SILENCE_PEAK`. The samples must be finite."""
    return bool(len(samples) == 0 or np.abs(samples).max() < SILENCE_PEAK)


def to_pcm16(samples: Samples) -> npt.NDArray[np.int16]:
    """16-bit samples; whatever lies outside [-1, 1] is clipped, so a loud sample can never wrap round into a click.

    Raises:
        NonFiniteAudio: a sample is NaN or infinite; there is no right number for it.
    """
    if not is_finite(samples):
        raise NonFiniteAudio("The audio holds samples that are not numbers.")
    return cast(npt.NDArray[np.int16], np.rint(np.clip(samples, -1.0, 1.0) * PCM16_PEAK).astype(np.int16))


def resample(samples: Samples, from_hz: int, to_hz: int) -> Samples:
    """The same sound at another rate, `round(len * to_hz / from_hz)` samples long, so the duration stays.

    Source: libsoxr, quality HQ.
    """
    if from_hz == to_hz:
        return samples
    return _with_length(soxr.resample(samples, from_hz, to_hz, quality="HQ"), round(len(samples) * to_hz / from_hz))


def change_tempo(samples: Samples, tempo: float, sample_rate_hz: int) -> Samples:
    """Faster (`tempo` above 1) or slower speech at the same pitch, `round(len / tempo)` samples long.

    Equal input gives equal output. Nothing is lost at the ends and no delay is added: the stretcher's own latency is
    already taken out of what it returns.

    Source: Signalsmith Stretch, "The Design of Signalsmith Stretch" (spectral, its default preset).
    """
    if tempo == 1.0 or len(samples) == 0:
        return samples
    step_count = 1
    while tempo ** (1 / step_count) < SLOWEST_SINGLE_STRETCH:
        step_count += 1
    stretched = samples
    for _ in range(step_count):
        stretcher = Stretch()
        stretcher.preset(1, sample_rate_hz)
        stretcher.setTimeFactor(tempo ** (1 / step_count))
        stretched = np.asarray(stretcher.process(np.ascontiguousarray(stretched[np.newaxis, :])), np.float32)[0]
    return _with_length(stretched, max(1, round(len(samples) / tempo)))


def _with_length(samples: Samples, sample_count: int) -> Samples:
    """Cut or pad the end: filters may round a length by a sample."""
    short_by = sample_count - len(samples)
    return np.pad(samples, (0, short_by)) if short_by > 0 else samples[:sample_count]
