import pytest
from flask.testing import FlaskClient

from cosyvoice_web.service.lifecycle import EngineState
from tests.web.fakes import Script, assert_error_shape


@pytest.mark.parametrize("state", list(EngineState))
def test_the_process_is_alive_in_every_state(client: FlaskClient, script: Script, state: EngineState) -> None:
    script.state = state
    answer = client.get("/healthz")
    assert answer.status_code == 200
    body = answer.get_json()
    assert body["status"] == "ok"
    assert body["state"] == state.value
    assert body["model_loaded"] is (state is EngineState.READY)


def test_ready_means_ready(client: FlaskClient) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.get_json() == {"status": "ready", "state": "ready", "reason": None, "engine": "fake"}


@pytest.mark.parametrize("state", [state for state in EngineState if state is not EngineState.READY])
def test_not_ready_is_a_503_with_state_and_reason(client: FlaskClient, script: Script, state: EngineState) -> None:
    script.state, script.reason = state, "llm.pt is missing"
    answer = client.get("/readyz")
    error = assert_error_shape(answer, 503, "not_ready")
    assert "llm.pt is missing" in error["message"]
    assert answer.get_json()["state"] == state.value
    assert answer.get_json()["reason"] == "llm.pt is missing"


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_take_head_and_nothing_that_writes(client: FlaskClient, path: str) -> None:
    assert client.head(path).status_code == 200
    assert_error_shape(client.post(path), 405, "method_not_allowed")
