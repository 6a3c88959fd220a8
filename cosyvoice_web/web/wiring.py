"""What the routes share within one application: its settings and its service."""

from flask import Flask, current_app

from cosyvoice_web.service.speech_service import SpeechService
from cosyvoice_web.settings import Settings


def wire(app: Flask, settings: Settings, service: SpeechService) -> None:
    """Attach both to the application; gunicorn.conf.py finds the service here too."""
    app.extensions["settings"] = settings
    app.extensions["speech_service"] = service


def service() -> SpeechService:
    """The service of the current application."""
    found = current_app.extensions["speech_service"]
    assert isinstance(found, SpeechService)  # noqa: S101 - set by wire
    return found


def settings() -> Settings:
    """The settings of the current application."""
    found = current_app.extensions["settings"]
    assert isinstance(found, Settings)  # noqa: S101 - set by wire
    return found
