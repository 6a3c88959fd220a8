"""Answers that are sent while they are made."""

import io
import threading
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
import soundfile

from cosyvoice_web.errors import (
    ClientGone,
    CosyVoiceWebError,
    InvalidRequest,
    NoSpeechProduced,
    NothingToSpeak,
    SynthesisError,
    TokenBudgetSpent,
    UnknownVoice,
)
from cosyvoice_web.speech import (
    AudioFormat,
    AudioOutput,
    ConversionRequest,
    Samples,
    SpeechRequest,
    VoicePrompt,
)
from cosyvoice_web.text.sentences import Sentence
from tests.service.conftest import Serve
from tests.service.fakes import PATIENT_SECONDS, RATE_HZ, ScriptedEngine, Stuck, raising, tone, wait_until, yielding
from tests.service.recordings import recording

FOUR = SpeechRequest("This is the first line. Here is a second line. Then a third line. And a fourth line.", seed=7)
HELLO = SpeechRequest("Hello there.")


def decode(data: bytes) -> tuple[Samples, int]:
    samples, rate_hz = soundfile.read(io.BytesIO(data), dtype="float32")
    return samples, rate_hz


@pytest.mark.parametrize("sample_rate_hz", [None, 8_000, 22_050, 48_000])
@pytest.mark.parametrize("speed", [1.0, 1.7])
def test_a_stream_holds_the_samples_of_the_finished_answer(
    serve: Serve, sample_rate_hz: int | None, speed: float
) -> None:
    engine = ScriptedEngine(chunk_count=3, native_speed_range=(0.8, 1.25))
    service = serve(engine)
    request = SpeechRequest(FOUR.text, seed=7, speed=speed)
    output = AudioOutput(AudioFormat.WAV, sample_rate_hz)
    stream = service.stream(request, output)
    assert (stream.seed, stream.sample_rate_hz, stream.format) == (7, sample_rate_hz or RATE_HZ, AudioFormat.WAV)
    assert stream.voice is not None
    assert stream.voice.id == "en_ann"
    pieces = list(stream)
    assert len(pieces) >= 3
    assert b"".join(pieces)[44:] == service.render(request, output).data[44:]
    assert engine.streamed == [True] * 4 + [False] * 4
    assert engine.announced == [((), 7), (tuple(engine.spoken[4:]), 7)]


@pytest.mark.parametrize("audio_format", [AudioFormat.OGG, AudioFormat.MP3])
def test_compressed_formats_stream_too(engine: ScriptedEngine, serve: Serve, audio_format: AudioFormat) -> None:
    data = b"".join(serve(engine).stream(FOUR, AudioOutput(audio_format)))
    samples, rate_hz = decode(data)
    assert rate_hz == RATE_HZ
    assert 0.2 <= len(samples) / rate_hz < 0.5


def test_a_conversion_and_a_recordings_voice_stream_too(engine: ScriptedEngine, serve: Serve) -> None:
    service = serve(engine)
    for request in (
        ConversionRequest(recording(), "en_ann", seed=1),
        SpeechRequest("Hi.", prompt=VoicePrompt(recording()), seed=1),
    ):
        stream = service.stream(request, AudioOutput())
        assert b"".join(stream)[44:] == service.render(request, AudioOutput()).data[44:]


def test_the_first_bytes_come_while_the_rest_is_still_to_be_made(
    engine: ScriptedEngine, stuck: Stuck, serve: Serve
) -> None:
    engine.on("second", stuck)
    stream = serve(engine).stream(FOUR, AudioOutput())
    first = next(iter(stream))
    assert decode(first)[0] == pytest.approx(tone("This is the first line.", voice="en_ann", seed=7), abs=1e-4)
    stuck.wait_until_entered()
    stream.close()
    stuck.release.set()


def test_silence_alone_is_not_yet_speech(serve: Serve) -> None:
    """Else an engine that says nothing would be found out only after the answer has begun."""
    engine = ScriptedEngine()
    engine.on("first", yielding(np.zeros(2_400, np.float32), np.zeros(2_400, np.float32)))
    with pytest.raises(NoSpeechProduced):
        serve(engine).stream(FOUR, AudioOutput())
    engine = ScriptedEngine()
    engine.on("first", yielding(np.zeros(2_400, np.float32), tone("hum")))
    samples, _ = decode(next(iter(serve(engine).stream(FOUR, AudioOutput()))))
    assert len(samples) == 2_400 + 1_200


@pytest.mark.parametrize(
    ("request_", "output", "error"),
    [
        (SpeechRequest("..."), AudioOutput(), NothingToSpeak),
        (SpeechRequest("Hi.", "nobody"), AudioOutput(), UnknownVoice),
        (HELLO, AudioOutput(AudioFormat.FLAC), InvalidRequest),
        (HELLO, AudioOutput(AudioFormat.MP3, 11_111), InvalidRequest),
    ],
)
def test_what_is_refused_as_a_file_is_refused_as_a_stream(
    engine: ScriptedEngine,
    serve: Serve,
    request_: SpeechRequest,
    output: AudioOutput,
    error: type[CosyVoiceWebError],
) -> None:
    with pytest.raises(error):
        serve(engine).stream(request_, output)
    assert engine.spoken == []


@pytest.mark.parametrize("error", [TokenBudgetSpent("no end"), RuntimeError("secret")])
def test_an_error_before_the_first_audio_is_raised_at_once_and_a_later_one_while_reading(
    serve: Serve, error: Exception
) -> None:
    def at_once(sentence: Sentence) -> Iterator[Samples]:
        raise error
        yield

    engine = ScriptedEngine()
    engine.on("now", at_once)
    engine.on("third", raising(error))
    service = serve(engine, max_waiting=0)
    with pytest.raises(SynthesisError):
        service.stream(SpeechRequest("It fails now."), AudioOutput())
    wait_until(lambda: service._room.is_empty)
    heard: list[bytes] = []
    with pytest.raises(SynthesisError):
        heard.extend(service.stream(FOUR, AudioOutput()))
    assert len(decode(b"".join(heard))[0]) >= 3 * 1_200
    wait_until(lambda: service._room.is_empty)
    assert b"".join(service.stream(HELLO, AudioOutput()))


def test_closing_a_stream_stops_the_work_within_one_chunk(engine: ScriptedEngine, stuck: Stuck, serve: Serve) -> None:
    engine.on("second", stuck)
    service = serve(engine, max_waiting=0)
    stream = service.stream(FOUR, AudioOutput())
    pieces = iter(stream)
    next(pieces)
    stuck.wait_until_entered()
    stream.close()
    stream.close()
    stuck.release.set()
    wait_until(lambda: service._room.is_empty)
    assert len(engine.spoken) == 2
    assert b"".join(service.stream(HELLO, AudioOutput()))


def test_a_client_that_leaves_ends_its_stream(engine: ScriptedEngine, stuck: Stuck, serve: Serve) -> None:
    engine.on("second", stuck)
    gone = threading.Event()
    service = serve(engine, max_waiting=0)
    pieces = iter(service.stream(FOUR, AudioOutput(), gone.is_set))
    next(pieces)
    stuck.wait_until_entered()
    gone.set()
    with pytest.raises(ClientGone):
        next(pieces)
    stuck.release.set()
    wait_until(lambda: service._room.is_empty)
    assert len(engine.spoken) == 2


def test_a_stream_that_is_read_as_it_is_made_holds_one_chunk_however_long_it_is(serve: Serve) -> None:
    made: list[weakref.ref[object]] = []
    may_make = threading.Semaphore(1)
    most_alive = 0

    def paced(sentence: Sentence) -> Iterator[Samples]:
        for number in range(300):
            assert may_make.acquire(timeout=PATIENT_SECONDS)
            samples = tone(str(number))
            made.append(weakref.ref(samples))
            yield samples
            del samples

    engine = ScriptedEngine()
    engine.on("long", paced)
    stream = serve(engine).stream(SpeechRequest("It is long."), AudioOutput())
    total = 0
    for piece in stream:
        total += len(piece)
        most_alive = max(most_alive, sum(reference() is not None for reference in made))
        may_make.release()
    assert total == 44 + 300 * 1_200 * 2
    assert most_alive <= 3
