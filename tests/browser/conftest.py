"""Real Chromium against real gunicorn with the embedded voice."""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
READY_WITHIN_SECONDS = 300
PATIENCE_MS = 120_000
"""For real speech on a machine that is busy with other work; nothing waits longer than it must."""
CHROMIUM = "/usr/bin/chromium"
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--autoplay-policy=no-user-gesture-required",
]
# what the browser itself logs for an answer that a test wants to be an error
FAILED_ANSWER = re.compile(r"Failed to load resource: (the server responded with a status of [45]\d\d|net::ERR_)")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url + "readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def served(folder: Path, **settings: object) -> Iterator[str]:
    """Address of a server that is ready, with limits that no test reaches."""
    port = _free_port()
    settings = {"rate_limit_default": "100000 per minute", "rate_limit_tts": "100000 per minute"} | settings
    environ = {name: value for name, value in os.environ.items() if not name.startswith("COSYVOICE_")}
    environ |= {"HOST": "127.0.0.1", "PORT": str(port)}
    environ |= {f"COSYVOICE_{name.upper()}": str(value) for name, value in settings.items()}
    command = [sys.executable, "-m", "gunicorn", "-c", "gunicorn.conf.py", "app:app"]
    url = f"http://127.0.0.1:{port}/"
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=output, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + READY_WITHIN_SECONDS
            while not _is_ready(url):
                if process.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"the server did not become ready:\n{log.read_text(errors='replace')}")
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()
            process.wait(timeout=60)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with the embedded voice."""
    with served(tmp_path_factory.mktemp("server"), engine="kokoro") as url:
        yield url


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser; every page gets a fresh profile."""
    expect.set_options(timeout=PATIENCE_MS)
    environ: dict[str, str | float | bool] = {**os.environ, "TMPDIR": str(tmp_path_factory.mktemp("chromium"))}
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=CHROMIUM_ARGS, env=environ)
        yield found
        found.close()


@dataclass
class Watch:
    """What a page asked for and complained of."""

    requests: list[Request] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def attach(self, page: Page) -> None:
        """Listen to everything from before the first byte of the page."""
        page.add_init_script(
            "addEventListener('securitypolicyviolation', (event) =>"
            " console.error('CSP', event.violatedDirective, event.blockedURI))"
        )
        page.on("request", lambda request: self.requests.append(request))
        page.on("pageerror", self._on_error)
        page.on("console", self._on_console)

    def _on_error(self, error: Error) -> None:
        self.complaints.append(f"uncaught: {error}")

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not FAILED_ANSWER.match(message.text):
            self.complaints.append(f"{message.type}: {message.text}")

    def sent(self, path: str) -> list[Request]:
        """The requests to this path, in order."""
        return [request for request in self.requests if request.url.split("?")[0].endswith(path)]

    def spoken(self) -> list[dict[str, Any]]:
        """The bodies that were posted to /tts."""
        bodies = [request.post_data_json for request in self.sent("tts")]
        return [body for body in bodies if body is not None]


OpenPage = Callable[..., tuple[Page, Watch]]


@pytest.fixture
def open_page(server: str, browser: Browser) -> Iterator[OpenPage]:
    """`open_page(query="", width=1280, **context options)` -> the page when the server is ready, and its watch.

    `go=False` leaves the page blank, for a test that puts routes in place first. No page may have complained at the
    end.
    """
    contexts = []
    watches = []

    def build(query: str = "", *, width: int = 1280, go: bool = True, **options: Any) -> tuple[Page, Watch]:
        options = {"locale": "en-US", "base_url": server, "viewport": {"width": width, "height": 800}} | options
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        watch = Watch()
        watches.append(watch)
        watch.attach(page)
        if go:
            page.goto("./" + query)
            page.wait_for_selector("#state[data-state=ready]")
            page.wait_for_selector("#speaker optgroup", state="attached")
        return page, watch

    yield build
    for context in contexts:
        context.close()
    assert [complaint for watch in watches for complaint in watch.complaints] == []
