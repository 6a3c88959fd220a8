"""One engine and one phonemizer for all tests of this folder: both are fixed once they are built."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from cosyvoice_web.engines.kokoro.engine import KokoroEngine
from cosyvoice_web.engines.kokoro.phonemes import Phonemizer
from cosyvoice_web.speech import AudioChunk, Manner, Samples, Voice
from cosyvoice_web.text.sentences import Run, Sentence


def sentence_of(*runs: tuple[str, str]) -> Sentence:
    """A sentence by hand, from (text, language); the first language is its main one."""
    text = "".join(part for part, _ in runs)
    return Sentence(text, 0, len(text), runs[0][1], tuple(Run(*run) for run in runs))


@pytest.fixture(scope="session")
def phonemizer() -> Phonemizer:
    return Phonemizer()


@pytest.fixture(scope="session")
def phonemes_of(phonemizer: Phonemizer) -> Callable[..., str]:
    return lambda *runs: phonemizer.phonemes(sentence_of(*runs))


@pytest.fixture(scope="session")
def engine() -> Iterator[KokoroEngine]:
    engine = KokoroEngine.load(1)
    yield engine
    engine.close()


class Speaker:
    """Speaks with the engine as the service does."""

    def __init__(self, engine: KokoroEngine) -> None:
        self.engine = engine

    def voice(self, voice_id: str) -> Voice:
        return next(voice for voice in self.engine.voices if voice.id == voice_id)

    def chunks(self, sentence: Sentence, voice_id: str, speed: float = 1.0, seed: int = 0) -> list[AudioChunk]:
        return list(self.engine.prepare(Manner(self.voice(voice_id))).speak(sentence, speed=speed, seed=seed))

    def samples(self, sentence: Sentence, voice_id: str, speed: float = 1.0, seed: int = 0) -> Samples:
        return np.concatenate([chunk.samples for chunk in self.chunks(sentence, voice_id, speed, seed)])


@pytest.fixture(scope="session")
def speaker(engine: KokoroEngine) -> Speaker:
    return Speaker(engine)
