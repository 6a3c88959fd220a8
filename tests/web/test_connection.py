import io
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress

import pytest

from cosyvoice_web.web import connection
from cosyvoice_web.web.connection import client_left, give_up_stalled, read_rest

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    server, client = socket.socketpair()
    with server, client:
        yield server, client


def test_a_client_that_waits_is_there(pair: Pair) -> None:
    left = client_left({"gunicorn.socket": pair[0]})
    assert [left(), left()] == [False, False]


def test_a_client_that_closes_is_gone(pair: Pair) -> None:
    left = client_left({"gunicorn.socket": pair[0]})
    pair[1].close()
    assert left()


def test_bytes_of_the_next_request_are_no_farewell_and_stay_unread(pair: Pair) -> None:
    left = client_left({"gunicorn.socket": pair[0]})
    pair[1].sendall(b"GET / HTTP/1.1")
    assert not left()
    assert pair[0].recv(100) == b"GET / HTTP/1.1"


def test_a_socket_that_the_server_closed_counts_as_gone(pair: Pair) -> None:
    left = client_left({"gunicorn.socket": pair[0]})
    pair[0].close()
    assert left()


def test_without_a_socket_nobody_is_gone() -> None:
    assert not client_left({})()


def test_on_tls_the_check_says_nothing(pair: Pair) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    with context.wrap_socket(pair[0], do_handshake_on_connect=False) as secured:
        assert not client_left({"gunicorn.socket": secured})()


def test_what_a_client_does_not_take_fails_and_what_it_takes_slowly_does_not(pair: Pair) -> None:
    server, client = pair
    give_up_stalled({"gunicorn.socket": server}, 0.1)  # a second at least
    with pytest.raises(BlockingIOError):
        server.sendall(bytes(100_000_000))
    client.setblocking(False)
    with suppress(BlockingIOError):
        while client.recv(65_536):
            pass
    assert server.send(b"more") == 4


def body(size: int, *, terminated: bool = True) -> dict[str, object]:
    return {"wsgi.input": io.BytesIO(bytes(size)), "wsgi.input_terminated": terminated}


def unread(environ: dict[str, object]) -> int:
    rest = environ["wsgi.input"]
    assert isinstance(rest, io.BytesIO)
    return len(rest.read())


def test_the_rest_of_a_body_is_read_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "UNREAD_MAX_BYTES", 200_000)
    for size, left in ((0, 0), (1, 0), (200_000, 0), (300_000, 100_000)):
        environ = body(size)
        read_rest(environ)
        assert unread(environ) == left


def test_a_body_without_an_end_is_left_alone() -> None:
    environ = body(10, terminated=False)
    read_rest(environ)
    assert unread(environ) == 10


def test_a_client_that_breaks_off_is_no_error() -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise ConnectionResetError

    read_rest({"wsgi.input": Broken(), "wsgi.input_terminated": True})
