"""How the server runs: `gunicorn -c gunicorn.conf.py`. `make run` and the image use exactly this file."""

import ipaddress
import os
import signal
import socket
import struct
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))  # this file is executed before gunicorn puts `chdir` on the path

from cosyvoice_web.errors import ConfigurationError  # noqa: E402
from cosyvoice_web.settings import Settings, load_settings  # noqa: E402


def _settings() -> Settings:
    # Checked here, in the master and before anything starts: a wrong setting is one line and exit status 1, not a
    # worker that dies and is started again for ever.
    try:
        return load_settings(os.environ)
    except ConfigurationError as error:
        sys.exit(f"Error: {error}")


def _bind() -> str:
    host, port = os.environ.get("HOST") or "127.0.0.1", os.environ.get("PORT") or "8080"
    if host != "localhost":
        try:
            host = f"[{host}]" if ipaddress.ip_address(host).version == 6 else host
        except ValueError:
            sys.exit(f"Error: HOST={host!r} is no address: give 127.0.0.1, 0.0.0.0, :: or one of this machine.")
    if not (port.isascii() and port.isdigit() and 1 <= int(port) <= 65535):
        sys.exit(f"Error: PORT={port!r} cannot be used: give a whole number from 1 to 65535.")
    return f"{host}:{port}"


settings = _settings()

# --- threads of the numeric libraries: fixed before torch or onnxruntime is imported, because they read these once ---
# as many as this process may really use (cgroup quota, affinity), not as many as the host has
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ.setdefault(_name, str(settings.num_threads))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # idle OpenMP threads sleep instead of burning the cores of others
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # no second pool beside the first

# --- what is served ---
wsgi_app = "app:app"
chdir = str(ROOT)  # so that it starts from any folder
bind = _bind()  # this machine only unless HOST says otherwise: whoever opens it to a network does so knowingly

# --- processes and threads (docs/decisions/0001-threads.md) ---
worker_class = "gthread"  # the work is in C code that releases the GIL, and waiting requests must not block probes
workers = 1  # one copy of the model, one queue, exact rate limits; more workers would fight for the same cores
threads = 4  # for probes, page and refusals; post_worker_init adds one for every request that may wait for speech
preload_app = False  # the model is loaded after the fork: thread pools of torch and onnxruntime do not survive one
max_requests = 0  # never restart after a number of requests: it would drop the model and whoever waits for it

# --- times ---
timeout = 120  # only whether the worker's main loop lives; loading a model can keep it from running for seconds
graceful_timeout = int(settings.request_timeout_seconds) + 10  # speech that runs at SIGTERM may finish
keepalive = 75  # longer than the 60 s that common proxies keep idle connections, so that they close first

RECEIVE_SECONDS = 20  # a client that sends nothing for so long in the middle of a request is given up

# --- trust ---
forwarded_allow_ips = ""  # gunicorn believes no proxy; the application does, for COSYVOICE_TRUSTED_PROXY_HOPS of them

# --- files ---
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - heartbeat in memory, not on disk
control_socket_disable = True  # nothing is left behind in $HOME, which may be read-only

# --- log ---
errorlog = "-"  # standard error, for the container's log
accesslog = "-"
# %(U)s is the path without its query string, and bodies are never logged: users' texts stay out
access_log_format = '%(h)s "%(m)s %(U)s" %(s)s %(B)s %(L)ss %({x-request-id}o)s'


def on_starting(_server: Any) -> None:
    """In the master, before it binds: a port that is taken is one line, not a minute of tries."""
    host, _, port = bind.rpartition(":")
    address = (host.strip("[]"), int(port))
    try:
        socket.create_server(address, family=socket.AF_INET6 if ":" in address[0] else socket.AF_INET).close()
    except OSError as error:
        sys.exit(f"Error: cannot listen on {bind}: {error.strerror}. Choose another with PORT=... (or HOST=...).")


def when_ready(server: Any) -> None:
    """In the master, once it listens."""
    server.log.info("Open http://%s", bind)


def post_worker_init(worker: Any) -> None:
    """In the worker, after the fork, before the first request."""
    service = worker.wsgi.extensions["speech_service"]

    # A client that stops in the middle of its headers or body would hold a thread for ever, and a dozen of them the
    # probes. Accepted connections inherit this from the listener; waiting for the next request is not affected.
    for listener in worker.sockets:
        listener.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", RECEIVE_SECONDS, 0))

    # Each request that waits for speech holds a thread. One for each that may wait and one for the one that is spoken,
    # on top of `threads`, so that probes always find a free one.
    worker.tpool.shutdown(wait=False)
    worker.tpool = ThreadPoolExecutor(
        max_workers=worker.cfg.threads + 1 + worker.wsgi.extensions["settings"].max_waiting, thread_name_prefix="http"
    )

    # SIGTERM: refuse new speech at once, finish what runs. The handler only queues: it may interrupt any line of the
    # main loop, where taking a lock could wait for itself.
    def on_term(signal_number: int, frame: FrameType | None) -> None:
        worker.method_queue.defer(lambda: threading.Thread(target=service.close, name="drain", daemon=True).start())
        worker.handle_exit(signal_number, frame)

    signal.signal(signal.SIGTERM, on_term)

    # SIGINT and SIGQUIT (Ctrl-C): stop now; Python would wait for the threads of running requests. gunicorn's own
    # handler takes locks of the thread pool, and waits for itself when it interrupts the line that holds them.
    def on_quit(_signal_number: int, _frame: FrameType | None) -> None:
        os._exit(0)

    for quick in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(quick, on_quit)

    service.start()  # returns at once; loading goes on in the background while probes are answered


def worker_exit(_server: Any, worker: Any) -> None:
    """In the worker, when every answer is sent or the grace time is over."""
    if worker.booted:  # a worker that never started keeps its exit status, which stops the master
        os._exit(0)  # a native thread that still loads or speaks must not meet an interpreter that is being taken down
