"""What the service needs from an engine, and nothing else."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from cosyvoice_web.speech import AudioChunk, Manner, SpeechMode, Voice
from cosyvoice_web.text.sentences import Sentence


class PreparedVoice(Protocol):
    """Everything that the synthesis of one request owns; used by the speech thread only, and dropped at its end.

    Closing an iterator that it returned ends the work at the next chunk; a chunk without samples is only such a moment
    to stop at. Both raise SynthesisError when no usable speech comes out, and NotImplementedError for a mode that the
    engine does not name.
    """

    def announce(self, sentences: Sequence[Sentence], *, seed: int) -> None:
        """Hear, before the first is spoken, of all sentences that will be, in order and as wholes.

        An engine that gains by it may work on several at once while the first of them is asked for.
        """

    def speak(self, sentence: Sentence, *, speed: float, seed: int, stream: bool = False) -> Iterator[AudioChunk]:
        """Yield one sentence's audio in order; equal arguments give equal samples.

        `stream`: somebody listens already, so the first chunk should be small and come soon.
        """

    def convert(self, recording: bytes, *, speed: float, seed: int, stream: bool = False) -> Iterator[AudioChunk]:
        """Yield the recording re-spoken in this voice; RequestError when the recording cannot be used."""


class SpeechEngine(Protocol):
    """A loaded voice model.

    The service calls `prepare`, what it returns, and `warm_up` from one thread at a time; the properties and `check`
    may be used from any. The one exception: a call that runs on long after its request is over counts as stuck, and
    the next one is made from a fresh thread. What one request changes must therefore belong to that request.
    """

    @property
    def name(self) -> str:
        """Short name for operators: "kokoro", "cosyvoice"."""

    @property
    def sample_rate_hz(self) -> int:
        """Rate of every chunk."""

    @property
    def voices(self) -> Sequence[Voice]:
        """Every stored voice, the order of the menu; none when it speaks with recordings only."""

    @property
    def languages(self) -> frozenset[str]:
        """Languages that every voice can speak."""

    @property
    def modes(self) -> frozenset[SpeechMode]:
        """What may be asked of it."""

    @property
    def native_speed_range(self) -> tuple[float, float]:
        """Slowest and fastest `speed` that the model itself renders cleanly; the service stretches the rest."""

    @property
    def obeys_speech_marks(self) -> bool:
        """Whether [laughter] and its like (`text/speech_marks.py`) may stand in what is spoken."""

    def default_voice(self, language: str) -> Voice:
        """The voice for a text whose main language is `language`; never asked of an engine without voices."""

    def check(self, manner: Manner, *, converting: bool = False) -> None:
        """Refuse at once, and without work, what this engine can tell it cannot do.

        `converting`: a recording is to be re-spoken, not text to be spoken.

        Raises:
            InvalidRequest: `field` is "prompt_audio", "prompt_text", "instruct_text", "speaker" or "source_audio".
        """

    def prepare(self, manner: Manner) -> PreparedVoice:
        """Do what is needed once for a request: decode its recording, extract features.

        Raises:
            RequestError: the recording cannot be used as a voice.
        """

    def warm_up(self) -> None:
        """Run real speech once in every language, so that the first request pays nothing extra."""

    def close(self) -> None:
        """Give the memory back; the engine is not used afterwards."""


EngineLoader = Callable[[], SpeechEngine]
"""Builds the configured engine; raises CheckpointError or ConfigurationError. Called off the request threads."""
