"""From nothing to ready, from failure to another try, and down again."""

import logging
import threading

import pytest

from cosyvoice_web.errors import (
    DeadlineExceeded,
    EngineFailed,
    EngineNotReady,
    FileMissing,
    NothingToSpeak,
    ShuttingDown,
    TextTooLong,
)
from cosyvoice_web.service.engine_port import SpeechEngine
from cosyvoice_web.service.lifecycle import EngineState
from cosyvoice_web.service.speech_service import SpeechService
from cosyvoice_web.speech import AudioOutput, SpeechRequest
from cosyvoice_web.text import prepare
from tests.service.conftest import Serve
from tests.service.fakes import PATIENT_SECONDS, VOICES, ScriptedEngine, Stuck

HELLO = SpeechRequest("Hello there.")


class Loader:
    """Loads when it is let, and fails as often as it is told."""

    def __init__(self, engine: ScriptedEngine, *failures: Exception) -> None:
        self.engine = engine
        self.failures = list(failures)
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.call_count = 0

    def __call__(self) -> SpeechEngine:
        self.call_count += 1
        assert self.may_go_on.wait(PATIENT_SECONDS)
        if self.failures:
            raise self.failures.pop(0)
        return self.engine


def service_with(loader: Loader, *, timeout: float = PATIENT_SECONDS) -> SpeechService:
    return SpeechService(loader, max_waiting=2, request_timeout_seconds=timeout, max_text_chars=50)


def test_nothing_is_loaded_until_it_is_asked_for(engine: ScriptedEngine) -> None:
    loader = Loader(engine)
    service = service_with(loader)
    status = service.status()
    assert (status.state, status.model_loaded, status.ready, status.engine) == (EngineState.NEW, False, False, None)
    assert (status.sample_rate_hz, status.languages, status.load_seconds) == (None, (), None)
    assert loader.call_count == 0
    service.close()
    assert service.status().state is EngineState.CLOSED


def test_starting_returns_at_once_and_loads_once(engine: ScriptedEngine) -> None:
    loader = Loader(engine)
    loader.may_go_on.clear()
    service = service_with(loader)
    service.start()
    service.start()
    assert service.status().state is EngineState.LOADING
    loader.may_go_on.set()
    seconds = service.warm_up()
    assert service.warm_up() == seconds == service.status().load_seconds
    assert loader.call_count == 1
    assert engine.warm_up_count == 1
    service.close()


def test_ready_comes_only_after_real_speech_was_made(engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    warming, go_on = threading.Event(), threading.Event()

    def warm_up() -> None:
        warming.set()
        assert go_on.wait(PATIENT_SECONDS)

    engine.warm_up_behaviour = warm_up
    grammars: list[frozenset[str]] = []
    monkeypatch.setattr(prepare, "warm_up", grammars.append)
    service = service_with(Loader(engine))
    service.start()
    assert warming.wait(PATIENT_SECONDS)
    assert grammars == [engine.languages]
    status = service.status()
    assert (status.state, status.model_loaded, status.ready) == (EngineState.WARMING, True, False)
    assert service.voices() == tuple(VOICES)
    with pytest.raises(EngineNotReady, match="warming"):
        service.speak(HELLO)
    go_on.set()
    service.warm_up()
    status = service.status()
    assert (status.state, status.ready, status.engine) == (EngineState.READY, True, "scripted")
    assert (status.sample_rate_hz, status.languages) == (24_000, ("en", "ja", "zh"))
    service.render(HELLO, AudioOutput())
    assert len(engine.threads) == 1, "the thread that was warmed is the one that speaks"
    service.close()


def test_while_it_loads_a_request_is_told_so_and_a_hopeless_one_is_told_why(engine: ScriptedEngine) -> None:
    loader = Loader(engine)
    loader.may_go_on.clear()
    service = service_with(loader)
    service.start()
    with pytest.raises(EngineNotReady, match="loading") as refusal:
        service.speak(HELLO)
    assert refusal.value.retry_after_seconds >= 1
    with pytest.raises(EngineNotReady):
        service.voices()
    with pytest.raises(NothingToSpeak):
        service.speak(SpeechRequest("。。。 \u200b 😀"))
    with pytest.raises(TextTooLong):
        service.speak(SpeechRequest("long " * 50))
    loader.may_go_on.set()
    service.warm_up()
    service.close()


def test_waiting_for_a_slow_loader_ends_and_the_loading_goes_on(engine: ScriptedEngine) -> None:
    loader = Loader(engine)
    loader.may_go_on.clear()
    service = service_with(loader, timeout=0.05)
    with pytest.raises(DeadlineExceeded):
        service.warm_up()
    loader.may_go_on.set()
    assert service._lifecycle.wait_for({EngineState.READY}, PATIENT_SECONDS).state is EngineState.READY
    service.close()


def test_a_failed_load_says_why_everywhere_and_can_be_tried_again(engine: ScriptedEngine) -> None:
    loader = Loader(engine, FileMissing("/models/llm.pt", "nothing", "the language model"))
    service = service_with(loader)
    with pytest.raises(EngineFailed, match=r"/models/llm\.pt"):
        service.warm_up()
    status = service.status()
    assert (status.state, status.ready, status.model_loaded) == (EngineState.FAILED, False, False)
    assert status.reason == "/models/llm.pt: found nothing; expected the language model"
    for ask in (lambda: service.speak(HELLO), service.voices):
        with pytest.raises(EngineFailed, match=r"/models/llm\.pt"):
            ask()
    service.start()
    assert service.status().state is EngineState.FAILED, "starting again is not trying again"
    service.warm_up()
    status = service.status()
    assert (status.state, status.reason) == (EngineState.READY, None)
    service.close()


def test_a_foreign_exception_of_the_loader_is_named_and_logged(
    engine: ScriptedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    service = service_with(Loader(engine, RuntimeError("bad magic number")))
    with pytest.raises(EngineFailed, match="RuntimeError: bad magic number"):
        service.warm_up()
    logged = [record for record in caplog.records if record.name == "cosyvoice_web.service" and record.exc_info]
    assert len(logged) == 1
    service.close()
    assert service.status().state is EngineState.CLOSED


def test_an_engine_that_loads_and_cannot_speak_is_given_back(engine: ScriptedEngine) -> None:
    def warm_up() -> None:
        raise FileMissing("dictionary", "nothing", "a dictionary")

    engine.warm_up_behaviour = warm_up
    service = service_with(Loader(engine))
    with pytest.raises(EngineFailed, match="dictionary"):
        service.warm_up()
    assert engine.closed.is_set()
    assert not service.status().model_loaded
    service.close()


def test_closing_while_loading_gives_the_engine_back(engine: ScriptedEngine) -> None:
    loader = Loader(engine)
    loader.may_go_on.clear()
    service = service_with(loader)
    service.start()
    closer = threading.Thread(target=service.close)
    closer.start()
    with pytest.raises(ShuttingDown):
        service.warm_up()
    loader.may_go_on.set()
    closer.join(PATIENT_SECONDS)
    assert service.status().state is EngineState.CLOSED
    assert engine.closed.is_set()
    assert engine.warm_up_count == 0


def test_closing_lets_admitted_speech_finish_and_refuses_more(
    engine: ScriptedEngine, stuck: Stuck, serve: Serve
) -> None:
    engine.on("first", stuck)
    service = serve(engine)
    first, second = service.speak(SpeechRequest("The first one.")), service.speak(SpeechRequest("And the second one."))
    stuck.wait_until_entered()
    closer = threading.Thread(target=service.close)
    closer.start()
    assert service._lifecycle.wait_for({EngineState.DRAINING}, PATIENT_SECONDS).state is EngineState.DRAINING
    with pytest.raises(ShuttingDown):
        service.speak(HELLO)
    with pytest.raises(ShuttingDown):
        service.warm_up()
    assert not service.status().ready
    assert not engine.closed.is_set()
    stuck.release.set()
    assert len(list(first)) == len(list(second)) == 1
    closer.join(PATIENT_SECONDS)
    assert service.status().state is EngineState.CLOSED
    assert engine.closed.is_set()
    service.close()


def test_the_log_of_a_ready_engine_is_one_line(
    engine: ScriptedEngine, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "cosyvoice_web.service"):
        serve(engine)
        lines = [record.getMessage() for record in caplog.records]
    assert [line.split("load=")[0] for line in lines] == ["engine=scripted loaded and warm, "]
