"""What the service needs from an engine, and nothing else."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from cosyvoice_web.speech import AudioChunk, Voice
from cosyvoice_web.text.sentences import Sentence


class SpeechEngine(Protocol):
    """A loaded voice model.

    The service calls `speak` and `warm_up` from one thread at a time; the properties may be read from any. The one
    exception: a `speak` that runs on long after its request is over counts as stuck, and the next one is called from a
    fresh thread. What one call changes must therefore belong to that call.
    """

    @property
    def name(self) -> str:
        """Short name for operators: "kokoro", "cosyvoice"."""

    @property
    def sample_rate_hz(self) -> int:
        """Rate of every chunk that `speak` yields."""

    @property
    def voices(self) -> Sequence[Voice]:
        """Every voice, the order of the menu."""

    @property
    def languages(self) -> frozenset[str]:
        """Languages that every voice can speak."""

    @property
    def native_speed_range(self) -> tuple[float, float]:
        """Slowest and fastest `speed` that the model itself renders cleanly; the service stretches the rest."""

    def default_voice(self, language: str) -> Voice:
        """The voice for a text whose main language is `language`."""

    def speak(self, sentence: Sentence, voice: Voice, *, speed: float, seed: int) -> Iterator[AudioChunk]:
        """Yield one sentence's audio in order; equal arguments give equal samples.

        Closing the iterator ends the work at the next chunk. Raises SynthesisError when no usable speech comes out.
        """

    def warm_up(self) -> None:
        """Run real speech once in every language, so that the first request pays nothing extra."""

    def close(self) -> None:
        """Give the memory back; the engine is not used afterwards."""


EngineLoader = Callable[[], SpeechEngine]
"""Builds the configured engine; raises CheckpointError or ConfigurationError. Called off the request threads."""
