"""A real server for measurements: gunicorn with the project's own configuration, on a free loopback port."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WAV_HEADER_BYTES = 44
ROOT = Path(__file__).resolve().parent.parent
UNLIMITED = {
    "COSYVOICE_RATE_LIMIT_DEFAULT": "1000000 per minute",
    "COSYVOICE_RATE_LIMIT_TTS": "1000000 per minute",
}


@dataclass
class Answer:
    """One HTTP answer; `headers` have lower-case names."""

    status: int
    headers: dict[str, str]
    body: bytes
    seconds: float


@dataclass
class RunningServer:
    """The process and what was seen while it started; seconds count from the start of the process."""

    process: subprocess.Popen[bytes]
    base_url: str
    seconds_to_healthy: float = 0.0
    seconds_to_ready: float = 0.0
    _started: float = field(default_factory=time.perf_counter)

    def call(self, path: str, body: Mapping[str, Any] | None = None, timeout_seconds: float = 300) -> Answer:
        """GET `path`, or POST `body` as JSON."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.base_url + path, data, {"Content-Type": "application/json"} if data else {}
        )
        start = time.perf_counter()
        try:
            with urllib.request.urlopen(request, timeout=timeout_seconds) as answer:
                status, headers, content = answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            status, headers, content = error.code, error.headers, error.read()
        return Answer(status, {k.lower(): v for k, v in headers.items()}, content, time.perf_counter() - start)

    def first_audio_seconds(self, text: str) -> float:
        """Seconds from asking for a WAV stream until samples arrive after its header."""
        data = json.dumps({"text": text, "stream": True}).encode()
        request = urllib.request.Request(self.base_url + "/tts", data, {"Content-Type": "application/json"})
        start = time.perf_counter()
        with urllib.request.urlopen(request, timeout=300) as answer:
            answer.read(WAV_HEADER_BYTES + 2)
            seconds = time.perf_counter() - start
            answer.read()
        return seconds

    def wait_for(self, path: str, limit_seconds: float) -> float:
        """Seconds from the process's start until `path` answers 200."""
        while time.perf_counter() - self._started < limit_seconds:
            with contextlib.suppress(OSError):
                if self.call(path, timeout_seconds=5).status == 200:
                    return time.perf_counter() - self._started
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with status {self.process.returncode} before {path} answered")
            time.sleep(0.02)
        raise TimeoutError(f"{path} did not answer 200 within {limit_seconds} s")

    def worker_pid(self) -> int:
        """Process id of the gunicorn worker."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0])

    def worker_memory_mb(self) -> dict[str, float]:
        """Resident memory of the worker in MB: {"now": ..., "peak": ...}."""
        status = Path(f"/proc/{self.worker_pid()}/status").read_text()
        values = dict(line.split(":", 1) for line in status.splitlines())
        return {"now": int(values["VmRSS"].split()[0]) / 1024, "peak": int(values["VmHWM"].split()[0]) / 1024}


@contextlib.contextmanager
def running_server(environment: Mapping[str, str] | None = None, limit_seconds: float = 120) -> Iterator[RunningServer]:
    """Start a server, wait until it is ready, stop it with SIGTERM at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "--config", "gunicorn.conf.py", "app:app"]
    env = {**os.environ, **UNLIMITED, "PORT": str(port), **(environment or {})}
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server = RunningServer(process, f"http://127.0.0.1:{port}")
    try:
        server.seconds_to_healthy = server.wait_for("/healthz", limit_seconds)
        server.seconds_to_ready = server.wait_for("/readyz", limit_seconds)
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
