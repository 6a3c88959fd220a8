"""Probes. They are never rate limited, and answer while the engine loads, speaks or has failed."""

from flask import Blueprint, Response, jsonify

from cosyvoice_web.web.error_handlers import error_body
from cosyvoice_web.web.wiring import service

health = Blueprint("health", __name__)

RETRY_AFTER_SECONDS = 2
"""How soon to ask again for readiness: loading takes seconds."""


@health.get("/healthz")
def alive() -> Response:
    """The process is alive: always 200. Whether it can speak is /readyz's answer."""
    status = service().status()
    return jsonify(
        {
            "status": "ok",
            "state": status.state.value,
            "model_loaded": status.model_loaded,
            "ready": status.ready,
            "engine": status.engine,
            "speaking": status.speaking,
            "waiting": status.waiting,
            "load_seconds": status.load_seconds,
        }
    )


@health.get("/readyz")
def ready() -> Response:
    """200 once the engine is loaded and has spoken its first words; else 503 with the state and the reason."""
    status = service().status()
    answer: dict[str, object] = {
        "status": "ready" if status.ready else "not_ready",
        "state": status.state.value,
        "reason": status.reason,
        "engine": status.engine,
    }
    if status.ready:
        return jsonify(answer)
    message = f"The server cannot speak now (state: {status.state.value})."
    if status.reason:
        message += f" {status.reason}"
    response = jsonify(answer | error_body("not_ready", message))
    response.status_code = 503
    response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response
