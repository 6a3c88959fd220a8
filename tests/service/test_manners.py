"""Whose voice, which style, what is converted: what reaches the engine, and what is refused before."""

import threading

import pytest

from cosyvoice_web.errors import (
    DeadlineExceeded,
    InvalidRequest,
    NothingToSpeak,
    RequestError,
    SynthesisError,
    TextTooLong,
    UnknownVoice,
)
from cosyvoice_web.speech import (
    SEED_MAX,
    AudioOutput,
    ConversionRequest,
    Manner,
    SpeechMode,
    SpeechRequest,
    Voice,
    VoicePrompt,
)
from tests.service.conftest import Serve
from tests.service.fakes import PATIENT_SECONDS, VOICES, ScriptedEngine, wait_until
from tests.service.recordings import recording

ANN = VOICES[2]
SOMEONE = recording()
PROMPT = VoicePrompt(SOMEONE, "Hello, it is me.")
WORDLESS = VoicePrompt(SOMEONE)


@pytest.mark.parametrize(
    ("request_", "manner", "mode"),
    [
        (SpeechRequest("Hi."), Manner(ANN), SpeechMode.SFT),
        (SpeechRequest("Hi.", prompt=PROMPT), Manner(None, PROMPT), SpeechMode.ZERO_SHOT),
        (SpeechRequest("Hi.", prompt=WORDLESS), Manner(None, WORDLESS), SpeechMode.CROSS_LINGUAL),
        (SpeechRequest("Hi.", instruction="Softly."), Manner(ANN, None, "Softly."), SpeechMode.INSTRUCT),
        (ConversionRequest(SOMEONE, "en_ann"), Manner(ANN), SpeechMode.SFT),
        (ConversionRequest(SOMEONE, prompt=PROMPT), Manner(None, PROMPT), SpeechMode.ZERO_SHOT),
    ],
)  # fmt: skip
def test_the_engine_prepares_what_was_asked_once_and_on_its_own_thread(
    serve: Serve, request_: SpeechRequest | ConversionRequest, manner: Manner, mode: SpeechMode
) -> None:
    engine = ScriptedEngine()
    rendered = serve(engine).render(request_, AudioOutput())
    assert engine.manners == [manner]
    assert manner.mode is mode
    assert len(engine.threads) == 1
    assert rendered.voice == manner.voice
    assert rendered.audio_seconds == pytest.approx(0.05)


def test_one_preparation_serves_every_sentence_and_ends_with_the_request(serve: Serve) -> None:
    engine = ScriptedEngine()
    serve(engine).render(SpeechRequest("The first one. The second one. The third one.", prompt=PROMPT), AudioOutput())
    assert len(engine.spoken) == 3
    (prepared,) = engine.prepared
    wait_until(lambda: prepared() is None)


def test_other_voices_styles_and_recordings_sound_different(serve: Serve) -> None:
    service = serve(ScriptedEngine())
    asked: list[SpeechRequest | ConversionRequest] = [
        SpeechRequest("Hi.", seed=1),
        SpeechRequest("Hi.", seed=1, instruction="Softly."),
        SpeechRequest("Hi.", seed=1, prompt=PROMPT),
        SpeechRequest("Hi.", seed=1, prompt=WORDLESS),
        SpeechRequest("Hi.", seed=1, prompt=VoicePrompt(recording("another"))),
        ConversionRequest(SOMEONE, "en_ann", seed=1),
        ConversionRequest(recording("another"), "en_ann", seed=1),
        ConversionRequest(SOMEONE, "zh_mei", seed=1),
    ]
    heard = [service.render(request, AudioOutput()).data for request in asked]
    assert len(set(heard)) == len(asked)
    assert [service.render(request, AudioOutput()).data for request in asked] == heard


@pytest.mark.parametrize(("speed", "given"), [(1.1, 1.1), (2.0, 1.25), (0.5, 0.7)])
def test_a_conversion_keeps_the_asked_speed(serve: Serve, speed: float, given: float) -> None:
    engine = ScriptedEngine(native_speed_range=(0.7, 1.25))
    rendered = serve(engine).render(ConversionRequest(SOMEONE, "en_ann", speed=speed), AudioOutput())
    assert engine.speeds == [given]
    assert rendered.audio_seconds == pytest.approx(0.05 / speed, rel=0.02)


@pytest.mark.parametrize(
    ("request_", "error", "field"),
    [
        (SpeechRequest("Hi.", "en_ann", prompt=PROMPT), InvalidRequest, "prompt_audio"),
        (SpeechRequest("Hi.", prompt=PROMPT, instruction="Softly."), InvalidRequest, "instruct_text"),
        (SpeechRequest("Hi.", instruction="..."), NothingToSpeak, "instruct_text"),
        (SpeechRequest("Hi.", instruction="a" * 501), TextTooLong, "instruct_text"),
        (SpeechRequest("Hi.", prompt=VoicePrompt(SOMEONE, "?!")), NothingToSpeak, "prompt_text"),
        (SpeechRequest("Hi.", prompt=VoicePrompt(SOMEONE, "a" * 501)), TextTooLong, "prompt_text"),
        (SpeechRequest("...", prompt=PROMPT), NothingToSpeak, "text"),
        (ConversionRequest(SOMEONE), InvalidRequest, "speaker"),
        (ConversionRequest(SOMEONE, "en_ann", prompt=PROMPT), InvalidRequest, "prompt_audio"),
        (ConversionRequest(SOMEONE, "nobody"), UnknownVoice, "speaker"),
        (ConversionRequest(SOMEONE, "en_ann", speed=2.5), InvalidRequest, "speed"),
        (ConversionRequest(SOMEONE, "en_ann", seed=SEED_MAX + 1), InvalidRequest, "seed"),
        (ConversionRequest(b"no audio", "en_ann"), InvalidRequest, "source_audio"),
    ],
)
def test_what_contradicts_itself_is_refused_before_the_engine_hears_of_it(
    engine: ScriptedEngine,
    serve: Serve,
    request_: SpeechRequest | ConversionRequest,
    error: type[RequestError],
    field: str,
) -> None:
    with pytest.raises(error) as refusal:
        serve(engine).speak(request_)
    assert type(refusal.value) is error
    assert refusal.value.field == field
    assert engine.manners == []


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (SpeechRequest("Hi.", prompt=PROMPT), "prompt_audio"),
        (SpeechRequest("Hi.", prompt=WORDLESS), "prompt_audio"),
        (SpeechRequest("Hi.", instruction="Softly."), "instruct_text"),
        (ConversionRequest(SOMEONE, "en_ann"), "source_audio"),
    ],
)
def test_what_the_engine_cannot_do_is_refused_at_once(
    serve: Serve, request_: SpeechRequest | ConversionRequest, field: str
) -> None:
    engine = ScriptedEngine(modes=frozenset({SpeechMode.SFT}))
    service = serve(engine)
    assert service.status().modes == (SpeechMode.SFT,)
    with pytest.raises(InvalidRequest) as refusal:
        service.speak(request_)
    assert refusal.value.field == field
    assert engine.manners == []


class Obeying(ScriptedEngine):
    obeys_speech_marks = True


MARKED = "<laughter>It is fun</laughter>[breath]!"


@pytest.mark.parametrize(("engine", "said"), [(ScriptedEngine(), "It is fun!"), (Obeying(), MARKED)])
def test_speech_marks_reach_only_an_engine_that_obeys_them(serve: Serve, engine: ScriptedEngine, said: str) -> None:
    serve(engine).render(SpeechRequest(MARKED), AudioOutput())
    assert [sentence.spoken for sentence in engine.spoken] == [said]


def test_speech_marks_alone_are_nothing_to_speak(serve: Serve) -> None:
    with pytest.raises(NothingToSpeak):
        serve(Obeying()).speak(SpeechRequest("[laughter]"))


class Holding:
    """A preparation that waits for a sign."""

    def __init__(self) -> None:
        self.entered, self.go_on = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.entered.set()
        assert self.go_on.wait(PATIENT_SECONDS)


class OnlyRecordings(ScriptedEngine):
    voices: tuple[Voice, ...] = ()

    def default_voice(self, language: str) -> Voice:
        raise AssertionError("it has none")


@pytest.mark.parametrize(
    "request_", [SpeechRequest("Hi."), SpeechRequest("Hi.", "en_ann"), ConversionRequest(SOMEONE, "en_ann")]
)
def test_a_model_without_stored_voices_says_what_it_needs(
    serve: Serve, request_: SpeechRequest | ConversionRequest
) -> None:
    service = serve(OnlyRecordings())
    with pytest.raises(InvalidRequest, match="send a recording") as refusal:
        service.speak(request_)
    assert refusal.value.field == "prompt_audio"
    assert service.render(SpeechRequest("Hi.", prompt=PROMPT), AudioOutput()).audio_seconds > 0


def test_a_recording_that_turns_out_bad_is_the_callers_error_and_the_next_request_is_served(serve: Serve) -> None:
    engine = ScriptedEngine()
    service = serve(engine)

    def refuse() -> None:
        raise InvalidRequest("The recording is silent.", "prompt_audio")

    engine.prepare_behaviour = refuse
    with pytest.raises(InvalidRequest, match="silent") as refusal:
        service.render(SpeechRequest("Hi.", prompt=PROMPT), AudioOutput())
    assert refusal.value.field == "prompt_audio"
    assert engine.spoken == []
    engine.prepare_behaviour = lambda: None
    assert service.render(SpeechRequest("Hi.", prompt=PROMPT), AudioOutput()).audio_seconds > 0


def test_a_fault_while_preparing_is_the_servers_error(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    engine = ScriptedEngine()
    words = "".join(("sec", "ret"))  # in one piece, the traceback's line of this file would hold it

    def fail() -> None:
        raise ValueError(words)

    engine.prepare_behaviour = fail
    with pytest.raises(SynthesisError) as failure:
        serve(engine).render(SpeechRequest("Hi.", prompt=PROMPT), AudioOutput())
    assert words not in str(failure.value) + caplog.text


def test_nothing_is_prepared_for_a_client_that_left_while_it_waited(engine: ScriptedEngine, serve: Serve) -> None:
    service = serve(engine)
    holding = Holding()
    engine.prepare_behaviour = holding
    first = service.speak(SpeechRequest("The first one."))
    assert holding.entered.wait(PATIENT_SECONDS)
    service.speak(SpeechRequest("Nobody waits.", prompt=PROMPT)).close()
    holding.go_on.set()
    assert len(list(first)) == 1
    assert [manner.prompt for manner in engine.manners] == [None]


def test_a_preparation_that_hangs_is_a_deadline_and_the_next_request_is_served(serve: Serve) -> None:
    engine = ScriptedEngine()
    service = serve(engine, request_timeout_seconds=0.2)
    holding = Holding()
    engine.prepare_behaviour = holding
    with pytest.raises(DeadlineExceeded):
        service.render(SpeechRequest("Hi.", prompt=PROMPT), AudioOutput())
    engine.prepare_behaviour = lambda: None
    assert service.render(SpeechRequest("Hi."), AudioOutput()).audio_seconds > 0
    holding.go_on.set()
