"""A hub that speaks the Hugging Face protocol on this machine, and can be told to misbehave."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE_BYTES = 10_000


class FakeHub:
    """Serves one repository from a folder. `cut_after`: name -> bytes after which the connection breaks, once."""

    def __init__(self, repository: str, folder: Path) -> None:
        self.repository = repository
        self.folder = folder
        self.cut_after: dict[str, int] = {}
        self.replaced: dict[str, bytes] = {}
        self.gets: list[tuple[str, int]] = []
        self.tokens_seen: list[str] = []
        self.url = ""

    def files(self) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = []
        for path in sorted(self.folder.iterdir()):
            content = path.read_bytes()
            entry: dict[str, Any] = {"rfilename": path.name, "size": len(content), "blobId": git_hash(content)}
            if len(content) >= LARGE_BYTES:
                digest = hashlib.sha256(content).hexdigest()
                entry["lfs"] = {"sha256": digest, "size": len(content), "pointerSize": 135}
            entries.append(entry)
        return entries


def git_hash(content: bytes) -> str:
    return hashlib.sha1(f"blob {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()


@contextmanager
def running(hub: FakeHub) -> Iterator[FakeHub]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer(is_head=True)

        def do_GET(self) -> None:
            self.answer(is_head=False)

        def answer(self, *, is_head: bool) -> None:
            hub.tokens_seen += self.headers.get_all("Authorization", [])
            path = unquote(urlsplit(self.path).path)
            if path.startswith(f"/api/models/{hub.repository}"):
                body = {"id": hub.repository, "sha": COMMIT, "siblings": hub.files(), "private": False}
                self.reply(200, json.dumps(body).encode(), {"Content-Type": "application/json"}, is_head=is_head)
            elif path.startswith(f"/{hub.repository}/resolve/"):
                self.file(path.rpartition("/")[2], is_head=is_head)
            else:
                self.reply(404, b"{}", {"X-Error-Code": "RepoNotFound"}, is_head=is_head)

        def file(self, name: str, *, is_head: bool) -> None:
            whole = (hub.folder / name).read_bytes()
            etag = hashlib.sha256(whole).hexdigest() if len(whole) >= LARGE_BYTES else git_hash(whole)
            content = hub.replaced.get(name, whole)
            start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
            headers = {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
            if start:
                headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            if not is_head:
                hub.gets.append((name, start))
            self.reply(
                206 if start else 200,
                content[start:],
                headers,
                is_head=is_head,
                cut=None if is_head else hub.cut_after.pop(name, None),
            )

        def reply(
            self, status: int, body: bytes, headers: dict[str, str], *, is_head: bool, cut: int | None = None
        ) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if not is_head:
                self.wfile.write(body[:cut])
            self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
