import json
from typing import Any

import pytest
from flask import Flask, Request
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.datastructures import Headers
from werkzeug.exceptions import RequestEntityTooLarge, UnsupportedMediaType
from werkzeug.test import EnvironBuilder

from cosyvoice_web.errors import RequestError
from cosyvoice_web.web.bodies import FIELD_COUNT_MAX, read_fields
from cosyvoice_web.web.parsing import parse_speech

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=b"
UPLOAD_BYTES = 100_000
APP = Flask(__name__)


def fields_of(body: bytes | str, content_type: str | None, headers: dict[str, str] | None = None) -> dict[str, Any]:
    data = body.encode() if isinstance(body, str) else body
    environ = EnvironBuilder(
        method="POST", data=data, content_type=content_type, headers=Headers(headers or {})
    ).get_environ()
    with APP.app_context():
        return read_fields(Request(environ), UPLOAD_BYTES)


def multipart(*parts: tuple[str, bytes]) -> bytes:
    """A body of parts, each its Content-Disposition after `form-data; ` and its content."""
    heads = ((f"--b\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode(), data) for head, data in parts)
    return b"".join(head + data + b"\r\n" for head, data in heads) + b"--b--\r\n"


def refused(body: bytes | str, content_type: str = "application/json") -> RequestError:
    with pytest.raises(RequestError) as caught:
        parse_speech(fields_of(body, content_type))
    return caught.value


def test_the_three_body_types_mean_the_same() -> None:
    wanted = {"text": "你好 & goodbye", "speed": "1.25"}
    as_json = fields_of(json.dumps(wanted), "application/json; charset=utf-8")
    as_form = fields_of("text=%E4%BD%A0%E5%A5%BD+%26+goodbye&speed=1.25", FORM)
    parts = "".join(
        f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in wanted.items()
    )
    as_multipart = fields_of(parts + "--b--\r\n", "multipart/form-data; boundary=b")
    assert as_json == as_form == as_multipart == wanted


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


@pytest.mark.parametrize("body", ['{"text\\ud800": "Hi"}', '{"\\ud800": 1, "\\ud800": 2}'])
def test_lone_surrogates_in_names_are_refused(body: str) -> None:
    error = refused(body)
    assert "surrogate" in str(error)
    assert error.field is None


@pytest.mark.parametrize("content_type", ["APPLICATION/JSON", "Application/Json; Charset=UTF-8"])
def test_content_types_have_no_case(content_type: str) -> None:
    assert fields_of(b'{"text": "a"}', content_type) == {"text": "a"}


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


def test_a_file_is_its_bytes_whatever_it_is_called_and_whatever_is_in_it() -> None:
    data = bytes(range(256)) * 40 + b"\r\n--b\r\n"[:-3] + b"\r\n-b--\r\n"
    for name in ("a.wav", "../../etc/passwd", "\u4f60.wav", "x" * 500):
        body = multipart(('name="text"', b"Hi."), (f'name="prompt_audio"; filename="{name}"', data))
        assert fields_of(body, MULTIPART) == {"text": "Hi.", "prompt_audio": data}


def test_a_line_break_counts_once_in_the_forms_of_a_browser_as_in_json() -> None:
    assert fields_of(multipart(('name="text"', b"a\r\nb")), MULTIPART) == {"text": "a\nb"}
    assert fields_of("text=a%0D%0Ab", FORM) == {"text": "a\nb"}
    data = b"\r\n\r\n"
    assert fields_of(multipart(('name="prompt_audio"; filename="a"', data)), MULTIPART) == {"prompt_audio": data}


def test_a_browser_in_which_no_file_was_chosen_sends_none() -> None:
    nothing, empty = ('name="prompt_audio"; filename=""', b""), ('name="prompt_audio"; filename="a.wav"', b"")
    assert fields_of(multipart(nothing), MULTIPART) == {}
    assert fields_of(multipart(empty), MULTIPART) == {"prompt_audio": b""}


def test_a_file_that_comes_twice_is_refused() -> None:
    part = ('name="prompt_audio"; filename="a.wav"', b"x")
    assert refused(multipart(part, part), MULTIPART).field == "prompt_audio"


def test_a_file_where_text_is_expected_is_refused() -> None:
    body = multipart(('name="text"; filename="../../x"', b"a"))
    assert refused(body, MULTIPART).field == "text"
    assert "is a file" in str(refused(body, MULTIPART))


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
    with pytest.raises(RequestEntityTooLarge, match=f"limit is {FIELD_COUNT_MAX}"):
        fields_of("&".join(f"f{n}=1" for n in range(FIELD_COUNT_MAX + 1)), FORM)
    parts = "".join(
        f'--b\r\nContent-Disposition: form-data; name="f{n}"\r\n\r\n1\r\n' for n in range(FIELD_COUNT_MAX + 1)
    )
    with pytest.raises(RequestEntityTooLarge, match=f"limit is {FIELD_COUNT_MAX}"):
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
