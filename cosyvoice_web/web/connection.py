"""Is the client still there, has it said everything, and does it listen?"""

import socket
import struct
from collections.abc import Callable
from wsgiref.types import WSGIEnvironment

UNREAD_MAX_BYTES = 64 << 20
_PIECE_BYTES = 65_536


def client_left(environ: WSGIEnvironment) -> Callable[[], bool]:
    """A check, callable from any thread, whether the client of this request has closed its connection.

    gunicorn puts the socket into the environment; under another server the check always says no. A client that closes
    only its sending side counts as gone, as it does for most servers: the two cannot be told apart. On a TLS socket
    nothing can be peeked at, so the check says no as well: end TLS in the proxy.
    """
    connection = environ.get("gunicorn.socket")
    if not isinstance(connection, socket.socket):
        return lambda: False

    def left() -> bool:
        try:
            return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except (BlockingIOError, InterruptedError):
            return False  # nothing to read: it waits for the answer
        except ValueError:
            return False  # TLS
        except OSError:
            return True

    return left


def give_up_stalled(environ: WSGIEnvironment, patience_seconds: float) -> None:
    """Let sending fail, and with it the connection end, once the client has taken nothing at all for so long.

    Else a client that stops reading, and stays, would hold a thread for ever. One that reads slowly is served.
    """
    connection = environ.get("gunicorn.socket")
    if isinstance(connection, socket.socket):
        seconds = max(1, round(patience_seconds))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", seconds, 0))


def read_rest(environ: WSGIEnvironment) -> None:
    """Read what is left of a body that is not wanted, up to `UNREAD_MAX_BYTES`.

    A client that is still sending when the connection closes sees only that, and not the answer that says why. Under a
    server that does not mark the end of a body nothing is read, as it would never end.
    """
    if not environ.get("wsgi.input_terminated"):
        return
    left = UNREAD_MAX_BYTES
    try:
        while left > 0 and (piece := environ["wsgi.input"].read(min(left, _PIECE_BYTES))):
            left -= len(piece)
    except OSError:
        return  # the client has left
