"""The API: POST /tts, POST /voice-conversion, POST /warmup, GET /voices (docs/http-api.md)."""

import logging
import threading
import time
from dataclasses import asdict

from flask import Blueprint, Response, g, jsonify, request

from cosyvoice_web.errors import ServiceBusy
from cosyvoice_web.speech import AudioOutput, ConversionRequest, SpeechRequest, Voice
from cosyvoice_web.web.bodies import read_fields
from cosyvoice_web.web.connection import client_left
from cosyvoice_web.web.parsing import parse_conversion, parse_speech, parse_stream
from cosyvoice_web.web.responses import audio_response, stream_response
from cosyvoice_web.web.wiring import service, settings

logger = logging.getLogger(__name__)

api = Blueprint("api", __name__)
speech = Blueprint("speech", __name__)
"""The routes that cost computing time; they have a rate limit of their own."""

WARMUP_WAITERS_MAX = 2
_warmup_places = threading.BoundedSemaphore(WARMUP_WAITERS_MAX)


@api.get("/voices")
def voices() -> Response:
    """Every voice of the loaded engine, in the order of its menu, and what may be asked of it."""
    found = service().voices()
    status = service().status()
    return jsonify(
        {
            "voices": [asdict(voice) for voice in found],
            "modes": [mode.value for mode in status.modes],
            "languages": list(status.languages),
        }
    )


@speech.post("/tts")
def speak() -> Response:
    """One text in, one audio file out."""
    fields = read_fields(request, settings().max_upload_bytes)
    wanted, output = parse_speech(fields)
    return _answer(wanted, output, wanted.text, stream=parse_stream(fields))


@speech.post("/voice-conversion")
def convert() -> Response:
    """One recording in, one audio file in another voice out."""
    fields = read_fields(request, settings().max_upload_bytes)
    wanted, output = parse_conversion(fields)
    return _answer(wanted, output, "", stream=parse_stream(fields))


def _answer(wanted: SpeechRequest | ConversionRequest, output: AudioOutput, text: str, *, stream: bool) -> Response:
    words = f": {text!r}" if settings().log_text and text else ""
    if stream:
        streamed = service().stream(wanted, output, client_left(request.environ))
        who = _name(streamed.voice)
        logger.info("request %s: %d characters, voice %s, streaming%s", g.request_id, len(text), who, words)
        return stream_response(text, streamed)
    rendered = service().render(wanted, output, client_left(request.environ))
    logger.info(
        "request %s: %d characters, voice %s, %.2f s of audio in %.2f s%s",
        g.request_id, len(text), _name(rendered.voice), rendered.audio_seconds, rendered.synthesis_seconds, words,
    )  # fmt: skip
    return audio_response(text, rendered)


def _name(voice: Voice | None) -> str:
    return voice.id if voice else "recording"


@speech.post("/warmup")
def warm_up() -> Response:
    """Wait until the engine is loaded and has spoken; at once when it already has.

    Only a few may wait at a time: each holds a thread, and the probes need some too.
    """
    if not _warmup_places.acquire(blocking=False):
        raise ServiceBusy("Others are waiting for the engine already: ask /readyz instead.", retry_after_seconds=5)
    started = time.monotonic()
    try:
        load_seconds = service().warm_up()
    finally:
        _warmup_places.release()
    return jsonify(
        {
            "state": service().status().state.value,
            "seconds": round(load_seconds, 3),
            "waited_seconds": round(time.monotonic() - started, 3),
        }
    )
