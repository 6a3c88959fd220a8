"""From the bytes of a request body to a SpeechRequest; everything that can be wrong with them is said here.

One set of rules for JSON, urlencoded and multipart bodies: a body is UTF-8, a field comes once, null and the empty
string mean the default, numbers may be written as strings, true and false are no numbers. Unknown fields are ignored,
so that a client written for a later version works, except names that are plainly meant for one of ours: those are
refused with the right name, because speech in the wrong voice is worse than an error.
"""

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from flask import Request
from werkzeug.exceptions import RequestEntityTooLarge, UnsupportedMediaType
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder

from cosyvoice_web.errors import InvalidRequest, UnsupportedFormat
from cosyvoice_web.speech import (
    AUTO_LANGUAGE,
    SAMPLE_RATE_MAX_HZ,
    SAMPLE_RATE_MIN_HZ,
    SEED_MAX,
    SPEED_MAX,
    SPEED_MIN,
    AudioFormat,
    AudioOutput,
    SpeechRequest,
)

FIELDS = ("text", "speaker", "language", "speed", "format", "sample_rate", "seed")
# what other programs call our fields, where difflib would not find them
FOREIGN_NAMES = {
    "input": "text", "tts_text": "text", "message": "text",
    "voice": "speaker", "voice_id": "speaker", "spk_id": "speaker", "spk": "speaker",
    "lang": "language", "locale": "language",
    "rate": "speed", "response_format": "format", "sampling_rate": "sample_rate",
}  # fmt: skip
ACCEPTED_TYPES = "application/json, application/x-www-form-urlencoded or multipart/form-data"
FIELD_COUNT_MAX = 100
NAME_CHARS_MAX = 200
NUMBER_MAX = 1e15  # whole numbers are exact in a float up to here
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_T = TypeVar("_T")
_LANGUAGE = re.compile(r"([a-z]{2,3}|auto)([-_][a-z0-9_-]{1,30})?", re.ASCII)


def read_fields(request: Request) -> dict[str, Any]:
    """The fields of a body, whatever its type.

    Raises:
        InvalidRequest: not UTF-8, malformed, not one flat set of fields, or a field given twice.
        UnsupportedMediaType: another content type, another charset or a compressed body.
        RequestEntityTooLarge: more bytes or fields than the server takes.
    """
    if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMediaType("Compressed request bodies are not accepted: send the body as it is.")
    mimetype, options = parse_options_header(request.headers.get("Content-Type", ""))
    charset = options.get("charset", "utf-8").lower()
    if charset not in ("utf-8", "utf8", "us-ascii", "ascii"):
        raise UnsupportedMediaType(f"The body is declared as {charset[:40]}: send UTF-8.")
    if mimetype == "application/json" or (mimetype.startswith("application/") and mimetype.endswith("+json")):
        return _json_fields(_body(request))
    if mimetype == "application/x-www-form-urlencoded":
        return _urlencoded_fields(_body(request))
    if mimetype == "multipart/form-data":
        return _multipart_fields(_body(request), options.get("boundary", ""))
    given = f"Content-Type {mimetype[:80]!r}" if mimetype else "A body without Content-Type"
    raise UnsupportedMediaType(f"{given} is not accepted: send {ACCEPTED_TYPES}.")


def parse_speech(fields: Mapping[str, Any]) -> tuple[SpeechRequest, AudioOutput]:
    """Check every field and its range; what only the engine knows (voices, languages, text length) is not checked here.

    Raises:
        InvalidRequest: a field is missing, of the wrong kind or out of range; `field` names it.
        UnsupportedFormat: an audio format without an encoder.
    """
    refuse_misspelt(fields, FIELDS, FOREIGN_NAMES)
    text = fields.get("text")
    if text is None:
        raise InvalidRequest(f"The field text is missing.{_json_hint(fields)}", "text")
    speech = SpeechRequest(
        text=_string("text", text),
        voice_id=_optional(fields, "speaker", _name),
        language=_optional(fields, "language", _language) or AUTO_LANGUAGE,
        speed=_speed(fields),
        seed=_optional(fields, "seed", lambda name, value: _integer(name, value, 0, SEED_MAX)),
    )
    rate_hz = _optional(
        fields, "sample_rate", lambda name, value: _integer(name, value, SAMPLE_RATE_MIN_HZ, SAMPLE_RATE_MAX_HZ)
    )
    audio_format = _optional(fields, "format", _format) or AudioFormat.WAV
    return speech, AudioOutput(audio_format, rate_hz)


def refuse_misspelt(fields: Iterable[str], known: Iterable[str], foreign: Mapping[str, str]) -> None:
    """Raise InvalidRequest for an unknown field whose name is plainly meant for a known one."""
    known = tuple(known)
    for name in fields:
        if name in known:
            continue
        word = name.strip().lower()
        near = [word] if word in known else difflib.get_close_matches(word, known, n=1, cutoff=0.8)
        meant = foreign.get(word) or (near[0] if near else None)
        if meant is not None:
            raise InvalidRequest(f"There is no field {name[:40]!r}: did you mean {meant!r}?", name[:40])


def _body(request: Request) -> bytes:
    body = request.get_data(cache=False)
    # A chunked body is cut at the limit without a word: see whether there was more.
    if request.content_length is None and len(body) == request.max_content_length and request.input_stream.read(1):
        raise RequestEntityTooLarge
    return body


def _decode(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidRequest("The body is not UTF-8: encode the text as UTF-8 before sending it.") from None


def _json_fields(body: bytes) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return _once(pairs)

    def no_constant(name: str) -> float:
        raise InvalidRequest(f"{name} is not a number that JSON knows: send a finite number.")

    text = _decode(body)
    try:
        fields = json.loads(text, object_pairs_hook=unique, parse_constant=no_constant)
    except RecursionError:
        raise InvalidRequest("The JSON body is nested too deeply: send one flat object.") from None
    except json.JSONDecodeError as error:
        raise InvalidRequest(
            f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except ValueError:  # a whole number of thousands of digits
        raise InvalidRequest("The JSON body holds a number that is too long.") from None
    if not isinstance(fields, dict):
        raise InvalidRequest('The JSON body is not an object: send {"text": "..."}.')
    return fields


def _urlencoded_fields(body: bytes) -> dict[str, Any]:
    text = _decode(body)
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=FIELD_COUNT_MAX)
    except UnicodeDecodeError:
        raise InvalidRequest("The form is not UTF-8: percent-encode the UTF-8 bytes of the text.") from None
    except ValueError:
        raise RequestEntityTooLarge(f"The form has more than {FIELD_COUNT_MAX} fields.") from None
    return _once(pairs)


def _multipart_fields(body: bytes, boundary: str) -> dict[str, Any]:
    pairs: list[tuple[str, str]] = []
    try:
        decoder = MultipartDecoder(boundary.encode("ascii"), max_parts=FIELD_COUNT_MAX)
        decoder.receive_data(body)
        decoder.receive_data(None)
        name, value = "", b""
        while not isinstance(event := decoder.next_event(), Epilogue):
            if isinstance(event, File):
                raise InvalidRequest("A field of the form is a file: send its content as text.", event.name)
            if isinstance(event, Field):
                name, value = event.name or "", b""
            elif isinstance(event, Data):
                value += event.data
                if not event.more_data:
                    pairs.append((name, _decode(value)))
    except ValueError:  # the decoder says no more; an incomplete body raises it too
        raise InvalidRequest("The multipart body is malformed or incomplete.") from None
    return _once(pairs)


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise InvalidRequest(f"The field {name[:40]!r} is given twice: send it once.", name[:40])
        fields[name] = value
    return fields


def _json_hint(fields: Mapping[str, Any]) -> str:
    if any(name.lstrip().startswith("{") for name in fields):
        return " The body looks like JSON: send the header Content-Type: application/json."
    return ""


def _optional(fields: Mapping[str, Any], name: str, parse: Callable[[str, Any], _T]) -> _T | None:
    value = fields.get(name)
    if value is None or value == "":
        return None
    return parse(name, value)


def _string(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(f"The field {name} must be a string.", name)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidRequest(
            f"The field {name} holds half of a character (a lone UTF-16 surrogate): send whole characters.", name
        ) from None
    return value


def _name(name: str, value: Any) -> str:
    word = _string(name, value)
    if len(word) > NAME_CHARS_MAX:
        raise InvalidRequest(f"The field {name} is longer than {NAME_CHARS_MAX} characters.", name)
    return word


def _language(name: str, value: Any) -> str:
    match = _LANGUAGE.fullmatch(_name(name, value).strip().lower())
    if match is None:
        raise InvalidRequest(f"The field {name} must be auto or a language code such as zh, en, ja or zh-CN.", name)
    return match[1]


def _format(name: str, value: Any) -> AudioFormat:
    word = _name(name, value).strip().lower()
    for audio_format in AudioFormat:
        if word == audio_format.suffix:
            return audio_format
    raise UnsupportedFormat(word, [audio_format.suffix for audio_format in AudioFormat], name)


def _number(name: str, value: Any) -> float:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()) is not None:
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidRequest(f"The field {name} must be a number.", name)
    if not abs(value) < NUMBER_MAX:  # NaN fails this too
        raise InvalidRequest(f"The field {name} must be a finite number below {NUMBER_MAX:g}.", name)
    return value


def _speed(fields: Mapping[str, Any]) -> float:
    speed = _optional(fields, "speed", _number)
    if speed is None:
        return 1.0
    if not SPEED_MIN <= speed <= SPEED_MAX:
        raise InvalidRequest(f"The field speed must be from {SPEED_MIN} to {SPEED_MAX}; it is {speed:g}.", "speed")
    return float(speed)


def _integer(name: str, value: Any, low: int, high: int) -> int:
    number = _number(name, value)
    if number != int(number) or not low <= number <= high:
        raise InvalidRequest(f"The field {name} must be a whole number from {low} to {high}.", name)
    return int(number)
