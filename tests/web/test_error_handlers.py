"""One shape for every error, one table of statuses, and no user text in the log."""

import logging

import pytest
from flask import url_for
from flask.testing import FlaskClient

from cosyvoice_web import errors
from cosyvoice_web.web.error_handlers import STATUS_OF, status_of
from cosyvoice_web.web.factory import create_app
from tests.web.fakes import FakeService, Script, assert_error_shape, make_settings

TEXT = {"text": "秘密 secret words"}


def leaves(kind: type[errors.CosyVoiceWebError]) -> set[type[errors.CosyVoiceWebError]]:
    return {leaf for child in kind.__subclasses__() for leaf in leaves(child)} or {kind}


START_ONLY = leaves(errors.CheckpointError) | leaves(errors.ConfigurationError)


def test_the_table_holds_every_leaf_class_and_nothing_else() -> None:
    assert set(STATUS_OF) == leaves(errors.CosyVoiceWebError) - START_ONLY


EXAMPLES: list[tuple[errors.CosyVoiceWebError, int]] = [
    (errors.InvalidRequest("speed must be a number", "speed"), 400),
    (errors.NothingToSpeak(), 400),
    (errors.TextTooLong(3000, 3001), 413),
    (errors.UnknownVoice("nobody", ["zf_001"]), 400),
    (errors.UnsupportedLanguage("ko", ["en", "zh"]), 400),
    (errors.UnsupportedFormat("aiff", ["wav"]), 400),
    (errors.RateLimited("too many requests", 9), 429),
    (errors.ServiceBusy("the waiting room is full", 12), 503),
    (errors.DeadlineExceeded("it took too long", 1), 504),
    (errors.EngineNotReady("loading"), 503),
    (errors.EngineFailed("llm.pt is missing"), 503),
    (errors.ShuttingDown("the server is shutting down"), 503),
    (errors.NoSpeechProduced("no speech came out", "secret words"), 500),
    (errors.TokenBudgetSpent("the sentence did not end", "secret words"), 500),
    (errors.NonFiniteAudio("the audio is not finite", "secret words"), 500),
    (errors.ClientGone("the client left"), 499),
]


def test_the_examples_cover_the_table() -> None:
    assert {type(error): status for error, status in EXAMPLES} == STATUS_OF


@pytest.mark.parametrize(("error", "status"), EXAMPLES, ids=lambda value: type(value).__name__)
def test_each_error_of_ours_arrives_in_the_one_shape(
    client: FlaskClient, script: Script, error: errors.CosyVoiceWebError, status: int
) -> None:
    script.error = error
    answer = client.post("/tts", json=TEXT)
    found = assert_error_shape(answer, status, error.code)
    assert found["message"] == str(error)
    assert found["field"] == getattr(error, "field", None)
    if hasattr(error, "retry_after_seconds"):
        assert answer.headers["Retry-After"] == str(error.retry_after_seconds)


def test_a_class_that_the_table_does_not_know_has_the_status_of_its_parent_or_500() -> None:
    class Stranger(errors.UnknownVoice):
        pass

    assert status_of(Stranger("a", [])) == 400
    assert status_of(errors.CosyVoiceWebError("what")) == 500


# --- every route, every kind of error ---

ROUTES = [
    ("GET", "/"),
    ("GET", "/voices"),
    ("POST", "/tts"),
    ("POST", "/voice-conversion"),
    ("POST", "/warmup"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
]


def test_the_list_of_routes_is_complete() -> None:
    rules = create_app(make_settings(), FakeService()).url_map.iter_rules()
    found = {(method, rule.rule) for rule in rules for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}}
    assert found - {("GET", "/static/<path:filename>")} == set(ROUTES)


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_every_route_answers_a_wrong_method_with_a_405_that_names_the_right_one(
    client: FlaskClient, method: str, path: str
) -> None:
    answer = client.open(path, method="DELETE")
    assert_error_shape(answer, 405, "method_not_allowed")
    assert method in answer.headers["Allow"]


def test_get_on_tts_is_a_405(client: FlaskClient) -> None:
    answer = client.get("/tts?text=hello")
    assert_error_shape(answer, 405, "method_not_allowed")
    assert "POST" in answer.headers["Allow"]


@pytest.mark.parametrize("path", ["/nothing", "/tts/", "/static/nothing.js", "/%00", "/static/../app.py", "/你好"])
def test_an_unknown_address_is_a_404(client: FlaskClient, path: str) -> None:
    assert_error_shape(client.get(path), 404, "not_found")


@pytest.mark.parametrize(("method", "path"), [("POST", "/tts"), ("GET", "/voices"), ("POST", "/warmup")])
def test_an_unexpected_exception_is_a_500_without_internals(
    client: FlaskClient, script: Script, caplog: pytest.LogCaptureFixture, method: str, path: str
) -> None:
    script.error = ValueError("could not say 秘密 secret words")
    script.error.__cause__ = KeyError("秘密 in a cause")
    with caplog.at_level(logging.INFO):
        answer = client.open(path, method=method, json=TEXT if method == "POST" else None)
    error = assert_error_shape(answer, 500, "internal_error")
    assert "secret" not in answer.get_data(as_text=True)
    assert error["request_id"] in caplog.text
    assert "ValueError" in caplog.text
    assert "KeyError" in caplog.text
    assert "fakes.py" in caplog.text  # where it happened
    assert "secret" not in caplog.text
    assert "秘密" not in caplog.text


def test_the_text_is_logged_only_on_request(caplog: pytest.LogCaptureFixture) -> None:
    for log_text in (0, 1):
        caplog.clear()
        client = create_app(make_settings(log_text=log_text), FakeService()).test_client()
        with caplog.at_level(logging.INFO):
            request_id = client.post("/tts", json=TEXT).headers["X-Request-Id"]
        assert request_id in caplog.text
        assert ("秘密" in caplog.text) is bool(log_text)


# --- request ids and the headers of every answer ---


def test_a_safe_request_id_of_the_caller_is_kept(client: FlaskClient) -> None:
    for path in ("/healthz", "/nothing"):
        answer = client.get(path, headers={"X-Request-Id": "trace-7.A_b"})
        assert answer.headers["X-Request-Id"] == "trace-7.A_b"


@pytest.mark.parametrize("given", ["", "a" * 65, "a b", "<script>", "a,b", "a\tb", "é"])
def test_another_one_is_replaced_by_a_fresh_one(client: FlaskClient, given: str) -> None:
    ids = {client.get("/healthz", headers={"X-Request-Id": given}).headers["X-Request-Id"] for _ in range(3)}
    assert len(ids) == 3
    assert all(len(found) == 32 for found in ids)


@pytest.mark.parametrize("path", ["/", "/voices", "/healthz", "/nothing", "/tts", "/static/nothing"])
def test_every_answer_carries_the_security_headers(client: FlaskClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "microphone=()" in headers["Permissions-Policy"]


@pytest.mark.parametrize(("hops", "expected"), [(0, "/static/a.css"), (1, "/v/static/a.css"), (2, "/v/static/a.css")])
def test_behind_trusted_proxies_addresses_are_below_their_path(hops: int, expected: str) -> None:
    app = create_app(make_settings(trusted_proxy_hops=hops), FakeService())
    app.add_url_rule("/where", "where", lambda: url_for("static", filename="a.css"))
    answer = app.test_client().get("/where", headers={"X-Forwarded-Prefix": "/v"})
    assert answer.get_data(as_text=True) == expected
