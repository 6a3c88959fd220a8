"""Builds everything once: settings -> engine -> service -> Flask application.

Nothing heavy happens here: gunicorn.conf.py calls `service.start()` in the worker, which then loads the engine in the
background.
"""

import logging
import os
import sys

from cosyvoice_web.engines import load_engine
from cosyvoice_web.errors import ConfigurationError
from cosyvoice_web.service.speech_service import SpeechService
from cosyvoice_web.settings import load_settings
from cosyvoice_web.web.factory import create_app

logging.basicConfig(
    level=logging.INFO, stream=sys.stderr, format="[%(asctime)s] [%(process)d] [%(levelname)s] %(name)s: %(message)s"
)

try:
    settings = load_settings(os.environ)
except ConfigurationError as error:
    sys.exit(f"Error: {error}")

service = SpeechService(
    lambda: load_engine(settings),
    max_waiting=settings.max_waiting,
    request_timeout_seconds=settings.request_timeout_seconds,
    max_text_chars=settings.max_text_chars,
)
app = create_app(settings, service)
