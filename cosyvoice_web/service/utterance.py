"""One request's speech: what is to be said, everything its synthesis owns, and the channel to whoever listens.

A speech thread `run`s it; a request thread `receive`s from it. It consists of parts, each made by one call of the
engine: the sentences of a text, or one recording that is spoken again. Nothing is shared with any other request, so a
late result of an utterance that was given up can reach nobody else.
"""

import logging
import queue
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from cosyvoice_web.audio.waveform import change_tempo, is_finite, is_silent, join
from cosyvoice_web.errors import (
    ClientGone,
    CosyVoiceWebError,
    DeadlineExceeded,
    NonFiniteAudio,
    NoSpeechProduced,
    SynthesisError,
)
from cosyvoice_web.service.engine_port import PreparedVoice, SpeechEngine
from cosyvoice_web.speech import AudioChunk, Manner
from cosyvoice_web.text.characters import units
from cosyvoice_web.text.sentences import Sentence

logger = logging.getLogger("cosyvoice_web.service")


UNITS_PER_SECOND = 5.0
"""About how many syllables a second of speech has."""


def spoken_units(sentence: Sentence) -> float:
    """About how many syllables a sentence has: the measure in which speeds of different languages compare."""
    return sum(map(units, sentence.spoken))


@dataclass(frozen=True, slots=True)
class Part:
    """What one call of the engine makes: about how much it is, its words where they are known, and the call.

    `announced`: the sentence that the engine may begin before it is called.
    """

    units: float
    text: str
    announced: Sentence | None
    start: Callable[[PreparedVoice, float, int], Iterator[AudioChunk]]

    @classmethod
    def of_sentence(cls, sentence: Sentence, *, stream: bool = False) -> "Part":
        """A sentence to speak; `stream`: its first chunk should come soon."""
        return cls(
            spoken_units(sentence),
            sentence.text,
            None if stream else sentence,
            lambda voice, speed, seed: voice.speak(sentence, speed=speed, seed=seed, stream=stream),
        )

    @classmethod
    def of_recording(cls, recording: bytes, seconds: float, *, stream: bool = False) -> "Part":
        """A recording to speak again, so many seconds long; `stream`: its first chunk should come soon."""
        return cls(
            seconds * UNITS_PER_SECOND,
            "",
            None,
            lambda voice, speed, seed: voice.convert(recording, speed=speed, seed=seed, stream=stream),
        )


class Utterance:
    """What one request asks of the engine, with the state of its synthesis."""

    def __init__(self, parts: Sequence[Part], manner: Manner, *, speed: float, seed: int, deadline: float) -> None:
        """`deadline` is on the clock of `time.monotonic`."""
        self.parts = tuple(parts)
        self.manner = manner
        self.speed = speed
        self.seed = seed
        self.deadline = deadline
        self.units_left = sum(part.units for part in self.parts)
        self.units_done = 0.0
        self.seconds_done = 0.0  # spent on units_done
        self.synthesis_seconds = 0.0  # spent on everything so far
        self._cancelled_at: float | None = None
        self._part_started_at: float | None = None
        self._results: queue.SimpleQueue[AudioChunk | CosyVoiceWebError | None] = queue.SimpleQueue()

    # -- request threads --------------------------------------------------------------------------------------------

    def receive(self, timeout_seconds: float) -> AudioChunk | None:
        """The next piece; None after the last.

        Raises:
            queue.Empty: nothing came within the time.
            CosyVoiceWebError: what ended the synthesis early.
        """
        result = self._results.get(timeout=max(0.0, timeout_seconds))
        if isinstance(result, CosyVoiceWebError):
            try:
                raise result
            finally:
                del result  # else error, traceback and this frame hold one another, and the audio with them
        return result

    def cancel(self) -> None:
        """Stop the synthesis at its next chunk; never blocks, and may be called twice."""
        if self._cancelled_at is None:
            self._cancelled_at = time.monotonic()

    def fail(self, error: CosyVoiceWebError) -> None:
        """End it from outside with an error for whoever listens."""
        self.cancel()
        self._results.put(error)

    @property
    def due(self) -> float:
        """When the engine has to be done with it: the deadline, or the moment it was cancelled."""
        return self.deadline if self._cancelled_at is None else min(self.deadline, self._cancelled_at)

    @property
    def part_seconds(self) -> float:
        """How long the engine has been at the current part."""
        started_at = self._part_started_at
        return 0.0 if started_at is None else time.monotonic() - started_at

    # -- the speech thread ------------------------------------------------------------------------------------------

    def run(self, engine: SpeechEngine) -> None:
        """Prepare the voice and speak every part; whatever happens ends up in the channel, and nothing is raised."""
        started_at = time.monotonic()
        failed = SynthesisError("The voice engine failed on this text. The server's log says where.")
        outcome: CosyVoiceWebError | None = failed
        try:
            self._part_started_at = started_at
            self._raise_if_over()
            voice = engine.prepare(self.manner)
            announced = [part.announced for part in self.parts if part.announced is not None]
            voice.announce(announced, seed=self.seed)
            for part in self.parts:
                self._part_started_at = time.monotonic()
                with closing(self._at_asked_speed(part, voice, engine.native_speed_range)) as chunks:
                    for chunk in self._checked(part, chunks):
                        self.synthesis_seconds = time.monotonic() - started_at
                        self._results.put(chunk)
                self.units_left -= part.units
                self.units_done += part.units
                self.seconds_done = time.monotonic() - started_at
            outcome = None
        except CosyVoiceWebError as error:
            outcome = error.with_traceback(None)  # it and this frame would hold one another, and the audio with them
        except Exception as error:  # noqa: BLE001 - the boundary to foreign code: translated once, here
            # The message of a foreign exception may quote what the user said, so only its class and place are logged.
            place = "".join(traceback.format_tb(error.__traceback__))
            logger.error("engine=%s raised %s\n%s", engine.name, type(error).__name__, place)  # noqa: TRY400
        finally:
            self._part_started_at = None
            self.synthesis_seconds = time.monotonic() - started_at
            self._results.put(outcome)

    def _at_asked_speed(
        self, part: Part, voice: PreparedVoice, native_speed_range: tuple[float, float]
    ) -> Generator[AudioChunk, None, None]:
        """The part at the request's speed: by the engine as far as it can, the rest by stretching it as a whole."""
        slowest, fastest = native_speed_range
        native_speed = min(max(self.speed, slowest), fastest)
        self._raise_if_over()
        chunks = self._until_over(part.start(voice, native_speed, self.seed))
        tempo = self.speed / native_speed
        if tempo == 1.0:
            yield from chunks
            return
        pieces = list(chunks)
        if pieces and all(is_finite(piece.samples) for piece in pieces):
            whole = join(pieces)
            pieces = [AudioChunk(change_tempo(whole.samples, tempo, whole.sample_rate_hz), whole.sample_rate_hz)]
        yield from pieces

    def _until_over(self, chunks: Iterator[AudioChunk]) -> Generator[AudioChunk, None, None]:
        """Pass chunks on until the request ends, then close the engine's iterator."""
        try:
            for chunk in chunks:
                self._raise_if_over()
                yield chunk
        finally:
            close = getattr(chunks, "close", None)
            if close is not None:
                close()

    def _raise_if_over(self) -> None:
        if self._cancelled_at is not None:
            raise ClientGone("Nobody listens any more.")
        if time.monotonic() >= self.deadline:
            raise DeadlineExceeded("The speech was not finished in time.")

    @staticmethod
    def _checked(part: Part, chunks: Iterator[AudioChunk]) -> Iterator[AudioChunk]:
        """Let only real sound through: every sample a number, and something to hear in every part."""
        heard = False
        for chunk in chunks:
            if not is_finite(chunk.samples):
                raise NonFiniteAudio("The voice engine produced samples that are not numbers.", part.text)
            if len(chunk.samples):
                heard = heard or not is_silent(chunk.samples)
                yield AudioChunk(np.asarray(chunk.samples, np.float32), chunk.sample_rate_hz)
        if not heard:
            raise NoSpeechProduced("The voice engine produced no audible speech for a part of the request.", part.text)
