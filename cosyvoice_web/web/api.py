"""The JSON API: POST /tts, POST /warmup, GET /voices (docs/http-api.md)."""

import logging
import threading
import time
from dataclasses import asdict

from flask import Blueprint, Response, g, jsonify, request

from cosyvoice_web.errors import ServiceBusy
from cosyvoice_web.web.connection import client_left
from cosyvoice_web.web.parsing import parse_speech, read_fields
from cosyvoice_web.web.responses import audio_response
from cosyvoice_web.web.wiring import service, settings

logger = logging.getLogger(__name__)

api = Blueprint("api", __name__)
speech = Blueprint("speech", __name__)
"""The routes that cost computing time; they have a rate limit of their own."""

WARMUP_WAITERS_MAX = 2
_warmup_places = threading.BoundedSemaphore(WARMUP_WAITERS_MAX)


@api.get("/voices")
def voices() -> Response:
    """Every voice of the loaded engine, in the order of its menu."""
    return jsonify({"voices": [asdict(voice) for voice in service().voices()]})


@speech.post("/tts")
def speak() -> Response:
    """One text in, one finished audio file out."""
    wanted, output = parse_speech(read_fields(request))
    rendered = service().render(wanted, output, client_left(request.environ))
    who = rendered.voice.id if rendered.voice else "recording"
    logger.info(
        "request %s: %d characters, voice %s, %.2f s of audio in %.2f s%s",
        g.request_id, len(wanted.text), who, rendered.audio_seconds, rendered.synthesis_seconds,
        f": {wanted.text!r}" if settings().log_text else "",
    )  # fmt: skip
    return audio_response(wanted.text, rendered)


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
