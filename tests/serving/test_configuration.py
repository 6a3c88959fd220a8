"""gunicorn.conf.py: what it says, and how it refuses to start."""

import socket
import subprocess
import sys

import pytest

from tests.serving.running import CONFIG, ROOT, environment


def gunicorn(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "gunicorn", *CONFIG, *arguments],
        cwd=ROOT, env=environment() | variables, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    done = gunicorn("--print-config", "tests.serving.scripted_app:app", SCRIPT_DIR="/nowhere")
    lines = (line.partition("=") for line in done.stdout.splitlines())
    return {name.strip(): value.strip() for name, _, value in lines}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("worker_class", "gthread"),
        ("workers", "1"),
        ("threads", "4"),
        ("preload_app", "False"),
        ("max_requests", "0"),
        ("bind", "['127.0.0.1:8080']"),
        ("forwarded_allow_ips", "[]"),
        ("control_socket_disable", "True"),
        ("wsgi_app", "app:app"),
    ],
)
def test_the_lines_that_matter(printed: dict[str, str], name: str, value: str) -> None:
    assert printed[name] == value


def test_a_stop_waits_longer_than_the_longest_request(printed: dict[str, str]) -> None:
    assert int(printed["graceful_timeout"]) > 300


def test_the_access_log_has_no_query_string_and_no_headers_of_the_client(printed: dict[str, str]) -> None:
    for atom in ("%(r)s", "%(q)s", "%(f)s", "%(a)s", "}i"):
        assert atom not in printed["access_log_format"]


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"COSYVOICE_NUM_THREAD": "2"}, "Did you mean COSYVOICE_NUM_THREADS?"),
        ({"COSYVOICE_MAX_WAITING": "many"}, "COSYVOICE_MAX_WAITING='many' cannot be used"),
        ({"COSYVOICE_ENGINE": "cosyvoice"}, "COSYVOICE_MODEL_DIR"),
        ({"PORT": "eighty"}, "PORT='eighty' cannot be used"),
        ({"HOST": "x86_64-conda-linux-gnu"}, "HOST='x86_64-conda-linux-gnu' is no address"),
    ],
)
def test_a_wrong_setting_is_one_line_and_the_server_does_not_start(variables: dict[str, str], said: str) -> None:
    done = gunicorn("app:app", **variables)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("host", "bind"),
    [("0.0.0.0", "0.0.0.0:9000"), ("::", "[::]:9000"), ("localhost", "localhost:9000"), ("", "127.0.0.1:9000")],
)
def test_host_and_port_say_where_it_listens(host: str, bind: str) -> None:
    done = gunicorn("--print-config", HOST=host, PORT="9000", SCRIPT_DIR="/nowhere")
    assert f"['{bind}']" in done.stdout


def test_a_taken_port_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = gunicorn("app:app", PORT=str(port))
    assert done.returncode == 1
    assert f"Error: cannot listen on 127.0.0.1:{port}: Address already in use" in done.stderr
    assert "Traceback" not in done.stderr
