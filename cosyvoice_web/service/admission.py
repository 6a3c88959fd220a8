"""The waiting room: who is spoken now, who is next, and when it is worth knocking again."""

import math
import threading
import time
from collections import deque

from cosyvoice_web.errors import ServiceBusy, ShuttingDown
from cosyvoice_web.service.utterance import Utterance

FIRST_GUESS_SECONDS_PER_UNIT = 0.1
"""Pace assumed until one was measured: 0.2 s of speech a syllable at a real-time factor of 0.5."""

PACE_MEMORY = 0.8
"""Share of the older measurements in the pace after each new one."""


class Pace:
    """How long the engine takes for a unit of text, about a syllable: a running mean. Guarded by its owner's lock."""

    def __init__(self) -> None:
        self.seconds_per_unit = FIRST_GUESS_SECONDS_PER_UNIT
        self._measured = False

    def record(self, units: float, seconds: float) -> None:
        """Take in one finished utterance."""
        if units <= 0:
            return
        new = seconds / units
        kept = PACE_MEMORY if self._measured else 0.0
        self.seconds_per_unit = kept * self.seconds_per_unit + (1 - kept) * new
        self._measured = True


class WaitingRoom:
    """A bounded first-come queue in front of one speaker. Safe to use from every thread.

    At most `max_waiting` utterances wait while one is spoken. Speaking threads `take` and `finish`; request threads
    `admit` and `leave`.
    """

    def __init__(self, max_waiting: int) -> None:
        self._max_waiting = max_waiting
        self._changed = threading.Condition()
        self._waiting: deque[Utterance] = deque()
        self._speaking: Utterance | None = None
        self._closed = False
        self._pace = Pace()

    @property
    def waiting_count(self) -> int:
        """Utterances that wait for their turn."""
        with self._changed:
            return len(self._waiting)

    @property
    def speaking(self) -> Utterance | None:
        """The utterance that the engine works on."""
        with self._changed:
            return self._speaking

    @property
    def is_empty(self) -> bool:
        """Whether nobody is spoken and nobody waits."""
        with self._changed:
            return self._speaking is None and not self._waiting

    def admit(self, utterance: Utterance) -> None:
        """Put an utterance at the end of the queue.

        Raises:
            ServiceBusy: everybody who may wait does; says when a place will be free.
            ShuttingDown: the room is closed.
        """
        with self._changed:
            if self._closed:
                raise ShuttingDown("The server is shutting down: send the request again in a moment.")
            if len(self._waiting) + (self._speaking is not None) > self._max_waiting:
                seconds = self._seconds_until_a_place_is_free()
                raise ServiceBusy(f"All places are taken; one should be free in about {seconds} s.", seconds)
            self._waiting.append(utterance)
            self._changed.notify_all()

    def leave(self, utterance: Utterance) -> None:
        """Give the place up, if the utterance still waits."""
        with self._changed:
            if utterance in self._waiting:
                self._waiting.remove(utterance)
                self._changed.notify_all()

    def take(self) -> Utterance | None:
        """Block until it is somebody's turn; None when the room is closed and everybody in it was served."""
        with self._changed:
            self._changed.wait_for(lambda: self._speaking is None and (self._waiting or self._closed))
            if not self._waiting:
                return None
            self._speaking = self._waiting.popleft()
            return self._speaking

    def finish(self, utterance: Utterance) -> bool:
        """End the turn; False when the utterance had been given up, so that the turn is somebody else's by now."""
        with self._changed:
            if self._speaking is not utterance:
                return False
            self._pace.record(utterance.units_done, utterance.seconds_done)
            self._speaking = None
            self._changed.notify_all()
            return True

    def give_up_stuck(self, patience_seconds: float) -> bool:
        """End the turn of an utterance whose engine call should have returned `patience_seconds` ago."""
        with self._changed:
            stuck = self._speaking
            if stuck is None or time.monotonic() < stuck.due + patience_seconds:
                return False
            self._speaking = None
            self._changed.notify_all()
            return True

    def close(self) -> None:
        """Admit nobody any more; those inside are still served."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def clear(self) -> tuple[Utterance, ...]:
        """Send everybody away who waits."""
        with self._changed:
            sent_away = tuple(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()
            return sent_away

    def retry_after_seconds(self) -> int:
        """Whole seconds until a place should be free, at least 1, from the speed measured so far."""
        with self._changed:
            return self._seconds_until_a_place_is_free()

    def _seconds_until_a_place_is_free(self) -> int:
        """A place is free as soon as the one who is spoken has finished and the next moves up."""
        if self._speaking is None:
            return 1
        left = self._speaking.units_left * self._pace.seconds_per_unit - self._speaking.part_seconds
        return max(1, math.ceil(left))
