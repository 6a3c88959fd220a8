"""The application with an engine that follows a script, for gunicorn to serve in tests.

Files in the folder SCRIPT_DIR are the script: loading ends when `loaded` exists; a text that contains "hold" is spoken,
chunk after chunk, until `released` exists; a sentence that contains "fail" fails; every other one is one chunk.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from flask import Response, jsonify

from cosyvoice_web.service.speech_service import SpeechService
from cosyvoice_web.settings import load_settings
from cosyvoice_web.speech import AudioChunk, Manner, SpeechMode, Voice
from cosyvoice_web.text.sentences import Sentence
from cosyvoice_web.web.factory import create_app

SCRIPT = Path(os.environ["SCRIPT_DIR"])
RATE_HZ = 24_000
VOICE = Voice("tone", "Tone", "en", "neutral", default=True)


def wait_for(name: str) -> None:
    nothing = threading.Event()
    while not (SCRIPT / name).exists():
        nothing.wait(0.01)


def tone(seconds: float) -> AudioChunk:
    phase = np.arange(round(seconds * RATE_HZ), dtype=np.float32) * (2 * np.pi * 440 / RATE_HZ)
    return AudioChunk((0.3 * np.sin(phase)).astype(np.float32), RATE_HZ)


class ScriptedVoice:
    def announce(self, sentences: Sequence[Sentence], *, seed: int) -> None:
        pass

    def speak(self, sentence: Sentence, *, speed: float, seed: int, stream: bool = False) -> Iterator[AudioChunk]:
        """A tone whose length tells how long the sentence was: 0.1 s a character."""
        if "fail" in sentence.text:
            raise RuntimeError
        holding = "hold" in sentence.text
        while holding and not (SCRIPT / "released").exists():
            (SCRIPT / "speaking").touch()
            threading.Event().wait(0.01)
            yield tone(0.01)
        yield tone(0.1 * len(sentence.text))

    def convert(self, recording: bytes, *, speed: float, seed: int, stream: bool = False) -> Iterator[AudioChunk]:
        """A tone whose length tells how long the recording was: 1 ms a byte."""
        yield tone(0.001 * len(recording))


class ScriptedEngine:
    name = "scripted"
    sample_rate_hz = RATE_HZ
    voices: Sequence[Voice] = (VOICE,)
    languages = frozenset({"en", "zh", "ja"})
    modes = frozenset(SpeechMode)
    native_speed_range = (0.5, 2.0)
    obeys_speech_marks = False

    def default_voice(self, language: str) -> Voice:
        return VOICE

    def check(self, manner: Manner, *, converting: bool = False) -> None:
        pass

    def prepare(self, manner: Manner) -> ScriptedVoice:
        return ScriptedVoice()

    def warm_up(self) -> None:
        pass

    def close(self) -> None:
        pass


def load() -> ScriptedEngine:
    wait_for("loaded")
    return ScriptedEngine()


settings = load_settings(os.environ)
service = SpeechService(
    load,
    max_waiting=settings.max_waiting,
    request_timeout_seconds=settings.request_timeout_seconds,
    max_text_chars=settings.max_text_chars,
)
app = create_app(settings, service)


@app.get("/thread-environment")
def thread_environment() -> Response:
    return jsonify({name: value for name, value in os.environ.items() if name.startswith(("OMP_", "MKL_"))})
