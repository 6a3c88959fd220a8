"""Builds the Flask application from settings and a service."""

import re
import uuid
from http import HTTPStatus
from pathlib import Path

from flask import Flask, Response, g, request

from cosyvoice_web.service.speech_service import SpeechService
from cosyvoice_web.settings import Settings
from cosyvoice_web.web.api import api, speech
from cosyvoice_web.web.connection import give_up_stalled, read_rest
from cosyvoice_web.web.error_handlers import register_error_handlers
from cosyvoice_web.web.health import health
from cosyvoice_web.web.pages import pages
from cosyvoice_web.web.proxies import TrustedProxies
from cosyvoice_web.web.rate_limits import RateLimits
from cosyvoice_web.web.responses import add_security_headers
from cosyvoice_web.web.wiring import wire

ROOT = Path(__file__).resolve().parents[2]
"""The folder of app.py, templates/ and static/."""

_SAFE_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


def create_app(settings: Settings, service: SpeechService) -> Flask:
    """The application; it starts nothing, and several may live in one process."""
    app = Flask(__name__, template_folder=str(ROOT / "templates"), static_folder=str(ROOT / "static"))
    app.config["MAX_CONTENT_LENGTH"] = settings.max_body_bytes
    app.json.ensure_ascii = False  # type: ignore[attr-defined]  # of DefaultJSONProvider: voices have Chinese names
    wire(app, settings, service)

    app.before_request(_set_request_id)  # first, because errors quote it
    app.before_request(lambda: give_up_stalled(request.environ, settings.request_timeout_seconds))
    rate_limits = RateLimits(app, settings.rate_limit_default)
    rate_limits.limit(speech, settings.rate_limit_tts)
    rate_limits.exempt(health)  # a probe that is refused restarts the container
    register_error_handlers(app, rate_limits)
    for blueprint in (pages, api, speech, health):
        app.register_blueprint(blueprint)
    app.after_request(_hear_out_before_refusing)
    app.after_request(_add_request_id)
    app.after_request(add_security_headers)

    if settings.trusted_proxy_hops:
        app.wsgi_app = TrustedProxies(app.wsgi_app, settings.trusted_proxy_hops)  # type: ignore[method-assign]
    return app


def _set_request_id() -> None:
    given = request.headers.get("X-Request-Id", "")
    g.request_id = given if _SAFE_REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def _hear_out_before_refusing(response: Response) -> Response:
    if response.status_code >= HTTPStatus.BAD_REQUEST:
        read_rest(request.environ)
    return response


def _add_request_id(response: Response) -> Response:
    response.headers["X-Request-Id"] = g.request_id
    return response
