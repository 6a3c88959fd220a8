"""gunicorn as a subprocess, with the repository's own configuration file."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60.0
CONFIG = ("-c", "gunicorn.conf.py")


@dataclass
class Answer:
    """Status, headers, body."""

    status_code: int
    headers: Mapping[str, str]
    data: bytes

    @property
    def content_type(self) -> str:
        return self.headers["Content-Type"]

    def get_json(self) -> Any:
        return json.loads(self.data)


class Server:
    """A server that runs; `script` is the folder that its engine reads (scripted_app.py)."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int, script: Path, log: Path) -> None:
        self.process = process
        self.port = port
        self.script = script
        self._log = log

    @property
    def log(self) -> str:
        """Everything it has written so far."""
        return self._log.read_text(encoding="utf-8")

    def connect(self, timeout_seconds: float = 120.0) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_seconds)

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        return exchange(self.connect(), "GET", path, None, headers or {})

    def post(self, path: str, fields: Mapping[str, object] | None = None) -> Answer:
        body = json.dumps(fields or {}).encode()
        return exchange(self.connect(), "POST", path, body, {"Content-Type": "application/json"})

    def until(self, wanted: Mapping[str, object], seconds: float = 30.0) -> None:
        """Wait until /healthz shows what is wanted."""
        deadline = time.monotonic() + seconds
        while True:
            seen = self.get("/healthz").get_json()
            if all(seen[name] == value for name, value in wanted.items()):
                return
            assert time.monotonic() < deadline, f"wanted {wanted}, the server shows {seen}"

    def let(self, name: str) -> None:
        """Let the script go on."""
        (self.script / name).touch()


def exchange(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: Any,
    headers: Mapping[str, str],
    keep: bool = False,
) -> Answer:
    """One request and its answer; `keep` leaves the connection open."""
    try:
        connection.request(method, path, body, dict(headers))
        response = connection.getresponse()
        return Answer(response.status, dict(response.headers.items()), response.read())
    finally:
        if not keep:
            connection.close()


@contextmanager
def stream(server: Server, **fields: object) -> Iterator[http.client.HTTPResponse]:
    """Ask for a stream; given when its headers are here, and left at the end."""
    with closing(server.connect()) as connection:
        connection.request("POST", "/tts", json.dumps({"stream": True} | fields), {"Content-Type": "application/json"})
        with connection.getresponse() as answer:
            yield answer


def multipart(fields: Mapping[str, str], files: Mapping[str, bytes]) -> tuple[bytes, dict[str, str]]:
    parts = [
        f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()
    ]
    body = "".join(parts).encode()
    for name, data in files.items():
        body += (
            f'--b\r\nContent-Disposition: form-data; name="{name}"; filename="a.wav"\r\n\r\n'.encode() + data + b"\r\n"
        )
    return body + b"--b--\r\n", {"Content-Type": "multipart/form-data; boundary=b"}


def send(
    server: Server, path: str, fields: Mapping[str, str], files: Mapping[str, bytes], *, chunked: bool = False
) -> Answer:
    """Post a multipart form, in one piece or in chunks."""
    body, headers = multipart(fields, files)
    pieces = iter([body[at : at + 10_000] for at in range(0, len(body), 10_000)]) if chunked else body
    return exchange(server.connect(), "POST", path, pieces, headers)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def environment(**settings: object) -> dict[str, str]:
    """The environment of a server; limits are out of the way unless given."""
    values = {"rate_limit_default": "100000 per minute", "rate_limit_tts": "100000 per minute"} | settings
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "MKL_"))}
    return inherited | {f"COSYVOICE_{name.upper()}": str(value) for name, value in values.items()}


@contextmanager
def serving(folder: Path, application: str, *, loaded: bool = True, **settings: object) -> Iterator[Server]:
    """Start a server and wait until it answers; at the end make sure that it is gone."""
    port, log = free_port(), folder / "server.log"
    if loaded:
        (folder / "loaded").touch()
    variables = environment(**settings) | {"PORT": str(port), "SCRIPT_DIR": str(folder)}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", *CONFIG, application],
            cwd=ROOT, env=variables, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
    server = Server(process, port, folder, log)
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                server.get("/healthz")
                break
            except OSError:
                assert process.poll() is None, server.log
                assert time.monotonic() < deadline, server.log
        yield server
    finally:
        for name in ("loaded", "released"):
            server.let(name)
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
