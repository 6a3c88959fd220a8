"""Recordings in and streams out, over real gunicorn with a scripted engine."""

import http.client
import io
import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import soundfile

from tests.serving.running import Answer, Server, send, serving, stream
from tests.web.fakes import assert_error_shape

APPLICATION = "tests.serving.scripted_app:app"
UPLOAD_BYTES = 200_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("streaming")
    with serving(folder, APPLICATION, max_body_bytes=4096, max_upload_bytes=UPLOAD_BYTES, max_waiting=0) as server:
        server.until({"ready": True})
        yield server


@pytest.fixture
def free_server(server: Server) -> Server:
    """The server with nothing to do and nothing released."""
    (server.script / "released").unlink(missing_ok=True)
    server.until({"speaking": False})
    return server


def whole(server: Server, text: str) -> bytes:
    with stream(server, text=text) as answer:
        return answer.read()  # IncompleteRead unless the last chunk came


def wav(seconds: float) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, [0.1, -0.1] * round(8_000 * seconds / 2), 8_000, format="WAV")
    return buffer.getvalue()


def test_a_stream_is_chunked_and_one_whole_file(free_server: Server) -> None:
    with stream(free_server, text="One sentence. Another one.") as answer:
        assert answer.status == 200
        assert answer.headers["Transfer-Encoding"] == "chunked"
        assert "Content-Length" not in answer.headers
        data = answer.read()
    assert data[:4] == b"RIFF"
    assert data[4:8] == data[40:44] == b"\xff\xff\xff\xff"
    free_server.until({"speaking": False})
    assert data[44:] == free_server.post("/tts", {"text": "One sentence. Another one."}).data[44:]


def test_the_first_audio_comes_while_the_rest_is_made(free_server: Server) -> None:
    with stream(free_server, text="Please hold. And an end.") as answer:
        assert answer.read(44 + 480)[:4] == b"RIFF"
        assert free_server.get("/healthz").get_json()["speaking"] is True
        free_server.let("released")
        assert len(answer.read()) > 2 * 24_000


def test_an_old_client_without_chunks_gets_the_same_until_the_connection_ends(free_server: Server) -> None:
    body = b'{"text": "One.", "stream": true}'
    head = f"POST /tts HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", free_server.port), 60) as connection:
        connection.sendall(head + body)
        received = b"".join(iter(lambda: connection.recv(65_536), b""))
    headers, _, data = received.partition(b"\r\n\r\n")
    assert b"chunked" not in headers.lower()
    assert data[:4] == b"RIFF"


@pytest.mark.parametrize("text", ["fail at once.", "First this. Then fail at once."])
def test_an_error_before_the_first_audio_is_a_status_and_a_later_one_breaks_the_connection(
    free_server: Server, text: str
) -> None:
    with stream(free_server, text=text) as answer:
        if text.startswith("fail"):
            found = Answer(answer.status, dict(answer.headers.items()), answer.read())
            assert_error_shape(found, 500, "synthesis_failed")
        else:
            assert answer.status == 200
            with pytest.raises(http.client.IncompleteRead) as broken:
                answer.read()
            assert broken.value.partial[:4] == b"RIFF"
            assert len(broken.value.partial) > 24_000
    free_server.until({"speaking": False})
    assert whole(free_server, "One.")[:4] == b"RIFF"


@pytest.mark.parametrize("name", ["ogg", "mp3"])
def test_a_broken_off_stream_of_another_format_is_noticed_too(free_server: Server, name: str) -> None:
    with stream(free_server, text="First a rather long sentence. Then fail at once.", format=name) as answer:
        assert answer.status == 200
        with pytest.raises(http.client.IncompleteRead):
            answer.read()


def test_a_client_that_leaves_stops_the_work_within_a_chunk_and_frees_the_place(free_server: Server) -> None:
    log_length = len(free_server.log)
    with stream(free_server, text="Please hold.") as answer:
        assert answer.read(1_000)[:4] == b"RIFF"
        assert_error_shape(free_server.post("/tts", {"text": "Hi."}), 503, "busy")
    free_server.until({"speaking": False})
    assert not (free_server.script / "released").exists()
    assert whole(free_server, "Next.")[:4] == b"RIFF"
    assert "Traceback" not in free_server.log[log_length:]


def test_a_recording_travels_whole(free_server: Server) -> None:
    recording = wav(5.0)
    for chunked in (False, True):
        answer = send(
            free_server, "/voice-conversion", {"speaker": "tone"}, {"source_audio": recording}, chunked=chunked
        )
        assert answer.status_code == 200
        assert float(answer.headers["X-Audio-Seconds"]) == pytest.approx(0.001 * len(recording), abs=0.001)
        answer = send(
            free_server, "/tts", {"text": "Hi.", "prompt_text": "Me."}, {"prompt_audio": recording}, chunked=chunked
        )
        assert answer.status_code == 200
        assert "X-Speaker" not in answer.headers


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("too_many", [100, 5_000_000])
def test_a_recording_over_the_limit_is_a_413(free_server: Server, chunked: bool, too_many: int) -> None:
    data = bytes(UPLOAD_BYTES + too_many)
    answer = send(free_server, "/voice-conversion", {"speaker": "tone"}, {"source_audio": data}, chunked=chunked)
    assert str(UPLOAD_BYTES) in assert_error_shape(answer, 413, "body_too_large")["message"]


def test_users_recordings_leave_no_files(free_server: Server) -> None:
    before = set(free_server.script.rglob("*"))
    send(free_server, "/voice-conversion", {"speaker": "tone"}, {"source_audio": wav(1.0)})
    assert set(free_server.script.rglob("*")) == before


@pytest.mark.parametrize("streamed", [False, True])
def test_a_client_that_stops_reading_is_cut_off(tmp_path: Path, streamed: bool) -> None:
    """It would hold a thread for ever: an answer of 14 MB does not fit into the buffers between."""
    with serving(tmp_path, APPLICATION, request_timeout_seconds=2) as server, socket.socket() as connection:
        server.until({"ready": True})
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.settimeout(60)
        connection.connect(("127.0.0.1", server.port))
        body = json.dumps({"text": "One sentence here. " * 150, "stream": streamed}).encode()
        head = f"POST /tts HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        assert connection.recv(12) == b"HTTP/1.1 200"
        deadline = time.monotonic() + 60
        while '"POST /tts" 200' not in server.log:  # written when the answer has ended, however it did
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert not server.get("/healthz").get_json()["speaking"]
        received = 0
        with suppress(ConnectionError):
            while piece := connection.recv(1 << 20):
                received += len(piece)
        assert received < 13_000_000


def test_memory_does_not_grow_with_the_length_of_a_stream(tmp_path: Path) -> None:
    with serving(tmp_path, APPLICATION, max_text_chars=100_000, max_body_bytes=1_000_000) as server:
        server.until({"ready": True})
        whole(server, "One sentence here. " * 10)
        before = resident_bytes(server)
        received = peak = 0
        with stream(server, text="One sentence here. " * 1_000) as answer:
            while piece := answer.read(1 << 20):
                received += len(piece)
                peak = max(peak, resident_bytes(server))
        assert received > 80_000_000
        assert peak - before < received  # a whole answer is held five times on its way


def resident_bytes(server: Server) -> int:
    """Memory of the worker process."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    (worker,) = children
    status = Path(f"/proc/{worker}/status").read_text()
    return 1024 * int(status.split("VmRSS:")[1].split()[0])
