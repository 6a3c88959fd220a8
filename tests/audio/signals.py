"""Signals that behave like speech where it matters: voiced, gliding, with pauses and sharp onsets."""

import numpy as np

from cosyvoice_web.speech import Samples


def speech_like(seconds: float, sample_rate_hz: int, *, lead_seconds: float = 0.25) -> Samples:
    """Voiced syllables of 0.2 s with 0.05 s gaps between `lead_seconds` of silence at both ends."""
    time = np.arange(round(seconds * sample_rate_hz)) / sample_rate_hz
    pitch_hz = 140 + 30 * np.sin(2 * np.pi * 0.7 * time)
    phase = 2 * np.pi * np.cumsum(pitch_hz) / sample_rate_hz
    voiced = sum(np.sin(k * phase) / k for k in range(1, 20))
    voiced_now = (time % 0.25 < 0.2) & (time >= lead_seconds) & (time < seconds - lead_seconds)
    return np.asarray(0.2 * voiced * voiced_now, dtype=np.float32)


def sounding_span_seconds(samples: Samples, sample_rate_hz: int) -> tuple[float, float]:
    """Where the sound begins and where it ends."""
    loud = np.flatnonzero(np.abs(samples) > 0.1 * np.abs(samples).max())
    return float(loud[0]) / sample_rate_hz, float(loud[-1]) / sample_rate_hz


def pitch_hz(samples: Samples, sample_rate_hz: int) -> float:
    """Strongest frequency between 80 and 300 Hz."""
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)), 1 << 18))
    frequencies = np.fft.rfftfreq(1 << 18, 1 / sample_rate_hz)
    band = (frequencies > 80) & (frequencies < 300)
    return float(frequencies[band][np.argmax(spectrum[band])])
