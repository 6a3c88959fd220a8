import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosyvoice_web.service.lifecycle import MOVES, STOPPING, EngineState, Lifecycle, Standing

states = st.sampled_from(EngineState)


def reachable(start: EngineState) -> set[EngineState]:
    seen: set[EngineState] = set()
    ahead = [start]
    while ahead:
        state = ahead.pop()
        if state not in seen:
            seen.add(state)
            ahead.extend(MOVES[state])
    return seen


@given(st.lists(st.tuples(states, states)))
def test_whatever_is_tried_the_engine_only_moves_along_the_table(tries: list[tuple[EngineState, EngineState]]) -> None:
    lifecycle = Lifecycle()
    expected = EngineState.NEW
    for source, target in tries:
        if target not in MOVES[source]:
            with pytest.raises(ValueError, match="never goes"):
                lifecycle.move(source, target)
        else:
            moved = lifecycle.move(source, target, "why")
            assert moved == (source is expected)
            expected = target if moved else expected
        assert lifecycle.state is expected


def test_every_state_has_a_row_and_can_be_reached_and_left() -> None:
    assert MOVES.keys() == set(EngineState)
    assert reachable(EngineState.NEW) == set(EngineState)
    for state in EngineState:
        assert EngineState.CLOSED in reachable(state)
    assert all(MOVES[state] <= STOPPING for state in STOPPING), "what stops never starts again"


@given(st.lists(states))
def test_draining_works_from_everywhere_and_once(path: list[EngineState]) -> None:
    lifecycle = Lifecycle()
    for target in path:
        if target in MOVES[lifecycle.state]:
            lifecycle.move(lifecycle.state, target)
    before = lifecycle.state
    assert lifecycle.drain() == (None if before in STOPPING else before)
    assert lifecycle.state in STOPPING
    assert lifecycle.drain() is None


def test_a_reason_lives_as_long_as_its_state() -> None:
    lifecycle = Lifecycle()
    lifecycle.move(EngineState.NEW, EngineState.LOADING)
    lifecycle.move(EngineState.LOADING, EngineState.FAILED, "no weights")
    assert lifecycle.standing == Standing(EngineState.FAILED, "no weights")
    lifecycle.move(EngineState.FAILED, EngineState.LOADING)
    assert lifecycle.standing == Standing(EngineState.LOADING, None)


def test_of_many_threads_exactly_one_makes_a_move() -> None:
    lifecycle = Lifecycle()
    barrier = threading.Barrier(8)
    won: list[bool] = []

    def try_it() -> None:
        barrier.wait()
        won.append(lifecycle.move(EngineState.NEW, EngineState.LOADING))

    threads = [threading.Thread(target=try_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]


def test_waiting_ends_with_the_state_or_with_the_time() -> None:
    lifecycle = Lifecycle()
    assert lifecycle.wait_for({EngineState.LOADING}, 0.01).state is EngineState.NEW
    mover = threading.Timer(0.01, lifecycle.move, (EngineState.NEW, EngineState.LOADING))
    mover.start()
    assert lifecycle.wait_for({EngineState.LOADING}, 20).state is EngineState.LOADING
    mover.join()
