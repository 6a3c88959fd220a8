"""Several requests at once, and calls that do not come back."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest

from cosyvoice_web.errors import ClientGone, DeadlineExceeded, EngineNotReady, ServiceBusy
from cosyvoice_web.service.lifecycle import EngineState
from cosyvoice_web.service.speech_service import SpeechService
from cosyvoice_web.speech import AudioOutput, Samples, SpeechRequest
from cosyvoice_web.text.sentences import Sentence
from tests.service.conftest import Serve
from tests.service.fakes import PATIENT_SECONDS, ScriptedEngine, Stuck, tone, wait_until

HELLO = SpeechRequest("Hello there.")
STUCK = SpeechRequest("It is stuck.")
SHORT_SECONDS = 0.2
WORDS = ("apple", "river", "window", "garden", "silver", "morning", "paper", "cloud")


def stuck_twice(engine: ScriptedEngine) -> tuple[Stuck, Stuck]:
    first, second = Stuck(), Stuck()
    engine.on("stuck", first)
    engine.on("jammed", second)
    return first, second


def test_eight_clients_get_each_their_own_audio_and_the_engine_never_works_twice_at_once(serve: Serve) -> None:
    requests = [SpeechRequest(f"One {word} here. Another {word} there.", seed=n) for n, word in enumerate(WORDS)]
    alone = serve(ScriptedEngine(chunk_count=3))
    expected = [alone.render(request, AudioOutput()).data for request in requests]
    assert len(set(expected)) == len(WORDS)

    engine = ScriptedEngine(chunk_count=3)
    service = serve(engine)
    barrier = threading.Barrier(len(requests))

    def render(request: SpeechRequest) -> bytes:
        barrier.wait()
        return service.render(request, AudioOutput()).data

    with ThreadPoolExecutor(len(requests)) as pool:
        for _ in range(3):
            assert list(pool.map(render, requests)) == expected
    assert engine.most_at_once == 1
    assert len(engine.threads) == 1


def test_requests_are_spoken_in_the_order_they_came(engine: ScriptedEngine, stuck: Stuck, serve: Serve) -> None:
    engine.on("stuck", stuck)
    service = serve(engine)
    first = service.speak(STUCK)
    stuck.wait_until_entered()
    later = [service.speak(SpeechRequest(f"The {word} comes. And the {word} goes.")) for word in WORDS]
    status = service.status()
    assert (status.waiting, status.speaking) == (8, True)
    with ThreadPoolExecutor(len(later)) as pool:
        lengths = pool.map(lambda stream: len(list(stream)), reversed(later))
        stuck.release.set()
        assert list(lengths) == [2] * 8
    assert len(list(first)) == 1
    order = [next(word for word in WORDS if word in sentence.text) for sentence in engine.spoken[1:]]
    assert order == [word for word in WORDS for _ in range(2)]
    assert engine.most_at_once == 1


def test_a_full_room_says_so_at_once_and_has_room_again_later(
    engine: ScriptedEngine, stuck: Stuck, serve: Serve
) -> None:
    engine.on("stuck", stuck)
    service = serve(engine, max_waiting=1)
    running = service.speak(STUCK)
    stuck.wait_until_entered()
    waiting = service.speak(HELLO)
    with pytest.raises(ServiceBusy) as refusal:
        service.render(HELLO, AudioOutput())
    assert refusal.value.retry_after_seconds >= 1
    stuck.release.set()
    assert len(list(running)) == len(list(waiting)) == 1
    service.render(HELLO, AudioOutput())


def test_a_stuck_call_is_a_deadline_for_its_caller_and_the_next_request_is_served(serve: Serve) -> None:
    engine = ScriptedEngine()
    first, _ = stuck_twice(engine)
    service = serve(engine, request_timeout_seconds=SHORT_SECONDS)
    with pytest.raises(DeadlineExceeded) as failure:
        service.render(STUCK, AudioOutput())
    assert failure.value.retry_after_seconds >= 1
    rendered = service.render(SpeechRequest("Hello there.", seed=1), AudioOutput())
    assert rendered.audio_seconds == pytest.approx(0.05)
    assert service.status().ready
    first.release.set()


def test_the_late_result_of_a_stuck_call_reaches_nobody(serve: Serve) -> None:
    engine = ScriptedEngine()
    first, _ = stuck_twice(engine)
    second = Stuck()
    engine.on("second", second)
    service = serve(engine, request_timeout_seconds=SHORT_SECONDS)
    with pytest.raises(DeadlineExceeded):
        service.render(STUCK, AudioOutput())
    # The next one is being spoken by the fresh thread when the old call comes back with sound.
    stream = service.speak(SpeechRequest("The second one.", seed=1))
    with ThreadPoolExecutor(1) as pool:
        chunks = pool.submit(list, stream)
        second.wait_until_entered()
        first.release.set()
        wait_until(lambda: engine.iterators_ended == 1)
        second.release.set()
        [chunk] = chunks.result(PATIENT_SECONDS)
    assert (chunk.samples == tone("late The second one.")).all()
    wait_until(lambda: sum(thread.is_alive() for thread in engine.threads) == 1)


def test_two_stuck_calls_take_the_service_out_of_service_until_one_returns(serve: Serve) -> None:
    engine = ScriptedEngine()
    first, second = stuck_twice(engine)
    service = serve(engine, request_timeout_seconds=SHORT_SECONDS)
    for text in ("It is stuck.", "It is jammed."):
        with pytest.raises(DeadlineExceeded):
            service.render(SpeechRequest(text), AudioOutput())
    reach(service, EngineState.DEGRADED)
    status = service.status()
    assert not status.ready
    assert "2 engine calls" in (status.reason or "")
    with pytest.raises(EngineNotReady, match="degraded"):
        service.speak(HELLO)
    with pytest.raises(EngineNotReady, match="degraded"):
        service.warm_up()
    thread_count = threading.active_count()
    second.release.set()
    reach(service, EngineState.READY)
    assert service.render(HELLO, AudioOutput()).audio_seconds > 0
    assert threading.active_count() == thread_count
    first.release.set()
    wait_until(lambda: engine.iterators_ended == 3)
    assert service.render(HELLO, AudioOutput()).audio_seconds > 0
    assert service.status().ready


def test_who_waits_when_the_engine_gets_stuck_for_good_is_told_at_once(serve: Serve) -> None:
    engine = ScriptedEngine()
    first, second = stuck_twice(engine)
    service = serve(engine, request_timeout_seconds=3 * SHORT_SECONDS)
    with pytest.raises(DeadlineExceeded):
        service.render(STUCK, AudioOutput())
    jammed = service.speak(SpeechRequest("It is jammed."))
    wait_until(lambda: service.status().speaking and second.entered.is_set())
    waiting = service.speak(HELLO)
    jammed.close()
    with pytest.raises(EngineNotReady, match="degraded"):
        list(waiting)
    assert service.status().state is EngineState.DEGRADED
    first.release.set()
    second.release.set()


@pytest.mark.parametrize("texts", [["It is stuck."], ["It is stuck.", "It is jammed."]])
def test_closing_does_not_hang_on_stuck_calls(serve: Serve, texts: list[str]) -> None:
    engine = ScriptedEngine()
    first, second = stuck_twice(engine)
    service = serve(engine, request_timeout_seconds=SHORT_SECONDS)
    for text in texts:
        with pytest.raises(DeadlineExceeded):
            service.render(SpeechRequest(text), AudioOutput())
    service.close()
    assert service.status().state is EngineState.CLOSED
    assert not engine.closed.is_set(), "a call still works with it"
    first.release.set()
    second.release.set()


def reach(service: SpeechService, state: EngineState) -> None:
    """As probes do, look at the status again and again."""
    wait_until(lambda: service.status().state is state)


@pytest.mark.parametrize("is_read", [True, False])
def test_a_deadline_also_ends_an_engine_that_goes_on_and_on(serve: Serve, is_read: bool) -> None:
    engine = ScriptedEngine()
    tick = threading.Event()

    def endless(sentence: Sentence) -> Iterator[Samples]:
        while True:
            tick.wait(0.005)
            yield tone("endless", seconds=0.01)

    engine.on("endless", endless)
    service = serve(engine, request_timeout_seconds=SHORT_SECONDS)
    stream = service.speak(SpeechRequest("It is endless."))
    if is_read:
        with pytest.raises(DeadlineExceeded):
            list(stream)
    wait_until(lambda: service._room.is_empty)
    assert engine.iterators_ended == 1
    service.render(HELLO, AudioOutput())
    assert len(engine.threads) == 1, "it ended at the next chunk, no thread was given up"
    with pytest.raises(DeadlineExceeded) if not is_read else nullcontext():
        list(stream)


def test_a_stream_that_nobody_reads_is_spoken_and_frees_its_place(engine: ScriptedEngine, serve: Serve) -> None:
    service = serve(engine, max_waiting=0)
    unread = service.speak(SpeechRequest("Nobody reads this."))
    wait_until(lambda: service._room.is_empty)
    assert engine.iterators_ended == 1
    service.render(HELLO, AudioOutput())
    unread.close()


@pytest.mark.parametrize("gone_while", ["waiting", "speaking"])
def test_a_client_that_leaves_frees_its_place(
    engine: ScriptedEngine, stuck: Stuck, serve: Serve, gone_while: str
) -> None:
    engine.on("stuck", stuck)
    service = serve(engine, max_waiting=1)
    running = service.speak(STUCK)
    stuck.wait_until_entered()
    if gone_while == "waiting":
        with pytest.raises(ClientGone):
            service.render(HELLO, AudioOutput(), is_abandoned=lambda: True)
        service.speak(HELLO).close()
        service.speak(HELLO).close()
        assert service.status().waiting == 0
        stuck.release.set()
        assert len(list(running)) == 1
        assert [sentence.text for sentence in engine.spoken] == [STUCK.text]
    else:
        running.close()
        stuck.release.set()
        assert list(running) == []
        assert service.render(HELLO, AudioOutput()).audio_seconds > 0


def test_a_client_that_leaves_between_chunks_stops_the_work(serve: Serve) -> None:
    engine = ScriptedEngine()
    answers = iter([False, False, True])
    second = Stuck()
    engine.on("second", second)
    service = serve(engine)
    text = SpeechRequest("The first one. The second one. The third one. The fourth one.")
    with ThreadPoolExecutor(1) as pool:
        outcome = pool.submit(service.render, text, AudioOutput(), lambda: next(answers))
        second.wait_until_entered()
        assert isinstance(outcome.exception(PATIENT_SECONDS), ClientGone)
    second.release.set()
    service.render(HELLO, AudioOutput())
    assert [sentence.text for sentence in engine.spoken] == ["The first one.", "The second one.", "Hello there."]
    assert engine.iterators_ended == 3


def test_closing_a_stream_ends_the_work_at_the_next_chunk(engine: ScriptedEngine, stuck: Stuck, serve: Serve) -> None:
    engine.on("second", stuck)
    service = serve(engine)
    with service.speak(SpeechRequest("The first one. The second one. The third one.")) as stream:
        next(stream)
        stuck.wait_until_entered()
    stuck.release.set()
    service.render(HELLO, AudioOutput())
    assert [sentence.text for sentence in engine.spoken] == ["The first one.", "The second one.", "Hello there."]
    assert list(stream) == []
