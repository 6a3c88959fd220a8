"""Limits per client: exact, not to be dodged, and with a Retry-After that is enough to obey."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from cosyvoice_web.web import rate_limits
from cosyvoice_web.web.factory import create_app
from cosyvoice_web.web.rate_limits import ExactCounters
from tests.web.fakes import FakeService, assert_error_shape, make_settings

TEXT = {"text": "Hello."}


class Clock:
    """Stands in for the module `time`; `time()` is what the counters and the headers read."""

    def __init__(self) -> None:
        self.now = 1_000_000.25

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(rate_limits, "time", clock)
    return clock


def client_of(**settings: object) -> FlaskClient:
    return create_app(make_settings(**settings), FakeService()).test_client()


def speak(client: FlaskClient, address: str = "192.0.2.1", forwarded: str | None = None) -> TestResponse:
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    return client.post("/tts", json=TEXT, environ_base={"REMOTE_ADDR": address}, headers=headers)


def test_the_sixth_text_of_a_minute_is_refused_by_default(clock: Clock) -> None:
    client = client_of(rate_limit_tts="", rate_limit_default="")
    answers = [speak(client) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    assert [answer.headers["RateLimit-Remaining"] for answer in answers] == ["4", "3", "2", "1", "0", "0"]
    assert {answer.headers["RateLimit-Limit"] for answer in answers} == {"5"}
    assert_error_shape(answers[-1], 429, "rate_limited")


def test_obeying_retry_after_is_enough(clock: Clock) -> None:
    client = client_of(rate_limit_tts="2 per minute")
    for _ in range(2):
        assert speak(client).status_code == 200
    clock.now += 12.5
    wait_seconds = int(speak(client).headers["Retry-After"])
    assert 1 <= wait_seconds <= 60
    clock.now += wait_seconds - 2
    assert speak(client).status_code == 429
    clock.now += 2
    assert speak(client).status_code == 200


def test_with_several_windows_retry_after_is_that_of_the_last_full_one(clock: Clock) -> None:
    client = client_of(rate_limit_tts="2 per minute; 2 per hour")
    for _ in range(2):
        speak(client)
    answer = speak(client)
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) > 3500
    clock.now += int(answer.headers["Retry-After"])
    assert speak(client).status_code == 200


def test_refused_requests_do_not_use_up_the_longer_window(clock: Clock) -> None:
    client = client_of(rate_limit_tts="1 per minute; 3 per hour")
    assert speak(client).status_code == 200
    for _ in range(5):
        assert speak(client).status_code == 429
    clock.now += 61
    assert speak(client).status_code == 200


def test_the_reset_header_counts_seconds_down(clock: Clock) -> None:
    client = client_of(rate_limit_tts="5 per minute")
    first = int(speak(client).headers["RateLimit-Reset"])
    clock.now += 20
    assert 60 <= first <= 61
    assert int(speak(client).headers["RateLimit-Reset"]) == first - 20


def test_a_clock_that_is_set_back_does_not_lock_a_client_out(clock: Clock) -> None:
    client = client_of(rate_limit_tts="1 per minute")
    assert speak(client).status_code == 200
    clock.now -= 7200
    assert speak(client).status_code == 200


def test_routes_are_counted_each_by_itself_and_the_page_has_the_default_limit(clock: Clock) -> None:
    client = client_of(rate_limit_default="2 per minute", rate_limit_tts="1 per minute")
    assert speak(client).status_code == 200
    assert speak(client).status_code == 429
    assert client.post("/warmup").status_code == 200
    assert_error_shape(client.post("/warmup"), 429, "rate_limited")
    for path in ("/voices", "/"):
        assert [client.get(path).status_code for _ in range(3)] == [200, 200, 429]


def test_probes_and_static_files_are_never_refused_nor_counted() -> None:
    client = client_of(rate_limit_default="1 per day", rate_limit_tts="1 per day")
    for _ in range(30):
        for path in ("/healthz", "/readyz", "/static/nothing.css"):
            answer = client.get(path)
            assert answer.status_code in (200, 404)
            assert "RateLimit-Limit" not in answer.headers


def test_clients_have_their_own_allowance() -> None:
    client = client_of(rate_limit_tts="1 per minute")
    assert speak(client, "192.0.2.1").status_code == 200
    assert speak(client, "192.0.2.1").status_code == 429
    assert speak(client, "192.0.2.2").status_code == 200


def test_an_ipv6_client_cannot_choose_among_the_addresses_of_its_block() -> None:
    client = client_of(rate_limit_tts="1 per minute")
    assert speak(client, "2001:db8::1").status_code == 200
    assert speak(client, "2001:db8::2:1").status_code == 429
    assert speak(client, "2001:db8:0:1::1").status_code == 200


def test_without_trusted_proxies_the_header_is_ignored() -> None:
    client = client_of(rate_limit_tts="1 per minute")
    assert speak(client, "192.0.2.1", "198.51.100.1").status_code == 200
    assert speak(client, "192.0.2.1", "198.51.100.2").status_code == 429


def test_behind_one_proxy_each_client_has_its_own_allowance() -> None:
    client = client_of(rate_limit_tts="1 per minute", trusted_proxy_hops=1)
    assert speak(client, "10.0.0.1", "198.51.100.1").status_code == 200
    assert speak(client, "10.0.0.1", "198.51.100.1").status_code == 429
    assert speak(client, "10.0.0.1", "198.51.100.2").status_code == 200


@pytest.mark.parametrize("hops", [1, 2])
@pytest.mark.parametrize(
    "spoofed",
    ["{n}.{n}.{n}.{n}, ", '"{n}', '"{n}.1.1.1, ', '{n}.1.1.1, "x, ', '\\", {n}', '1.1.1.{n}", "', "1.1.1.{n}:80,, "],
)
def test_a_client_behind_proxies_cannot_choose_its_bucket(hops: int, spoofed: str) -> None:
    client = client_of(rate_limit_tts="1 per minute", trusted_proxy_hops=hops)
    added = ", ".join(["198.51.100.1", "10.0.0.1"][:hops])  # what the proxies append to the client's own header
    statuses = [speak(client, "10.0.0.9", f"{spoofed.format(n=n)}, {added}").status_code for n in range(1, 5)]
    assert statuses == [200, 429, 429, 429]


def test_a_proxy_that_appends_the_port_does_not_split_the_bucket() -> None:
    client = client_of(rate_limit_tts="1 per minute", trusted_proxy_hops=1)
    assert speak(client, "10.0.0.1", "198.51.100.1:1111").status_code == 200
    assert speak(client, "10.0.0.1", "198.51.100.1:2222").status_code == 429


def test_a_storage_that_fails_lets_requests_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(rate_limit_tts="1 per minute")

    def fail(*_: object) -> int:
        raise OSError("storage down")

    monkeypatch.setattr(ExactCounters, "incr", fail)
    monkeypatch.setattr(ExactCounters, "get", fail)
    monkeypatch.setattr(ExactCounters, "get_expiry", fail)
    assert [speak(client).status_code for _ in range(3)] == [200] * 3


def test_the_count_is_exact_under_concurrency() -> None:
    app = create_app(make_settings(rate_limit_tts="25 per minute"), FakeService())
    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(lambda _: speak(app.test_client()).status_code, range(100)))
    assert sorted(statuses) == [200] * 25 + [429] * 75


def test_windows_that_have_ended_are_forgotten(clock: Clock) -> None:
    counters = ExactCounters()
    for number in range(1000):
        counters.incr(f"client {number}", 60)
    clock.now += 120
    counters.incr("another", 60)
    assert counters.reset() == 1


def test_a_cleared_key_starts_again(clock: Clock) -> None:
    counters = ExactCounters()
    assert counters.incr("a", 60, 2) == counters.get("a") == 2
    counters.clear("a")
    assert counters.get("a") == 0
    assert counters.check()
