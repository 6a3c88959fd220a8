from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosyvoice_web.errors import InvalidRequest, RequestError, UnsupportedFormat
from cosyvoice_web.speech import AudioFormat, AudioOutput, ConversionRequest, SpeechRequest, VoicePrompt
from cosyvoice_web.web.parsing import (
    CONVERSION_FIELDS,
    SPEECH_FIELDS,
    parse_conversion,
    parse_speech,
    parse_stream,
)


def speech(**fields: object) -> SpeechRequest:
    return parse_speech({"text": "Hello."} | fields)[0]


def output(**fields: object) -> AudioOutput:
    return parse_speech({"text": "Hello.", **fields})[1]


def test_text_alone_gets_the_defaults() -> None:
    assert parse_speech({"text": "你好"}) == (SpeechRequest("你好"), AudioOutput(AudioFormat.WAV, None))


def test_every_field_arrives() -> None:
    assert parse_speech(
        {
            "text": "Hi",
            "speaker": "中文女",
            "language": "zh-CN",
            "speed": 1.5,
            "format": "MP3",
            "sample_rate": 16000,
            "seed": 4294967295,
            "instruct_text": "Softly.",
        }
    ) == (SpeechRequest("Hi", "中文女", "zh", 1.5, 4294967295, None, "Softly."), AudioOutput(AudioFormat.MP3, 16000))


@pytest.mark.parametrize("nothing", [None, ""])
@pytest.mark.parametrize("name", [name for name in SPEECH_FIELDS if name != "text"])
def test_null_and_the_empty_string_mean_the_default(name: str, nothing: object) -> None:
    assert parse_speech({"text": "Hi", name: nothing}) == parse_speech({"text": "Hi"})


@pytest.mark.parametrize("value", [0.5, 2, 2.0, "0.5", " 1.0 ", "1e0"])
def test_speed_takes_numbers_and_their_spelling(value: object) -> None:
    assert speech(speed=value).speed == float(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [
        *(0, 0.49, 2.01, 3.0, -1, 10**400, float("nan"), float("inf")),
        *("fast", "1,5", "１", "1_0", "nan", "inf", "9" * 400),
        *(True, False, [], {}, [1.0]),
    ],
)
def test_a_speed_that_is_no_number_in_range_is_refused(value: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        speech(speed=value)
    assert caught.value.field == "speed"


@pytest.mark.parametrize("value", [7999, 48001, 22050.5, 0, -1])
def test_a_sample_rate_out_of_range_is_refused_with_the_range(value: object) -> None:
    with pytest.raises(InvalidRequest, match="8000 to 48000") as caught:
        output(sample_rate=value)
    assert caught.value.field == "sample_rate"


@pytest.mark.parametrize("value", ["x", True, [16000]])
def test_a_sample_rate_that_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(InvalidRequest, match="must be a number"):
        output(sample_rate=value)


def test_a_sample_rate_may_be_written_as_text_or_with_a_zero_fraction() -> None:
    assert output(sample_rate="22050").sample_rate_hz == output(sample_rate=22050.0).sample_rate_hz == 22050


@pytest.mark.parametrize("value", [-1, 2**32, 0.5, "0x10", True])
def test_a_seed_out_of_range_is_refused(value: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        speech(seed=value)
    assert caught.value.field == "seed"


def test_an_unknown_format_is_refused_with_the_list() -> None:
    with pytest.raises(UnsupportedFormat, match="wav, flac, ogg, mp3"):
        output(format="aiff")


@pytest.mark.parametrize("value", ["english please", "z", "../zh", 5])
def test_a_language_that_is_no_tag_is_refused(value: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        speech(language=value)
    assert caught.value.field == "language"


@pytest.mark.parametrize("fields", [{}, {"text": None}, {"speed": 1}])
def test_a_missing_text_is_named(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="text is missing") as caught:
        parse_speech(fields)
    assert caught.value.field == "text"


@pytest.mark.parametrize("value", [123, True, ["a"], {"a": 1}, b"a"])
def test_text_must_be_a_string(value: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        speech(text=value)
    assert caught.value.field == "text"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("voice", "speaker"),
        ("Speaker", "speaker"),
        ("spped", "speed"),
        ("response_format", "format"),
        ("txt", "text"),
        ("samplerate", "sample_rate"),
        ("lang", "language"),
        ("input", "text"),
        ("prompt_wav", "prompt_audio"),
        ("prompt_txt", "prompt_text"),
        ("instruct", "instruct_text"),
    ],
)
def test_a_name_that_is_meant_for_a_field_is_refused_with_the_right_one(wrong: str, right: str) -> None:
    with pytest.raises(InvalidRequest, match=f"did you mean {right!r}") as caught:
        speech(**{wrong: "x"})
    assert caught.value.field == wrong


@pytest.mark.parametrize("name", ["model", "pitch", "emotion", "csrf_token", "submit"])
def test_other_unknown_fields_are_ignored(name: str) -> None:
    assert speech(**{name: [True]}) == SpeechRequest("Hello.")


# --- recordings, styles, conversion, streams ---


def test_a_recording_is_the_voice_with_its_text_or_without() -> None:
    assert speech(prompt_audio=b"wav", prompt_text="It is me.").prompt == VoicePrompt(b"wav", "It is me.")
    for blank in (None, "", "  \n"):
        assert speech(prompt_audio=b"wav", prompt_text=blank).prompt == VoicePrompt(b"wav", None)


def test_the_text_of_no_recording_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="prompt_audio, which is missing") as caught:
        speech(prompt_text="It is me.")
    assert caught.value.field == "prompt_text"


@pytest.mark.parametrize("value", ["UklGRg==", 5, True, ["a"], {}])
@pytest.mark.parametrize(("name", "parse"), [("prompt_audio", parse_speech), ("source_audio", parse_conversion)])
def test_a_recording_that_is_no_file_is_refused(name: str, parse: Callable[..., object], value: object) -> None:
    with pytest.raises(InvalidRequest, match="multipart") as caught:
        parse({"text": "Hi.", name: value})
    assert caught.value.field == name


def test_an_empty_file_is_refused_rather_than_another_voice_heard() -> None:
    with pytest.raises(InvalidRequest, match="prompt_audio is empty"):
        speech(prompt_audio=b"")


@pytest.mark.parametrize("name", ["speaker", "language", "speed", "seed", "prompt_text", "instruct_text", "format"])
def test_a_file_where_something_else_is_expected_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_speech({"text": "Hello.", name: b"wav"})
    assert caught.value.field == name


@pytest.mark.parametrize(
    ("value", "meant"),
    [(True, True), (False, False), ("true", True), (" False ", False), (None, False), ("", False)],
)
def test_stream_is_true_or_false(value: object, meant: bool) -> None:
    assert parse_stream({"stream": value}) is meant


@pytest.mark.parametrize("value", [1, 0, "1", "yes", "on", [], [True], {}, b"true"])
def test_another_stream_is_refused(value: object) -> None:
    with pytest.raises(InvalidRequest, match="must be true or false") as caught:
        parse_stream({"stream": value})
    assert caught.value.field == "stream"


def test_a_conversion_gets_every_field() -> None:
    fields = {"source_audio": b"wav", "speaker": "a", "speed": "2", "seed": 3, "format": "ogg", "sample_rate": 8000}
    encoded = AudioOutput(AudioFormat.OGG, 8000)
    assert parse_conversion(fields) == (ConversionRequest(b"wav", "a", 2.0, 3, None), encoded)
    fields = {"source_audio": b"wav", "prompt_audio": b"me", "text": "ignored"}
    assert parse_conversion(fields) == (ConversionRequest(b"wav", prompt=VoicePrompt(b"me")), AudioOutput())


def test_a_conversion_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="source_audio is missing") as caught:
        parse_conversion({"speaker": "a"})
    assert caught.value.field == "source_audio"


@pytest.mark.parametrize(
    ("wrong", "right"), [("source_wav", "source_audio"), ("voice", "speaker"), ("samplerate", "sample_rate")]
)
def test_a_misspelt_field_of_a_conversion_is_refused(wrong: str, right: str) -> None:
    with pytest.raises(InvalidRequest, match=f"did you mean {right!r}"):
        parse_conversion({"source_audio": b"wav", wrong: "x"})


_VALUE = st.binary(max_size=3) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(fields=st.dictionaries(st.sampled_from([*SPEECH_FIELDS, *CONVERSION_FIELDS]), _VALUE))
@pytest.mark.parametrize(("required", "parse"), [("text", parse_speech), ("source_audio", parse_conversion)])
def test_any_values_end_in_a_request_or_in_a_named_error(
    fields: dict[str, Any], required: str, parse: Callable[..., tuple[SpeechRequest | ConversionRequest, AudioOutput]]
) -> None:
    try:
        wanted, _ = parse(fields)
    except RequestError as error:
        assert error.field in fields or error.field == required  # noqa: PT017 - both outcomes are legal
    else:
        assert 0.5 <= wanted.speed <= 2.0
        assert wanted.seed is None or 0 <= wanted.seed < 2**32
