"""The caller's end of one request: audio as it is made, deadlines kept, nothing left behind."""

import logging
import queue
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from cosyvoice_web.errors import ClientGone, CosyVoiceWebError, DeadlineExceeded
from cosyvoice_web.service.admission import WaitingRoom
from cosyvoice_web.service.speaker import Speaker
from cosyvoice_web.service.utterance import Part, Utterance
from cosyvoice_web.speech import AudioChunk, Voice

logger = logging.getLogger("cosyvoice_web.service")


class SpeechStream:
    """An admitted request: iterate over its chunks, in order, at the request's speed.

    Use it as a context manager, or close it: that stops the work at its next chunk and frees its place. A stream that
    is never read is spoken all the same and then freed; one that is read slowly holds its audio and nothing else.

    Iterating raises:
        DeadlineExceeded: the request's time is over, even when the engine does not return.
        ClientGone: `is_abandoned` said so.
        SynthesisError: what the engine made may not be sent.
        EngineNotReady: the engine got stuck while the request waited.
    """

    def __init__(
        self,
        utterance: Utterance,
        sample_rate_hz: int,
        room: WaitingRoom,
        speaker: Speaker,
        is_abandoned: Callable[[], bool],
        number: int,
    ) -> None:
        self.sample_rate_hz = sample_rate_hz
        self._utterance = utterance
        self._room = room
        self._speaker = speaker
        self._is_abandoned = is_abandoned
        self._number = number
        self._opened_at = time.monotonic()
        self._audio_seconds = 0.0
        self._closed = False

    @property
    def voice(self) -> Voice | None:
        """Who speaks; None when it is the voice of a recording."""
        return self._utterance.manner.voice

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is spoken, in order."""
        return self._utterance.parts

    @property
    def seed(self) -> int:
        """The seed in use, drawn or given."""
        return self._utterance.seed

    @property
    def synthesis_seconds(self) -> float:
        """Time the engine has worked on it so far, waiting not included."""
        return self._utterance.synthesis_seconds

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> AudioChunk:
        if self._closed:
            raise StopIteration
        try:
            chunk = self._next_chunk()
        except CosyVoiceWebError as error:
            self._close(error.code)
            raise
        except BaseException:
            self._close("interrupted")
            raise
        if chunk is None:
            self._close("done")
            raise StopIteration
        self._audio_seconds += chunk.seconds
        return chunk

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the work at its next chunk and free the place; more than once does nothing."""
        self._close("closed")

    def _next_chunk(self) -> AudioChunk | None:
        while True:
            if self._is_abandoned():
                raise ClientGone("The client left before the answer was complete.")
            left = self._utterance.deadline - time.monotonic()
            if left <= 0:
                raise self._deadline_exceeded()
            try:
                return self._utterance.receive(min(self._speaker.poll_seconds, left))
            except DeadlineExceeded:  # the speech thread saw it first
                raise self._deadline_exceeded() from None
            except queue.Empty:
                self._speaker.replace_if_stuck()

    def _deadline_exceeded(self) -> DeadlineExceeded:
        return DeadlineExceeded(
            "The speech was not finished within the time of one request: send a shorter text, or try again later.",
            self._room.retry_after_seconds(),
        )

    def _close(self, outcome: str) -> None:
        if self._closed:
            return
        self._closed = True
        self._utterance.cancel()
        self._room.leave(self._utterance)
        elapsed = time.monotonic() - self._opened_at
        logger.info(
            "speech=%d outcome=%s voice=%s speed=%.2f parts=%d units=%.0f audio=%.2fs engine=%.2fs total=%.2fs",
            self._number,
            outcome,
            self.voice.id if self.voice else "recording",
            self._utterance.speed,
            len(self.parts),
            sum(part.units for part in self.parts),
            self._audio_seconds,
            self.synthesis_seconds,
            elapsed,
        )
