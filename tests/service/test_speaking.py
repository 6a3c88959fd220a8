"""One request: what is refused, what is spoken, what is never sent."""

import gc
import io
import logging
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
import soundfile

from cosyvoice_web.errors import (
    CosyVoiceWebError,
    InvalidRequest,
    NonFiniteAudio,
    NoSpeechProduced,
    NothingToSpeak,
    SynthesisError,
    TextTooLong,
    TokenBudgetSpent,
    UnknownVoice,
    UnsupportedLanguage,
)
from cosyvoice_web.speech import SEED_MAX, AudioChunk, AudioFormat, AudioOutput, Samples, SpeechRequest
from tests.service.conftest import Serve
from tests.service.fakes import RATE_HZ, ScriptedEngine, raising, tone, wait_until, yielding

HELLO = SpeechRequest("Hello there.")
FOUR = SpeechRequest("This is the first line.\nHere is a second line.\nThen a third line.\nAnd a fourth line.")


def decode(data: bytes) -> tuple[Samples, int]:
    samples, rate_hz = soundfile.read(io.BytesIO(data), dtype="float32")
    return samples, rate_hz


@pytest.mark.parametrize("chunk_count", [1, 3])
def test_every_sentence_and_chunk_is_in_the_answer_in_order(serve: Serve, chunk_count: int) -> None:
    engine = ScriptedEngine(chunk_count=chunk_count)
    request = SpeechRequest(FOUR.text, seed=7)
    rendered = serve(engine).render(request, AudioOutput())
    assert len(engine.spoken) == 4
    samples, rate_hz = decode(rendered.data)
    expected = np.concatenate([tone(sentence.text, voice="en_ann", seed=7) for sentence in engine.spoken])
    assert rate_hz == rendered.sample_rate_hz == RATE_HZ
    assert rendered.audio_seconds == len(samples) / rate_hz
    assert np.allclose(samples, expected, atol=1e-4)


def test_a_stream_hands_over_each_chunk_with_the_rate_of_the_engine(serve: Serve) -> None:
    engine = ScriptedEngine(chunk_count=2)
    with serve(engine).speak(FOUR) as stream:
        chunks = list(stream)
        assert [part.text for part in stream.parts] == [sentence.text for sentence in engine.spoken]
    assert len(chunks) == 8
    assert {chunk.sample_rate_hz for chunk in chunks} == {stream.sample_rate_hz} == {RATE_HZ}
    assert list(stream) == []


@pytest.mark.parametrize("audio_format", AudioFormat)
@pytest.mark.parametrize("sample_rate_hz", [None, 8_000, 22_050, 48_000])
def test_the_answer_has_the_asked_format_and_rate_and_the_same_duration(
    engine: ScriptedEngine, serve: Serve, audio_format: AudioFormat, sample_rate_hz: int | None
) -> None:
    rendered = serve(engine).render(FOUR, AudioOutput(audio_format, sample_rate_hz))
    samples, rate_hz = decode(rendered.data)
    assert rate_hz == rendered.sample_rate_hz == (sample_rate_hz or RATE_HZ)
    assert rendered.audio_seconds == pytest.approx(4 * 0.05, abs=0.001)
    assert len(samples) / rate_hz == pytest.approx(rendered.audio_seconds, abs=0.1)
    assert rendered.format is audio_format


@pytest.mark.parametrize(
    ("native", "asked", "given"), [((0.5, 2.0), 2.0, 2.0), ((0.7, 1.25), 1.1, 1.1), ((0.7, 1.25), 2.0, 1.25),
                                   ((0.7, 1.25), 0.5, 0.7), ((1.0, 1.0), 0.5, 1.0)]
)  # fmt: skip
@pytest.mark.parametrize("chunk_count", [1, 4])
def test_speed_scales_the_duration_whatever_the_engine_can_do_itself(
    serve: Serve, native: tuple[float, float], asked: float, given: float, chunk_count: int
) -> None:
    engine = ScriptedEngine(native_speed_range=native, chunk_count=chunk_count)
    rendered = serve(engine).render(SpeechRequest(FOUR.text, speed=asked), AudioOutput())
    assert engine.speeds == [given] * 4
    assert rendered.audio_seconds == pytest.approx(4 * 0.05 / asked, rel=0.02)


def test_a_seed_is_kept_or_drawn_and_always_told(engine: ScriptedEngine, serve: Serve) -> None:
    service = serve(engine)
    assert service.render(SpeechRequest("Hi.", seed=SEED_MAX), AudioOutput()).seed == SEED_MAX
    drawn = [service.render(HELLO, AudioOutput()) for _ in range(5)]
    assert len({rendered.seed for rendered in drawn}) == 5
    again = service.render(SpeechRequest(HELLO.text, seed=drawn[0].seed), AudioOutput())
    assert again.data == drawn[0].data != drawn[1].data
    assert engine.seeds == [SEED_MAX, *(rendered.seed for rendered in drawn), drawn[0].seed]


@pytest.mark.parametrize(
    ("request_", "voice_id"),
    [
        (SpeechRequest("你好，很高兴认识你。"), "zh_mei"),
        (SpeechRequest("Good morning to you."), "en_ann"),
        (SpeechRequest("你好，欢迎使用。Hello, and welcome."), "zh_mei"),
        (SpeechRequest("Hello, and welcome. 你好，欢迎使用。"), "en_ann"),
        (SpeechRequest("今天天气很好，我们一起去公园散步。We met Tom."), "zh_mei"),
        (SpeechRequest("好的。We will meet all of them tomorrow in the old town."), "en_ann"),
        (SpeechRequest("Good morning to you.", voice_id="zh_bo"), "zh_bo"),
        (SpeechRequest("12", language="ja"), "ja_yui"),
    ],
)
def test_who_speaks(engine: ScriptedEngine, serve: Serve, request_: SpeechRequest, voice_id: str) -> None:
    voice = serve(engine).render(request_, AudioOutput()).voice
    assert voice is not None
    assert voice.id == voice_id


@pytest.mark.parametrize(
    ("request_", "error", "field"),
    [
        (SpeechRequest(""), NothingToSpeak, "text"),
        (SpeechRequest(" \n\t "), NothingToSpeak, "text"),
        (SpeechRequest("。。。！？"), NothingToSpeak, "text"),
        (SpeechRequest("❤️👨‍👩‍👧😀"), NothingToSpeak, "text"),
        (SpeechRequest("\u200b\u200d\ufeff"), NothingToSpeak, "text"),
        (SpeechRequest("a" * 501), TextTooLong, "text"),
        (SpeechRequest("。" * 501), TextTooLong, "text"),
        (SpeechRequest("Hi.", voice_id="../../etc/passwd"), UnknownVoice, "speaker"),
        (SpeechRequest("Hi.", voice_id=""), UnknownVoice, "speaker"),
        (SpeechRequest("Hi.", speed=0.49), InvalidRequest, "speed"),
        (SpeechRequest("Hi.", speed=2.01), InvalidRequest, "speed"),
        (SpeechRequest("Hi.", speed=float("nan")), InvalidRequest, "speed"),
        (SpeechRequest("Hi.", seed=-1), InvalidRequest, "seed"),
        (SpeechRequest("Hi.", seed=SEED_MAX + 1), InvalidRequest, "seed"),
    ],
)
def test_what_cannot_be_spoken_is_refused_before_the_engine_hears_of_it(
    engine: ScriptedEngine, serve: Serve, request_: SpeechRequest, error: type[Exception], field: str
) -> None:
    with pytest.raises(error) as refusal:
        serve(engine).speak(request_)
    assert refusal.value.field == field  # type: ignore[attr-defined]
    assert engine.spoken == []


def test_an_unknown_voice_is_answered_with_the_known_ones(engine: ScriptedEngine, serve: Serve) -> None:
    with pytest.raises(UnknownVoice, match="zh_mei, zh_bo, en_ann, ja_yui"):
        serve(engine).speak(SpeechRequest("Hi.", voice_id="alloy"))


def test_a_language_that_the_engine_lacks_is_refused(engine: ScriptedEngine, serve: Serve) -> None:
    with pytest.raises(UnsupportedLanguage):
        serve(engine).speak(SpeechRequest("Hi.", language="ko"))
    assert engine.spoken == []


def test_a_rate_that_the_format_lacks_is_refused_before_anything_is_spoken(
    engine: ScriptedEngine, serve: Serve
) -> None:
    with pytest.raises(InvalidRequest, match="11025"):
        serve(engine).render(HELLO, AudioOutput(AudioFormat.MP3, 11_111))
    assert engine.spoken == []


def test_an_engine_may_return_any_iterator_and_is_told_to_stop(engine: ScriptedEngine, serve: Serve) -> None:
    class Chunks:
        closed = False

        def __iter__(self) -> Iterator[AudioChunk]:
            return self

        def __next__(self) -> AudioChunk:
            return AudioChunk(np.full(10, np.nan, np.float32), RATE_HZ)

        def close(self) -> None:
            self.closed = True

    chunks = Chunks()
    engine.work = lambda *args: chunks  # type: ignore[method-assign]
    with pytest.raises(NonFiniteAudio):
        serve(engine).render(HELLO, AudioOutput())
    assert chunks.closed


NOT_A_NUMBER = tone("x")
NOT_A_NUMBER[600] = np.nan
LOUD = np.array([1.0, 1.2, -1.2, 0.0] * 300, np.float32)


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (yielding(), NoSpeechProduced),
        (yielding(np.zeros(0, np.float32)), NoSpeechProduced),
        (yielding(np.zeros(24_000, np.float32)), NoSpeechProduced),
        (yielding(tone("good"), NOT_A_NUMBER), NonFiniteAudio),
        (yielding(np.full(100, np.inf, np.float32)), NonFiniteAudio),
        (raising(TokenBudgetSpent("no end")), TokenBudgetSpent),
        (raising(ValueError("secret text")), SynthesisError),
        (raising(KeyError("訇")), SynthesisError),
        (raising(MemoryError()), SynthesisError),
        (raising(StopIteration()), SynthesisError),
    ],
)
@pytest.mark.parametrize("speed", [1.0, 2.0])
def test_bad_sound_in_any_sentence_is_an_error_and_the_next_request_is_served(
    serve: Serve, behaviour: object, error: type[CosyVoiceWebError], speed: float, caplog: pytest.LogCaptureFixture
) -> None:
    engine = ScriptedEngine(native_speed_range=(0.7, 1.25))
    engine.on("third", behaviour)  # type: ignore[arg-type]
    service = serve(engine)
    with pytest.raises(error) as failure:
        service.render(SpeechRequest(FOUR.text, speed=speed), AudioOutput())
    assert type(failure.value) is error
    assert "secret" not in str(failure.value)
    assert "secret" not in caplog.text
    assert "訇" not in caplog.text
    assert len(engine.spoken) == 3
    assert engine.iterators_ended == 3
    assert service.render(HELLO, AudioOutput()).audio_seconds > 0
    assert service.status().ready


def test_loud_sound_is_clipped_and_sent(engine: ScriptedEngine, serve: Serve) -> None:
    engine.on("Hello", yielding(LOUD))
    samples, _ = decode(serve(engine).render(HELLO, AudioOutput()).data)
    assert np.allclose(samples, np.clip(LOUD, -1, 1), atol=1e-4)


def test_requests_leave_nothing_behind_however_they_end(serve: Serve, request: pytest.FixtureRequest) -> None:
    engine = ScriptedEngine(chunk_count=3)
    engine.on("boom", raising(RuntimeError("boom")))
    engine.on("silent", lambda sentence: iter([np.zeros(1000, np.float32)]))
    service = serve(engine)
    left: list[weakref.ref[object]] = []
    gc.collect()
    gc.disable()  # audio that waits for the collector is a leak: it sees few objects, however large they are
    request.addfinalizer(gc.enable)
    for text in ("All good.", "It goes boom.", "It is silent.", "All left. Nobody hears this."):
        stream = service.speak(SpeechRequest(text))
        left += [weakref.ref(stream), weakref.ref(stream._utterance)]
        try:
            for chunk in stream:
                left.append(weakref.ref(chunk.samples))
                if "left" in text:
                    break
        except SynthesisError:
            pass
        stream.close()
        del stream, chunk
    stream = service.speak(HELLO)
    left.append(weakref.ref(stream._utterance))
    assert len(list(stream)) == 3
    del stream
    wait_until(lambda: all(reference() is None for reference in left))
    assert service._room.is_empty


def test_the_log_says_one_line_a_request_and_never_what_was_said(
    engine: ScriptedEngine, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    service = serve(engine)
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "cosyvoice_web.service"):
        service.render(SpeechRequest("Secret words."), AudioOutput())
        with pytest.raises(UnknownVoice):
            service.render(SpeechRequest("Secret words.", voice_id="nobody"), AudioOutput())
    done, refused = (record.getMessage() for record in caplog.records)
    assert "outcome=done voice=en_ann" in done
    assert "parts=1" in done
    assert "outcome=unknown_voice" in refused
    assert "Secret" not in caplog.text
