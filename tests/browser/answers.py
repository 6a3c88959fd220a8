"""Answers that stand in for the server's, where a test needs a state that cannot be had on demand."""

import io
import json
import wave

from playwright.sync_api import Page, Route

READY = {"status": "ready", "state": "ready", "reason": None}


def tone(seconds: float = 2.0) -> bytes:
    """A WAV file."""
    rate_hz = 8_000
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(b"\x00\x10\x00\xf0" * int(seconds * rate_hz / 2))
    return buffer.getvalue()


def speaks(page: Page, *, speaker: str = "zf_xiaoxiao", name: str = "hello.wav") -> None:
    """Answer /tts with two seconds of tone, at once."""
    headers = {
        "Content-Type": "audio/wav",
        "Content-Disposition": f"attachment; filename=\"plain.wav\"; filename*=UTF-8''{name}",
        "X-Speaker": speaker,
        "X-Audio-Seconds": "2.000",
        "X-Synthesis-Seconds": "0.800",
        "X-Real-Time-Factor": "0.400",
        "X-Seed": "17",
    }
    page.route("**/tts", lambda route: route.fulfill(status=200, headers=headers, body=tone()))


def refuses(page: Page, status: int, code: str, *, retry_after: int | None = None, message: str = "No.") -> None:
    """Answer /tts with an error of the API's shape."""
    headers = {"Content-Type": "application/json"} | ({"Retry-After": str(retry_after)} if retry_after else {})
    body = {"error": {"code": code, "message": message, "field": None, "request_id": "request-17"}}
    page.route("**/tts", lambda route: route.fulfill(status=status, headers=headers, body=json.dumps(body)))


def hangs(page: Page) -> None:
    """Never answer /tts."""
    page.route("**/tts", lambda route: None)


def readiness(page: Page, state: str, reason: str | None = None) -> None:
    """Answer /readyz with this state from now on."""

    def answer(route: Route) -> None:
        body = READY if state == "ready" else {"status": "not_ready", "state": state, "reason": reason}
        status = 200 if state == "ready" else 503
        route.fulfill(status=status, content_type="application/json", body=json.dumps(body))

    page.unroute("**/readyz")
    page.route("**/readyz", answer)
