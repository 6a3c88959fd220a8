"""A service that answers from a script, so that HTTP is tested without an engine."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cosyvoice_web.service.encoded_stream import EncodedStream
from cosyvoice_web.service.lifecycle import EngineState
from cosyvoice_web.service.speech_service import ServiceStatus, SpeechService
from cosyvoice_web.service.streaming import SpeechStream
from cosyvoice_web.settings import Settings, load_settings
from cosyvoice_web.speech import AudioOutput, ConversionRequest, RenderedSpeech, SpeechMode, SpeechRequest, Voice

VOICES = (
    Voice("zf_001", "Xiaoxiao", "zh", "female", default=True),
    Voice("中文女", "中文女", "zh", "female"),
    Voice("af_heart", "Heart", "en", "female", default=True),
)


def make_settings(**changed: object) -> Settings:
    """Settings with limits that no ordinary test meets."""
    values = {"rate_limit_default": "100000 per minute", "rate_limit_tts": "100000 per minute"} | changed
    return load_settings({f"COSYVOICE_{name.upper()}": str(value) for name, value in values.items()})


@dataclass
class Rendered:
    """One call of render."""

    request: Any
    output: AudioOutput
    is_abandoned: Callable[[], bool]


@dataclass
class Script:
    """What the fake does, and what was asked of it."""

    error: Exception | None = None
    voice: Voice | None = VOICES[0]
    data: bytes = b"RIFF-like bytes"
    audio_seconds: float = 2.0
    state: EngineState = EngineState.READY
    reason: str | None = None
    calls: list[Rendered] = field(default_factory=list)


class FakeService(SpeechService):
    """Keeps the signatures of the real one (mypy compares them), nothing else."""

    def __init__(self, script: Script | None = None) -> None:
        self.script = script or Script()
        self.closed = False

    def start(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def warm_up(self) -> float:
        self._raise()
        return 1.25

    def status(self) -> ServiceStatus:
        ready = self.script.state is EngineState.READY
        return ServiceStatus(
            state=self.script.state,
            reason=self.script.reason,
            engine="fake" if ready else None,
            model_loaded=ready,
            ready=ready,
            waiting=0,
            speaking=False,
            load_seconds=1.25 if ready else None,
            sample_rate_hz=24_000 if ready else None,
            languages=("en", "zh") if ready else (),
            modes=(SpeechMode.SFT, SpeechMode.ZERO_SHOT) if ready else (),
        )

    def voices(self) -> tuple[Voice, ...]:
        self._raise()
        return VOICES

    def speak(
        self,
        request: SpeechRequest | ConversionRequest,
        is_abandoned: Callable[[], bool] = lambda: False,
        *,
        stream: bool = False,
    ) -> SpeechStream:
        raise NotImplementedError

    def stream(
        self,
        request: SpeechRequest | ConversionRequest,
        output: AudioOutput,
        is_abandoned: Callable[[], bool] = lambda: False,
    ) -> EncodedStream:
        raise NotImplementedError

    def render(
        self,
        request: SpeechRequest | ConversionRequest,
        output: AudioOutput,
        is_abandoned: Callable[[], bool] = lambda: False,
    ) -> RenderedSpeech:
        self.script.calls.append(Rendered(request, output, is_abandoned))
        self._raise()
        return RenderedSpeech(
            data=self.script.data,
            format=output.format,
            sample_rate_hz=output.sample_rate_hz or 24_000,
            audio_seconds=self.script.audio_seconds,
            synthesis_seconds=0.5,
            voice=self.script.voice,
            seed=request.seed if request.seed is not None else 7,
        )

    def _raise(self) -> None:
        if self.script.error is not None:
            raise self.script.error


def assert_error_shape(answer: Any, status: int, code: str | None = None, field: str | None = None) -> dict[str, Any]:
    """The one check of the one error shape; `answer` is a Flask or a urllib-like response. Returns the error object."""
    body = answer.get_json()
    assert answer.status_code == status, body
    assert answer.content_type == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    error = body["error"]
    assert set(error) == {"code", "message", "field", "request_id"}
    assert isinstance(error["code"], str)
    assert error["code"] == error["code"].lower()
    assert isinstance(error["message"], str)
    assert len(error["message"]) > 10
    assert error["request_id"] == answer.headers["X-Request-Id"]
    assert "Traceback" not in error["message"]
    if status in (429, 503):
        assert int(answer.headers["Retry-After"]) >= 1
    if code is not None:
        assert error["code"] == code
    if field is not None:
        assert error["field"] == field
    return dict(error)
