"""Answers: finished audio with its headers, and the headers that every answer carries."""

import errno
import logging
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import quote

from flask import Response, g

from cosyvoice_web.errors import ClientGone, CosyVoiceWebError
from cosyvoice_web.service.encoded_stream import EncodedStream
from cosyvoice_web.speech import RenderedSpeech

logger = logging.getLogger(__name__)

FILE_NAME_CHARS_MAX = 40
FALLBACK_NAME = "speech"

# Windows cannot store files of these names
_RESERVED_NAME = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)

SECURITY_HEADERS = {
    # Everything comes from this server; the player's sound is a Blob. Nothing inline, nothing framed.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self' blob:; "
        "connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def add_security_headers(response: Response) -> Response:
    """Add what a route has not set itself."""
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def audio_response(text: str, speech: RenderedSpeech) -> Response:
    """The audio of a finished answer; all headers are known before the first byte, Content-Length among them."""
    response = Response(speech.data, content_type=speech.format.media_type)
    factor = speech.synthesis_seconds / speech.audio_seconds if speech.audio_seconds else 0.0
    response.headers.update(
        _known_headers(text, speech)
        | {
            "X-Audio-Seconds": f"{speech.audio_seconds:.3f}",
            "X-Synthesis-Seconds": f"{speech.synthesis_seconds:.3f}",
            "X-Real-Time-Factor": f"{factor:.3f}",
        }
    )
    return response


def stream_response(text: str, speech: EncodedStream) -> Response:
    """The audio of an answer that is still being made, with the headers that are known before the first byte.

    An error from here on breaks the connection off, so that the client sees that the file is not whole.
    """
    request_id = g.request_id

    def pieces() -> Iterator[bytes]:
        try:
            yield from speech
        except CosyVoiceWebError as error:
            # A client that left may only have closed its sending side and still read: for it too a tidy end would say
            # that the file is whole. At this error gunicorn closes the connection, and logs no traceback and no text.
            if not isinstance(error, ClientGone):
                logger.warning("request %s: its stream is broken off: %s", request_id, error.code)
            raise BrokenPipeError(errno.EPIPE, error.code) from None

    response = Response(pieces(), content_type=speech.format.media_type)
    response.headers.update(_known_headers(text, speech))
    response.headers["X-Accel-Buffering"] = "no"  # nginx would hold the first words back
    response.call_on_close(speech.close)
    return response


def _known_headers(text: str, speech: RenderedSpeech | EncodedStream) -> dict[str, str]:
    headers = {
        "Content-Disposition": content_disposition(text, speech.format.suffix),
        "X-Sample-Rate": str(speech.sample_rate_hz),
        "X-Seed": str(speech.seed),
    }
    if speech.voice is not None:
        headers["X-Speaker"] = quote(speech.voice.id, safe="")
    return headers


def content_disposition(text: str, suffix: str) -> str:
    """A download name from the first words of a text, in ASCII and in UTF-8 (RFC 6266: clients prefer the latter).

    Only letters, marks and digits survive, so nothing of the text can end the header or leave the folder.
    """
    name = _file_name(text)
    plain = _file_name(unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii"))
    return f"attachment; filename=\"{plain}.{suffix}\"; filename*=UTF-8''{quote(name, safe='')}.{suffix}"


def _file_name(text: str) -> str:
    kept = "".join(char if unicodedata.category(char)[0] in "LMN" else " " for char in text[: 4 * FILE_NAME_CHARS_MAX])
    name = ""
    for word in kept.split():
        longer = f"{name}-{word}" if name else word
        if name and len(longer) > FILE_NAME_CHARS_MAX:
            break
        name = longer[:FILE_NAME_CHARS_MAX]
    if not name or _RESERVED_NAME.fullmatch(name):
        return FALLBACK_NAME
    return name
