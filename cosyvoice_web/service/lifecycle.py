"""The states of the engine and the one table of moves between them.

NEW ──> LOADING ──> WARMING ──> READY <──> DEGRADED
           │  ▲         │
           ▼  │         │
          FAILED <──────┘          every state but CLOSED ──> DRAINING ──> CLOSED
"""

import threading
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum


class EngineState(Enum):
    """Where the engine stands; the values are what operators see."""

    NEW = "new"  # nothing was asked for yet
    LOADING = "loading"  # weights are being read
    WARMING = "warming"  # loaded; the first real speech is being made
    READY = "ready"  # requests are served
    DEGRADED = "degraded"  # too many engine calls are stuck; a restart is due, or one of them returns
    FAILED = "failed"  # loading or warming raised; the reason says why, a new attempt may be asked for
    DRAINING = "draining"  # no new requests; admitted ones finish
    CLOSED = "closed"  # nothing runs any more


MOVES: dict[EngineState, frozenset[EngineState]] = {
    EngineState.NEW: frozenset({EngineState.LOADING, EngineState.DRAINING}),
    EngineState.LOADING: frozenset({EngineState.WARMING, EngineState.FAILED, EngineState.DRAINING}),
    EngineState.WARMING: frozenset({EngineState.READY, EngineState.FAILED, EngineState.DRAINING}),
    EngineState.READY: frozenset({EngineState.DEGRADED, EngineState.DRAINING}),
    EngineState.DEGRADED: frozenset({EngineState.READY, EngineState.DRAINING}),
    EngineState.FAILED: frozenset({EngineState.LOADING, EngineState.DRAINING}),
    EngineState.DRAINING: frozenset({EngineState.CLOSED}),
    EngineState.CLOSED: frozenset(),
}
"""From each state, the states that may follow."""

STOPPING = frozenset({EngineState.DRAINING, EngineState.CLOSED})
"""States in which nothing new is accepted, for good."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A state and, where it is not a good one, why."""

    state: EngineState
    reason: str | None = None


class Lifecycle:
    """The current state, changed only along `MOVES`. Safe to use from every thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._standing = Standing(EngineState.NEW)

    @property
    def standing(self) -> Standing:
        """State and reason, read together."""
        with self._changed:
            return self._standing

    @property
    def state(self) -> EngineState:
        """The current state."""
        return self.standing.state

    def move(self, source: EngineState, target: EngineState, reason: str | None = None) -> bool:
        """Go from `source` to `target`, if `source` is still the state; otherwise nothing happens and False returns.

        Raises:
            ValueError: the table has no such move, whatever the state is.
        """
        if target not in MOVES[source]:
            raise ValueError(f"the engine never goes from {source.value} to {target.value}")
        with self._changed:
            if self._standing.state is not source:
                return False
            self._standing = Standing(target, reason)
            self._changed.notify_all()
            return True

    def drain(self) -> EngineState | None:
        """Go to DRAINING from wherever the engine stands; returns the state left, None when it had left already."""
        with self._changed:
            left = self._standing.state
            if left in STOPPING:
                return None
            self.move(left, EngineState.DRAINING)
            return left

    def wait_for(self, states: Collection[EngineState], timeout_seconds: float) -> Standing:
        """Block until one of `states` is reached or the time is over; returns where the engine then stands."""
        with self._changed:
            self._changed.wait_for(lambda: self._standing.state in states, timeout_seconds)
            return self._standing
