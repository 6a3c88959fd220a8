"""Real gunicorn, the real configuration file, a scripted engine."""

import http.client
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.serving.running import Server, exchange, serving
from tests.web.fakes import assert_error_shape

APPLICATION = "tests.serving.scripted_app:app"
JSON = {"Content-Type": "application/json"}
MAX_WAITING = 3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the tests that leave it as they found it; its home folder is `home` beside the script."""
    script = tmp_path_factory.mktemp("script")
    (script / "home").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(script / "home"))
        with serving(script, APPLICATION, max_body_bytes=4096, num_threads=3, max_text_chars=500) as server:
            server.until({"ready": True})
            yield server


def test_speech_arrives_whole(server: Server) -> None:
    answer = server.post("/tts", {"text": "Hello there."})
    assert answer.status_code == 200
    assert answer.content_type == "audio/wav"
    assert int(answer.headers["Content-Length"]) == len(answer.data)
    assert answer.data[:4] == b"RIFF"
    assert int.from_bytes(answer.data[4:8], "little") == len(answer.data) - 8


def test_numeric_libraries_get_the_threads_of_the_setting(server: Server) -> None:
    seen = server.get("/thread-environment").get_json()
    assert seen["OMP_NUM_THREADS"] == seen["MKL_NUM_THREADS"] == "3"
    assert seen["OMP_WAIT_POLICY"] == "PASSIVE"


def test_a_chunked_body_is_read(server: Server) -> None:
    chunks = iter([b'{"text": ', '"你好。"}'.encode()])
    assert exchange(server.connect(), "POST", "/tts", chunks, JSON).status_code == 200


@pytest.mark.parametrize("size", ["zz", "-5"])
def test_a_body_with_malformed_chunks_is_a_400(server: Server, size: str) -> None:
    with socket.create_connection(("127.0.0.1", server.port), 30) as connection:
        head = "POST /tts HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(f"{head}{size}\r\n{{}}\r\n0\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")


@pytest.mark.slow  # it waits until the server has given the stalled clients up
@pytest.mark.parametrize(
    "sent", [b"GET / HTTP/1.1\r\nX: a", b"POST /tts HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\n{"]
)
def test_clients_that_stall_in_the_middle_of_a_request_are_given_up(tmp_path: Path, sent: bytes) -> None:
    with serving(tmp_path, APPLICATION, max_waiting=0) as server, ExitStack() as stalled:
        server.until({"ready": True})
        for _ in range(8):  # more than there are threads
            stalled.enter_context(socket.create_connection(("127.0.0.1", server.port), 60)).sendall(sent)
        assert exchange(server.connect(60.0), "GET", "/healthz", None, {}).status_code == 200


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit_is_a_413(server: Server, chunked: bool) -> None:
    body = b'{"text": "' + b"a" * 5000 + b'"}'
    answer = exchange(server.connect(), "POST", "/tts", iter([body[:3000], body[3000:]]) if chunked else body, JSON)
    assert_error_shape(answer, 413, "body_too_large")


def test_errors_of_the_service_have_the_one_shape(server: Server) -> None:
    assert_error_shape(server.post("/tts", {"text": "。。。"}), 400, "nothing_to_speak", "text")
    assert_error_shape(server.post("/tts", {"text": "a" * 501}), 413, "text_too_long", "text")
    assert_error_shape(server.post("/tts", {"text": "a", "speaker": "../x"}), 400, "unknown_voice", "speaker")
    assert_error_shape(server.get("/tts"), 405, "method_not_allowed")


def test_probes_page_and_refusals_are_served_while_every_place_is_taken(tmp_path: Path) -> None:
    with serving(tmp_path, APPLICATION, max_waiting=MAX_WAITING) as server, ThreadPoolExecutor(MAX_WAITING + 1) as pool:
        server.until({"ready": True})
        held = [pool.submit(server.post, "/tts", {"text": f"hold {'x' * n}"}) for n in range(MAX_WAITING + 1)]
        server.until({"speaking": True, "waiting": MAX_WAITING})
        assert_error_shape(server.post("/tts", {"text": "one too many"}), 503, "busy")
        for _ in range(3):
            for path in ("/healthz", "/readyz", "/voices", "/"):
                assert server.get(path).status_code == 200
        assert not any(request.done() for request in held)
        server.let("released")
        assert [request.result(30).status_code for request in held] == [200] * (MAX_WAITING + 1)


def test_while_the_engine_loads_the_process_answers_at_once(tmp_path: Path) -> None:
    with serving(tmp_path, APPLICATION, loaded=False) as server:
        assert server.get("/healthz").get_json()["model_loaded"] is False
        assert_error_shape(server.get("/readyz"), 503, "not_ready")
        assert_error_shape(server.post("/tts", {"text": "Hello."}), 503, "not_ready")
        assert server.get("/").status_code == 200
        with ThreadPoolExecutor(1) as pool:
            warming = pool.submit(server.post, "/warmup")
            server.let("loaded")
            assert warming.result(30).get_json()["state"] == "ready"
        assert server.get("/readyz").status_code == 200
        assert server.post("/tts", {"text": "Hello."}).status_code == 200


def test_a_client_that_leaves_frees_its_place(tmp_path: Path) -> None:
    with serving(tmp_path, APPLICATION, max_waiting=1) as server:
        server.until({"ready": True})
        speaking, waiting = server.connect(), server.connect()
        for connection in (speaking, waiting):
            connection.request("POST", "/tts", b'{"text": "hold"}', JSON)
        server.until({"speaking": True, "waiting": 1})
        waiting.close()
        server.until({"speaking": True, "waiting": 0})
        speaking.close()
        server.until({"speaking": False, "waiting": 0})
        assert server.post("/tts", {"text": "Next."}).status_code == 200
        assert "Traceback" not in server.log


def test_users_words_are_not_in_the_log(server: Server) -> None:
    answer = server.post("/tts", {"text": "Secretive words."})
    server.get("/voices?note=secretive")
    server.post("/tts", {"text": "Secretive.", "speed": "secretive"})
    assert answer.headers["X-Request-Id"] in server.log
    assert '"POST /tts" 200' in server.log
    assert "secretive" not in server.log.lower()


def test_nothing_is_left_in_the_home_folder(server: Server) -> None:
    assert server.post("/tts", {"text": "Hello."}).status_code == 200
    assert list((server.script / "home").iterdir()) == []


def test_sigterm_lets_running_speech_finish_and_refuses_more(tmp_path: Path) -> None:
    with serving(tmp_path, APPLICATION) as server, ThreadPoolExecutor(1) as pool:
        server.until({"ready": True})
        kept = server.connect()
        assert exchange(kept, "GET", "/healthz", None, {}, keep=True).status_code == 200
        running = pool.submit(server.post, "/tts", {"text": "hold on"})
        server.until({"speaking": True})
        server.process.send_signal(signal.SIGTERM)
        _until_refused(server)

        answer = exchange(kept, "POST", "/tts", b'{"text": "Late."}', JSON)
        assert_error_shape(answer, 503, "shutting_down")
        assert not running.done()
        server.let("released")
        answer = running.result(30)
        assert answer.status_code == 200
        assert int(answer.headers["Content-Length"]) == len(answer.data)
        assert server.process.wait(30) == 0


def test_sigterm_while_the_engine_loads_does_not_wait_for_it(tmp_path: Path) -> None:
    with serving(tmp_path, APPLICATION, loaded=False) as server:
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0


def test_sigint_stops_at_once(tmp_path: Path) -> None:
    with serving(tmp_path, APPLICATION) as server, ThreadPoolExecutor(1) as pool:
        server.until({"ready": True})
        running = pool.submit(server.post, "/tts", {"text": "hold on"})
        server.until({"speaking": True})
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(20) == 0
        with pytest.raises((OSError, http.client.HTTPException)):
            running.result(30)


def _until_refused(server: Server) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", server.port), 1).close()
        except OSError:
            return
    raise AssertionError("the server still takes connections")
