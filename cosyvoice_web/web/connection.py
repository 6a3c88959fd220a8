"""Is the client still there?"""

import socket
from collections.abc import Callable
from wsgiref.types import WSGIEnvironment


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
