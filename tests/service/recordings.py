"""Recordings as callers send them."""

from cosyvoice_web.audio.encoders import encode
from cosyvoice_web.speech import AudioFormat
from tests.service.fakes import tone


def recording(name: str = "someone", *, seconds: float = 0.3, audio_format: AudioFormat = AudioFormat.WAV) -> bytes:
    """An audio file that belongs to this name alone."""
    return encode(tone(name, seconds=seconds, rate_hz=16_000), 16_000, audio_format)
