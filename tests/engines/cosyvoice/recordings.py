"""Recordings by formula: syllables of a harmonic tone with short pauses, as files in memory."""

from io import BytesIO

import numpy as np
import numpy.typing as npt
import soundfile

Array = npt.NDArray[np.float32]


def syllables(seconds: float, rate_hz: int = 22_050, pitch_hz: float = 180.0, level: float = 0.3) -> Array:
    """(samples,) float32: three syllables a second, each two thirds sound."""
    time = np.arange(round(seconds * rate_hz)) / rate_hz
    wave = sum(np.sin(2 * np.pi * pitch_hz * n * time) / n for n in (1, 2, 3, 5))
    envelope = np.clip(np.sin(2 * np.pi * 3 * time) + 0.5, 0, 1)
    return (level * wave * envelope / 2).astype(np.float32)


def audio_file(
    samples: npt.NDArray[np.floating], rate_hz: int = 22_050, container: str = "WAV", subtype: str = ""
) -> bytes:
    """`samples` (samples,) or (samples, channels)."""
    file = BytesIO()
    soundfile.write(file, samples, rate_hz, format=container, subtype=subtype or None)
    return file.getvalue()


def speech_file(seconds: float = 1.2, pitch_hz: float = 180.0) -> bytes:
    return audio_file(syllables(seconds, pitch_hz=pitch_hz))
