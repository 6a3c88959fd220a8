"""The only table from exceptions to HTTP statuses, and the one shape of every error.

That is `{"error": {"code", "message", "field", "request_id"}}`; `field` is null where no field is to blame.
"""

import logging
import traceback
from collections.abc import Mapping
from http import HTTPStatus

from flask import Flask, Response, g, jsonify, request
from flask_limiter import RateLimitExceeded
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from cosyvoice_web import errors
from cosyvoice_web.web.rate_limits import RateLimits

logger = logging.getLogger(__name__)

CLIENT_CLOSED_REQUEST = 499  # what nginx writes into its log; nobody is left to read it

STATUS_OF: Mapping[type[errors.CosyVoiceWebError], int] = {
    errors.InvalidRequest: 400,
    errors.NothingToSpeak: 400,
    errors.TextTooLong: 413,
    errors.UnknownVoice: 400,
    errors.UnsupportedLanguage: 400,
    errors.UnsupportedFormat: 400,
    errors.RateLimited: 429,
    errors.ServiceBusy: 503,
    errors.DeadlineExceeded: 504,
    errors.EngineNotReady: 503,
    errors.EngineFailed: 503,
    errors.ShuttingDown: 503,
    errors.NoSpeechProduced: 500,
    errors.TokenBudgetSpent: 500,
    errors.NonFiniteAudio: 500,
    errors.ClientGone: CLIENT_CLOSED_REQUEST,
}
"""Leaf classes only. CheckpointError and ConfigurationError are missing on purpose: they end before a request can meet
them, as EngineFailed or as a server that does not start."""


def register_error_handlers(app: Flask, rate_limits: RateLimits) -> None:
    """Answer every exception in the one shape."""

    def on_limit(_: RateLimitExceeded) -> Response:
        return _our_error(rate_limits.error())

    app.register_error_handler(RateLimitExceeded, on_limit)
    app.register_error_handler(errors.CosyVoiceWebError, _our_error)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _unexpected)


def status_of(error: errors.CosyVoiceWebError) -> int:
    """The status of an error: that of the nearest class in the table, 500 where there is none."""
    return next((STATUS_OF[kind] for kind in type(error).__mro__ if kind in STATUS_OF), 500)


def error_body(code: str, message: str, field: str | None = None) -> dict[str, object]:
    """The one shape."""
    return {"error": {"code": code, "message": message, "field": field, "request_id": g.request_id}}


def _our_error(error: errors.CosyVoiceWebError) -> Response:
    status = status_of(error)
    response = jsonify(error_body(error.code, str(error), getattr(error, "field", None)))
    response.status_code = status
    retry_after_seconds = getattr(error, "retry_after_seconds", None)
    if retry_after_seconds is not None:
        response.headers["Retry-After"] = str(retry_after_seconds)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.error("request %s: %s", g.request_id, _without_messages(error))
    return response


def _http_error(error: HTTPException) -> Response | HTTPException:
    status = error.code or 500
    if status < HTTPStatus.BAD_REQUEST:
        return error  # a redirect is no error
    code, message = _words(error, status)
    response = jsonify(error_body(code, message))
    response.status_code = status
    for name, value in error.get_headers():
        if name.lower() != "content-type":
            response.headers[name] = value  # Allow of a 405, for one
    return response


def _words(error: HTTPException, status: int) -> tuple[str, str]:
    if status == HTTPStatus.NOT_FOUND:
        return "not_found", "There is nothing at this address."
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        return "method_not_allowed", f"This address does not take {request.method}: see the header Allow."
    if status == HTTPStatus.UNSUPPORTED_MEDIA_TYPE:
        return "unsupported_media_type", error.description or "This content type is not accepted."
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        by_size = error.description == RequestEntityTooLarge.description  # else bodies.py says what is too much
        limit = f"The body is too large: the limit is {request.max_content_length} bytes."
        return "body_too_large", limit if by_size else error.description or limit
    return HTTPStatus(status).phrase.lower().replace(" ", "_"), error.description or HTTPStatus(status).phrase


def _unexpected(error: Exception) -> Response:
    logger.error("request %s: unexpected %s", g.request_id, _without_messages(error))
    message = "Something went wrong inside the server. Its log has the details under the request_id."
    response = jsonify(error_body("internal_error", message))
    response.status_code = 500
    return response


def _without_messages(error: BaseException) -> str:
    """A traceback without the exceptions' own words: they may quote what a user wrote."""
    lines: list[str] = []
    link: BaseException | None = error
    while link is not None:
        lines.append("".join([f"{type(link).__qualname__}\n", *traceback.format_tb(link.__traceback__)]).rstrip())
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return "\ncaused by ".join(lines)
