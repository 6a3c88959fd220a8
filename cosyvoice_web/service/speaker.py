"""The one speech thread, and its replacement when an engine call does not come back.

No thread can be ended from outside. A call that is still running `patience_seconds` after its request is over is given
up: its thread is left alone, its results go nowhere, and a fresh thread serves the waiting room. A second call that
gets stuck while the first still is leaves the room without a speaker (DEGRADED), so that stuck calls never eat all
threads and memory; speaking resumes when one of them returns.
"""

import logging
import threading

from cosyvoice_web.errors import EngineNotReady
from cosyvoice_web.service.admission import WaitingRoom
from cosyvoice_web.service.engine_port import SpeechEngine
from cosyvoice_web.service.lifecycle import EngineState, Lifecycle

logger = logging.getLogger("cosyvoice_web.service")

STUCK_CALL_LIMIT = 2

POLL_SECONDS = 0.25
"""How often a waiting request looks whether its client is still there and whether the engine is stuck, at least."""


class Speaker:
    """Speaks what the waiting room holds, one utterance at a time."""

    def __init__(self, engine: SpeechEngine, room: WaitingRoom, lifecycle: Lifecycle, patience_seconds: float) -> None:
        self._engine = engine
        self._room = room
        self._lifecycle = lifecycle
        self._patience_seconds = patience_seconds
        self.poll_seconds = min(POLL_SECONDS, patience_seconds / 4)
        self._lock = threading.Lock()
        self._stuck_count = 0
        self._has_thread = True

    def serve(self) -> None:
        """Be the speech thread: returns when the room is closed and empty, or when this thread has been replaced."""
        while (utterance := self._room.take()) is not None:
            utterance.run(self._engine)
            if not self._room.finish(utterance) and not self._came_back():
                return
            del utterance  # while waiting for the next one, hold nothing of the last
        self._close()

    def replace_if_stuck(self) -> None:
        """Give the current call up if it should have returned long ago. Request threads call this while they wait."""
        with self._lock:
            if not self._has_thread:
                self._lifecycle.move(EngineState.DRAINING, EngineState.CLOSED)  # nobody else is there to do it
                return
            if not self._room.give_up_stuck(self._patience_seconds):
                return
            self._stuck_count += 1
            self._has_thread = self._stuck_count < STUCK_CALL_LIMIT
            logger.error("engine=%s a call is stuck and was given up, %d in all", self._engine.name, self._stuck_count)
            if self._has_thread:
                threading.Thread(target=self.serve, name="speech", daemon=True).start()
                return
            reason = f"{self._stuck_count} engine calls do not return; restart the server"
            self._lifecycle.move(EngineState.READY, EngineState.DEGRADED, reason)
            for utterance in self._room.clear():
                utterance.fail(EngineNotReady(EngineState.DEGRADED.value))

    def _came_back(self) -> bool:
        """A call that was given up has returned after all; True when its thread is needed again."""
        with self._lock:
            self._stuck_count -= 1
            if self._has_thread:
                return False
            self._has_thread = True
            self._lifecycle.move(EngineState.DEGRADED, EngineState.READY)
            return True

    def _close(self) -> None:
        with self._lock:
            in_use = self._stuck_count > 0
        if not in_use:  # else the stuck call still works with it, and the process is about to end anyway
            self._engine.close()
        self._lifecycle.move(EngineState.DRAINING, EngineState.CLOSED)
