import json
from typing import Any

import pytest
from flask import Flask, Request
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.datastructures import Headers
from werkzeug.exceptions import RequestEntityTooLarge, UnsupportedMediaType
from werkzeug.test import EnvironBuilder

from cosyvoice_web.errors import InvalidRequest, RequestError, UnsupportedFormat
from cosyvoice_web.speech import AudioFormat, AudioOutput, SpeechRequest
from cosyvoice_web.web.parsing import FIELD_COUNT_MAX, parse_speech, read_fields

FORM = "application/x-www-form-urlencoded"
APP = Flask(__name__)


def fields_of(body: bytes | str, content_type: str | None, headers: dict[str, str] | None = None) -> dict[str, Any]:
    data = body.encode() if isinstance(body, str) else body
    environ = EnvironBuilder(
        method="POST", data=data, content_type=content_type, headers=Headers(headers or {})
    ).get_environ()
    with APP.app_context():
        return read_fields(Request(environ))


def refused(body: bytes | str, content_type: str = "application/json") -> RequestError:
    with pytest.raises(RequestError) as caught:
        parse_speech(fields_of(body, content_type))
    return caught.value


def speech(**fields: object) -> SpeechRequest:
    return parse_speech({"text": "Hello.", **fields})[0]


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
        }
    ) == (SpeechRequest("Hi", "中文女", "zh", 1.5, 4294967295), AudioOutput(AudioFormat.MP3, 16000))


@pytest.mark.parametrize("nothing", [None, ""])
@pytest.mark.parametrize("name", ["speaker", "language", "speed", "format", "sample_rate", "seed"])
def test_null_and_the_empty_string_mean_the_default(name: str, nothing: object) -> None:
    assert parse_speech({"text": "Hi", name: nothing}) == parse_speech({"text": "Hi"})


def test_the_three_body_types_mean_the_same() -> None:
    wanted = {"text": "你好 & goodbye", "speed": "1.25"}
    as_json = fields_of(json.dumps(wanted), "application/json; charset=utf-8")
    as_form = fields_of("text=%E4%BD%A0%E5%A5%BD+%26+goodbye&speed=1.25", FORM)
    parts = "".join(
        f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in wanted.items()
    )
    as_multipart = fields_of(parts + "--b--\r\n", "multipart/form-data; boundary=b")
    assert as_json == as_form == as_multipart == wanted


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


@pytest.mark.parametrize("body", ["{}", '{"text": null}', '{"speed": 1}'])
def test_a_missing_text_is_named(body: str) -> None:
    assert refused(body).field == "text"


@pytest.mark.parametrize("value", ["123", "true", '["a"]', '{"a": 1}'])
def test_text_must_be_a_string(value: str) -> None:
    assert refused(f'{{"text": {value}}}').field == "text"


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
    ],
)
def test_a_name_that_is_meant_for_a_field_is_refused_with_the_right_one(wrong: str, right: str) -> None:
    with pytest.raises(InvalidRequest, match=f"did you mean {right!r}") as caught:
        speech(**{wrong: "x"})
    assert caught.value.field == wrong


@pytest.mark.parametrize("name", ["stream", "model", "pitch", "emotion", "csrf_token", "submit"])
def test_other_unknown_fields_are_ignored(name: str) -> None:
    assert speech(**{name: [True]}) == SpeechRequest("Hello.")


# --- bodies that are broken ---


@pytest.mark.parametrize(
    "body",
    [
        *("{", "", "nonsense", '{"text": "a"} {"text": "b"}', "{'text': 'a'}", '{"text": "a\nb"}', '{"text": "\\ud"}'),
        *('{"text": "a", "speed": NaN}', '{"text": "a", "speed": -Infinity}', '{"seed": ' + "9" * 5000 + "}"),
    ],
)
def test_broken_json_is_refused(body: str) -> None:
    refused(body)


@pytest.mark.parametrize("body", ["[]", '"text"', "1", "null", '[{"text": "a"}]'])
def test_json_that_is_no_object_is_refused(body: str) -> None:
    assert "not an object" in str(refused(body))


@pytest.mark.parametrize("body", ["[" * 100_000, '{"a":' * 100_000, '{"text": ' + "[" * 50_000 + "]" * 50_000 + "}"])
def test_deep_nesting_is_refused(body: str) -> None:
    assert "nested too deeply" in str(refused(body))


def test_a_field_that_comes_twice_is_refused_in_every_body_type() -> None:
    assert refused('{"text": "a", "text": "b"}').field == "text"
    assert refused("text=a&text=%0A%0A", FORM).field == "text"
    part = '--b\r\nContent-Disposition: form-data; name="text"\r\n\r\na\r\n'
    assert refused(part + part + "--b--\r\n", "multipart/form-data; boundary=b").field == "text"


@pytest.mark.parametrize("text", ['"\\ud800"', '"a\\udfffb"', '"\\udc00\\ud800"'])
def test_lone_surrogates_are_refused(text: str) -> None:
    assert "surrogate" in str(refused(f'{{"text": {text}}}'))


def test_an_escaped_pair_of_surrogates_is_one_character() -> None:
    assert parse_speech(fields_of('{"text": "\\ud83d\\ude00"}', "application/json"))[0].text == "😀"


GBK = "你好，世界".encode("gbk")


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"text": "' + GBK + b'"}', "application/json"),
        ('{"text": "你好"}'.encode("utf-16"), "application/json"),
        (b"text=" + GBK, FORM),
        (b"text=" + b"".join(b"%%%02X" % byte for byte in GBK), FORM),
        (
            b'--b\r\nContent-Disposition: form-data; name="text"\r\n\r\n' + GBK + b"\r\n--b--\r\n",
            "multipart/form-data; boundary=b",
        ),
    ],
    ids=["json", "utf-16", "form", "percent", "multipart"],
)
def test_a_body_that_is_not_utf_8_is_refused(body: bytes, content_type: str) -> None:
    assert "not UTF-8" in str(refused(body, content_type))


def test_a_byte_order_mark_is_no_part_of_the_json() -> None:
    assert fields_of(b'\xef\xbb\xbf{"text": "a"}', "application/json") == {"text": "a"}


@pytest.mark.parametrize(
    ("content_type", "headers"),
    [
        (None, {}),
        ("text/plain", {}),
        ("application/octet-stream", {}),
        ("application/json; charset=gbk", {}),
        ("application/json", {"Content-Encoding": "gzip"}),
    ],
)
def test_other_content_types_are_refused(content_type: str | None, headers: dict[str, str]) -> None:
    with pytest.raises(UnsupportedMediaType) as caught:
        fields_of(b'{"text": "a"}', content_type, headers)
    assert caught.value.description


def test_json_sent_as_a_form_gets_a_hint() -> None:
    assert "Content-Type: application/json" in str(refused('{"text": "a"}', FORM))


def test_a_file_in_a_form_is_refused() -> None:
    body = '--b\r\nContent-Disposition: form-data; name="text"; filename="../../x"\r\n\r\na\r\n--b--\r\n'
    assert refused(body, "multipart/form-data; boundary=b").field == "text"


@pytest.mark.parametrize(
    "body",
    [
        b"nothing",
        b"--b\r\n\r\na\r\n--b--\r\n",
        b'--b\r\nContent-Disposition: form-data; name="text"\r\n\r\na',
        b'--b\r\nContent-Disposition: form-data; name="\xff"\r\n\r\na\r\n--b--\r\n',
    ],
)
def test_a_broken_multipart_body_is_refused(body: bytes) -> None:
    assert "multipart" in str(refused(body, "multipart/form-data; boundary=b"))


@pytest.mark.parametrize("content_type", ["multipart/form-data", "multipart/form-data; boundary=é"])
def test_a_multipart_body_needs_a_boundary(content_type: str) -> None:
    assert "multipart" in str(refused(b"--b--\r\n", content_type))


def test_a_form_of_very_many_fields_is_refused() -> None:
    with pytest.raises(RequestEntityTooLarge):
        fields_of("&".join(f"f{n}=1" for n in range(FIELD_COUNT_MAX + 1)), FORM)
    parts = "".join(
        f'--b\r\nContent-Disposition: form-data; name="f{n}"\r\n\r\n1\r\n' for n in range(FIELD_COUNT_MAX + 1)
    )
    with pytest.raises(RequestEntityTooLarge):
        fields_of(parts + "--b--\r\n", "multipart/form-data; boundary=b")


@given(
    body=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)),
    content_type=st.sampled_from(["application/json", FORM, "multipart/form-data; boundary=b"]),
    wrapped=st.booleans(),
)
def test_no_body_makes_the_parser_fail_in_another_way(body: bytes, content_type: str, wrapped: bool) -> None:
    if wrapped:
        body = b'--b\r\nContent-Disposition: form-data; name="text"\r\n\r\n' + body + b"\r\n--b--\r\n"
    try:
        parse_speech(fields_of(body, content_type))
    except (RequestError, RequestEntityTooLarge):
        return
    # what is accepted holds a text field
    assert b"text" in body or content_type == FORM


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(fields=st.dictionaries(st.sampled_from(["text", "speaker", "language", "speed", "format", "seed"]), _JSON))
def test_any_json_values_end_in_a_request_or_in_a_named_error(fields: dict[str, Any]) -> None:
    try:
        wanted, _ = parse_speech(fields)
    except RequestError as error:
        assert error.field in fields or error.field == "text"  # noqa: PT017 - both outcomes are legal
    else:
        assert 0.5 <= wanted.speed <= 2.0
        assert wanted.seed is None or 0 <= wanted.seed < 2**32
