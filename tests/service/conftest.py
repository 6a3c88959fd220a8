from collections.abc import Callable, Iterator

import pytest

from cosyvoice_web.service.engine_port import SpeechEngine
from cosyvoice_web.service.lifecycle import EngineState
from cosyvoice_web.service.speech_service import SpeechService
from tests.service.fakes import PATIENT_SECONDS, ScriptedEngine, Stuck

Serve = Callable[..., SpeechService]


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    behaviour = Stuck()
    yield behaviour
    behaviour.release.set()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Builds services that are ready, and closes them at the end."""
    services: list[SpeechService] = []

    def build(
        engine: SpeechEngine,
        *,
        max_waiting: int = 8,
        request_timeout_seconds: float = PATIENT_SECONDS,
        max_text_chars: int = 500,
    ) -> SpeechService:
        service = SpeechService(
            lambda: engine,
            max_waiting=max_waiting,
            request_timeout_seconds=request_timeout_seconds,
            max_text_chars=max_text_chars,
        )
        services.append(service)
        service.warm_up()
        return service

    yield build
    for service in services:
        service.close()
        assert service.status().state is EngineState.CLOSED
