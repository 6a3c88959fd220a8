"""From the bytes of a request body to its fields.

One set of rules for JSON, urlencoded and multipart bodies: a body is UTF-8 and a field comes once. A value is what JSON
can hold, a string, or, for a file of a multipart body, its bytes; the file's name and type are what the client says of
it and are never looked at.
"""

import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl

from flask import Request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge, UnsupportedMediaType
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder

from cosyvoice_web.errors import InvalidRequest

ACCEPTED_TYPES = "application/json, application/x-www-form-urlencoded or multipart/form-data"
FIELD_COUNT_MAX = 100
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
TOO_MANY_FIELDS = f"The form has too many fields: the limit is {FIELD_COUNT_MAX}."


def read_fields(request: Request, max_upload_bytes: int) -> dict[str, Any]:
    """The fields of a body, whatever its type.

    A multipart body, which may hold recordings, may have `max_upload_bytes`, any other the application's
    MAX_CONTENT_LENGTH.

    Raises:
        InvalidRequest: not UTF-8, malformed, not one flat set of fields, or a field given twice.
        UnsupportedMediaType: another content type, another charset or a compressed body.
        RequestEntityTooLarge: more bytes or fields than the server takes.
    """
    if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMediaType("Compressed request bodies are not accepted: send the body as it is.")
    mimetype, options = parse_options_header(request.headers.get("Content-Type", ""))
    mimetype, charset = mimetype.lower(), options.get("charset", "utf-8").lower()
    if charset not in ("utf-8", "utf8", "us-ascii", "ascii"):
        raise UnsupportedMediaType(f"The body is declared as {charset[:40]}: send UTF-8.")
    if mimetype == "application/json" or (mimetype.startswith("application/") and mimetype.endswith("+json")):
        return _json_fields(_body(request))
    if mimetype == "application/x-www-form-urlencoded":
        return _urlencoded_fields(_body(request))
    if mimetype == "multipart/form-data":
        request.max_content_length = max_upload_bytes
        return _multipart_fields(_body(request), options.get("boundary", ""))
    given = f"Content-Type {mimetype[:80]!r}" if mimetype else "A body without Content-Type"
    raise UnsupportedMediaType(f"{given} is not accepted: send {ACCEPTED_TYPES}.")


def _body(request: Request) -> bytes:
    try:
        body = request.get_data(cache=False)
    except HTTPException:
        raise
    except Exception as error:
        raise InvalidRequest("The body did not arrive whole, or its chunks are malformed: send it again.") from error
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
        for name, _ in pairs:
            if _LONE_SURROGATE.search(name):
                raise InvalidRequest("A field name holds half of a character (a lone UTF-16 surrogate).")
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
        raise RequestEntityTooLarge(TOO_MANY_FIELDS) from None
    return _once((name, _one_character_breaks(value)) for name, value in pairs)


def _multipart_fields(body: bytes, boundary: str) -> dict[str, Any]:
    pairs: list[tuple[str, str | bytes]] = []
    try:
        decoder = MultipartDecoder(boundary.encode("ascii"), max_parts=FIELD_COUNT_MAX)
        decoder.receive_data(body)
        decoder.receive_data(None)
        part: Field | File | None = None
        pieces: list[bytes] = []
        while not isinstance(event := decoder.next_event(), Epilogue):
            if isinstance(event, Field | File):
                part, pieces = event, []
            elif isinstance(event, Data) and part is not None:
                pieces.append(event.data)
                if not event.more_data:
                    pairs.extend(_value_of(part, b"".join(pieces)))
    except RequestEntityTooLarge:
        raise RequestEntityTooLarge(TOO_MANY_FIELDS) from None
    except ValueError:  # the decoder says no more; an incomplete body raises it too
        raise InvalidRequest("The multipart body is malformed or incomplete.") from None
    return _once(pairs)


def _value_of(part: Field | File, data: bytes) -> Iterable[tuple[str, str | bytes]]:
    name = part.name or ""
    if isinstance(part, Field):
        yield name, _one_character_breaks(_decode(data))
    elif data or part.filename:  # a browser sends a nameless, empty file where none was chosen
        yield name, data


def _one_character_breaks(text: str) -> str:
    """Browsers send a line break in a form as two characters, which must not count twice (HTML, 4.10.21.4)."""
    return text.replace("\r\n", "\n")


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise InvalidRequest(f"The field {name[:40]!r} is given twice: send it once.", name[:40])
        fields[name] = value
    return fields
