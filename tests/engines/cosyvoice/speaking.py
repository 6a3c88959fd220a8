"""What the tests of a whole engine share: sentences, voices, and chunks as one array."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from cosyvoice_web.engines.cosyvoice.engine import CosyVoiceEngine
from cosyvoice_web.speech import AudioChunk, Samples, Voice
from cosyvoice_web.text.sentences import Run, Sentence

RATE_HZ = 22_050
FORCED = 10
HELLO = Sentence("你好。", 0, 3, "zh", (Run("你好。", "zh"),))
LONGER = Sentence("今天天气很好，出去走走。", 0, 12, "zh", (Run("今天天气很好，出去走走。", "zh"),))


def load(directory: Path) -> CosyVoiceEngine:
    return CosyVoiceEngine.load(directory, 1)


def voice(engine: CosyVoiceEngine, name: str = "中文女") -> Voice:
    return next(voice for voice in engine.voices if voice.id == name)


def joined(chunks: Iterable[AudioChunk]) -> Samples:
    pieces = []
    for chunk in chunks:
        assert chunk.sample_rate_hz == RATE_HZ
        assert chunk.samples.dtype == np.float32
        assert chunk.samples.ndim == 1
        pieces.append(chunk.samples)
    return np.concatenate(pieces)
