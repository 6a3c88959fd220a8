"""The front door: load the engine, say how it stands, turn requests into speech.

Which refusal wins: what can be told from the request alone (length, nothing to speak, numbers out of range, a sample
rate that the format lacks) is told first, even while the engine loads; then the state of the engine; then what needs
the engine (languages, voices); then whether there is room.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from cosyvoice_web.audio.encoders import check_sample_rate, encode
from cosyvoice_web.audio.streams import check_streamable
from cosyvoice_web.audio.waveform import join, resample
from cosyvoice_web.errors import (
    CosyVoiceWebError,
    DeadlineExceeded,
    EngineFailed,
    EngineNotReady,
    ShuttingDown,
)
from cosyvoice_web.service.admission import WaitingRoom
from cosyvoice_web.service.encoded_stream import EncodedStream
from cosyvoice_web.service.engine_port import EngineLoader, SpeechEngine
from cosyvoice_web.service.lifecycle import STOPPING, EngineState, Lifecycle
from cosyvoice_web.service.plan import check_alone, plan
from cosyvoice_web.service.speaker import POLL_SECONDS, Speaker
from cosyvoice_web.service.streaming import SpeechStream
from cosyvoice_web.service.utterance import Utterance
from cosyvoice_web.speech import (
    SEED_MAX,
    AudioOutput,
    ConversionRequest,
    RenderedSpeech,
    SpeechMode,
    SpeechRequest,
    Voice,
)
from cosyvoice_web.text import prepare

logger = logging.getLogger("cosyvoice_web.service")

PATIENCE_SHARE, PATIENCE_MAX_SECONDS = 0.2, 60.0
"""An engine call may run on for this share of the request's time after it is over, and at most this long, before it
counts as stuck: enough for a slow machine to reach the next chunk, so that two calls never overlap without need."""


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """How the service stands at one moment; `load_seconds` covers loading and warming."""

    state: EngineState
    reason: str | None
    engine: str | None
    model_loaded: bool
    ready: bool
    waiting: int
    speaking: bool
    load_seconds: float | None
    sample_rate_hz: int | None
    languages: tuple[str, ...]
    modes: tuple[SpeechMode, ...]


@dataclass(frozen=True, slots=True)
class _Loaded:
    engine: SpeechEngine
    speaker: Speaker


def _never() -> bool:
    return False


class SpeechService:
    """Loads one engine and speaks requests with it, one at a time, in the order they came.

    `max_waiting`: requests that may wait while one is spoken. `request_timeout_seconds`: time of one request, waiting
    included. `max_text_chars`: longest text. Every method may be called from every thread.
    """

    def __init__(
        self, load_engine: EngineLoader, *, max_waiting: int, request_timeout_seconds: float, max_text_chars: int
    ) -> None:
        self._load_engine = load_engine
        self._request_timeout_seconds = request_timeout_seconds
        self._max_text_chars = max_text_chars
        self._lifecycle = Lifecycle()
        self._room = WaitingRoom(max_waiting)
        self._loaded: _Loaded | None = None
        self._load_seconds: float | None = None
        self._numbers = count(1)

    # -- loading and stopping ---------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to load and warm the engine in the background; only the first call does anything."""
        if self._lifecycle.move(EngineState.NEW, EngineState.LOADING):
            self._start_loading()

    def warm_up(self) -> float:
        """Load if needed, also again after a failure; block until ready. Returns the seconds the loading took.

        Raises:
            EngineFailed: loading failed (again).
            EngineNotReady: loaded, but the engine is stuck.
            DeadlineExceeded: still loading after the time of one request; it goes on in the background.
            ShuttingDown: the service is being closed.
        """
        states = (EngineState.NEW, EngineState.FAILED)
        if any(self._lifecycle.move(state, EngineState.LOADING) for state in states):  # the first that holds, only
            self._start_loading()
        settled = set(EngineState) - {EngineState.NEW, EngineState.LOADING, EngineState.WARMING}
        standing = self._lifecycle.wait_for(settled, self._request_timeout_seconds)
        if standing.state not in settled:
            raise DeadlineExceeded("The voice engine is still loading; it goes on. Ask again in a while.", 5)
        self._require_ready()
        assert self._load_seconds is not None  # noqa: S101 - set before READY
        return self._load_seconds

    def close(self) -> None:
        """Refuse new requests at once, let the admitted ones finish, then free the engine; blocks until that is done.

        Admitted requests end within the time of one request, so this returns soon after it at the latest.
        """
        left = self._lifecycle.drain()
        self._room.close()
        if left in (EngineState.NEW, EngineState.FAILED):  # no thread is there that could end
            self._lifecycle.move(EngineState.DRAINING, EngineState.CLOSED)
        give_up_at = time.monotonic() + self._request_timeout_seconds + self._patience_seconds + POLL_SECONDS
        while time.monotonic() < give_up_at:
            if self._lifecycle.wait_for({EngineState.CLOSED}, POLL_SECONDS).state is EngineState.CLOSED:
                break
            if self._loaded is not None:
                self._loaded.speaker.replace_if_stuck()

    def status(self) -> ServiceStatus:
        """How the service stands now; never blocks on the engine."""
        loaded = self._loaded
        if loaded is not None:
            loaded.speaker.replace_if_stuck()
        standing = self._lifecycle.standing
        return ServiceStatus(
            state=standing.state,
            reason=standing.reason,
            engine=loaded.engine.name if loaded else None,
            model_loaded=loaded is not None and standing.state is not EngineState.CLOSED,
            ready=standing.state is EngineState.READY,
            waiting=self._room.waiting_count,
            speaking=self._room.speaking is not None,
            load_seconds=self._load_seconds,
            sample_rate_hz=loaded.engine.sample_rate_hz if loaded else None,
            languages=tuple(sorted(loaded.engine.languages)) if loaded else (),
            modes=tuple(mode for mode in SpeechMode if mode in loaded.engine.modes) if loaded else (),
        )

    # -- requests ---------------------------------------------------------------------------------------------------

    def voices(self) -> tuple[Voice, ...]:
        """Every voice of the engine, in the order of the menu; known as soon as it is loaded.

        Raises:
            EngineNotReady, EngineFailed, ShuttingDown: there is no engine.
        """
        loaded = self._loaded
        return tuple(loaded.engine.voices) if loaded else tuple(self._require_ready().engine.voices)

    def speak(
        self,
        request: SpeechRequest | ConversionRequest,
        is_abandoned: Callable[[], bool] = _never,
        *,
        stream: bool = False,
    ) -> SpeechStream:
        """Admit a request; its speech is made in its turn whether or not the stream is read.

        `is_abandoned` is asked between chunks and every quarter of a second while the caller waits. `stream`: somebody
        listens already, so the first chunk should come soon.

        Raises:
            RequestError: the caller can mend it.
            EngineNotReady, EngineFailed, ShuttingDown: no speech now.
            ServiceBusy: no place in the waiting room.
        """
        deadline = time.monotonic() + self._request_timeout_seconds
        number = next(self._numbers)
        try:
            return self._admit(request, is_abandoned, deadline, number, stream=stream)
        except CosyVoiceWebError as error:
            logger.info("speech=%d outcome=%s", number, error.code)
            raise

    def render(
        self,
        request: SpeechRequest | ConversionRequest,
        output: AudioOutput,
        is_abandoned: Callable[[], bool] = _never,
    ) -> RenderedSpeech:
        """The whole answer as one encoded file, at the engine's own rate unless `output` names another.

        Raises:
            As `speak`, and DeadlineExceeded, SynthesisError, ClientGone as reading a `SpeechStream` does.
        """
        if output.sample_rate_hz is not None:
            check_sample_rate(output.format, output.sample_rate_hz)
        with self.speak(request, is_abandoned) as stream:
            whole = join(list(stream))
        sample_rate_hz = output.sample_rate_hz or whole.sample_rate_hz
        samples = resample(whole.samples, whole.sample_rate_hz, sample_rate_hz)
        return RenderedSpeech(
            data=encode(samples, sample_rate_hz, output.format),
            format=output.format,
            sample_rate_hz=sample_rate_hz,
            audio_seconds=len(samples) / sample_rate_hz,
            synthesis_seconds=stream.synthesis_seconds,
            voice=stream.voice,
            seed=stream.seed,
        )

    def stream(
        self,
        request: SpeechRequest | ConversionRequest,
        output: AudioOutput,
        is_abandoned: Callable[[], bool] = _never,
    ) -> EncodedStream:
        """The answer as a file that is sent while it is made; returns when there is something to hear.

        Audio that is made faster than the caller reads it waits: at most what `render` would hold.

        Raises:
            As `render`, and InvalidRequest for a format that cannot be streamed. Later errors come while reading.
        """
        check_streamable(output.format)
        if output.sample_rate_hz is not None:
            check_sample_rate(output.format, output.sample_rate_hz)
        return EncodedStream(self.speak(request, is_abandoned, stream=True), output)

    # -- inside -----------------------------------------------------------------------------------------------------

    @property
    def _patience_seconds(self) -> float:
        return min(PATIENCE_MAX_SECONDS, PATIENCE_SHARE * self._request_timeout_seconds)

    def _start_loading(self) -> None:
        threading.Thread(target=self._load_then_speak, name="speech", daemon=True).start()

    def _load_then_speak(self) -> None:
        """Load, warm up and serve on one thread, so the first request finds this thread's state warm as well."""
        started_at = time.monotonic()
        engine: SpeechEngine | None = None
        try:
            engine = self._load_engine()
            loaded = _Loaded(engine, Speaker(engine, self._room, self._lifecycle, self._patience_seconds))
            self._loaded = loaded
            if self._lifecycle.move(EngineState.LOADING, EngineState.WARMING):
                prepare.warm_up(engine.languages)
                engine.warm_up()
        except Exception as error:  # noqa: BLE001 - whatever a loader raises must end in FAILED, not in a dead thread
            self._loaded = None
            self._fail(error)
            if engine is not None:
                engine.close()
            return
        self._load_seconds = time.monotonic() - started_at
        logger.info("engine=%s loaded and warm, load=%.2fs", engine.name, self._load_seconds)
        self._lifecycle.move(EngineState.WARMING, EngineState.READY)
        loaded.speaker.serve()  # when the service was closed meanwhile, the room is too, and this only cleans up

    def _fail(self, error: Exception) -> None:
        if isinstance(error, CosyVoiceWebError):
            reason = str(error)
            logger.error("state=failed %s", reason)
        else:
            reason = f"{type(error).__name__}: {error}"
            logger.error("state=failed %s", reason, exc_info=error)
        for source in (EngineState.LOADING, EngineState.WARMING):
            self._lifecycle.move(source, EngineState.FAILED, reason)
        self._lifecycle.move(EngineState.DRAINING, EngineState.CLOSED)  # closed while loading: nothing is left to end

    def _require_ready(self) -> _Loaded:
        standing, loaded = self._lifecycle.standing, self._loaded
        if standing.state in STOPPING:
            raise ShuttingDown("The server is shutting down: send the request again in a moment.")
        if standing.state is EngineState.FAILED:
            raise EngineFailed(standing.reason or "no reason was given")
        if standing.state is not EngineState.READY or loaded is None:
            raise EngineNotReady(standing.state.value)
        return loaded

    def _admit(
        self,
        request: SpeechRequest | ConversionRequest,
        is_abandoned: Callable[[], bool],
        deadline: float,
        number: int,
        *,
        stream: bool,
    ) -> SpeechStream:
        check_alone(request, self._max_text_chars)
        loaded = self._require_ready()
        engine, speaker = loaded.engine, loaded.speaker
        work = plan(request, engine, stream=stream)
        seed = secrets.randbelow(SEED_MAX + 1) if request.seed is None else request.seed
        utterance = Utterance(work.parts, work.manner, speed=request.speed, seed=seed, deadline=deadline)
        speaker.replace_if_stuck()
        self._room.admit(utterance)
        return SpeechStream(utterance, engine.sample_rate_hz, self._room, speaker, is_abandoned, number)
