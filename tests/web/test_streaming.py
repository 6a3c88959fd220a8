"""Answers that are sent while they are made: HTTP above the real service with a scripted engine."""

import errno
import io
import socket
from collections.abc import Iterator

import pytest
import soundfile
from flask.testing import FlaskClient

from cosyvoice_web.errors import InvalidRequest
from cosyvoice_web.service.speech_service import SpeechService
from cosyvoice_web.speech import Samples
from cosyvoice_web.text.sentences import Sentence
from cosyvoice_web.web.factory import create_app
from tests.service.fakes import PATIENT_SECONDS, ScriptedEngine, raising, tone, wait_until
from tests.service.recordings import recording
from tests.web.fakes import assert_error_shape, make_settings

FOUR = "This is the first line. Here is a second line. Then a third line. And a fourth line."


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture
def service(engine: ScriptedEngine) -> Iterator[SpeechService]:
    service = SpeechService(lambda: engine, max_waiting=0, request_timeout_seconds=PATIENT_SECONDS, max_text_chars=500)
    service.warm_up()
    yield service
    service.close()


@pytest.fixture
def client(service: SpeechService) -> Iterator[FlaskClient]:
    with create_app(make_settings(), service).test_client() as client:
        yield client


def test_what_is_known_before_the_end_is_in_the_headers_and_nothing_else(
    client: FlaskClient, service: SpeechService
) -> None:
    answer = client.post("/tts", json={"text": FOUR, "seed": 7, "sample_rate": 16000, "stream": True})
    assert answer.status_code == 200
    assert answer.content_type == "audio/wav"
    wanted = {"X-Speaker": "en_ann", "X-Sample-Rate": "16000", "X-Seed": "7", "X-Accel-Buffering": "no"}
    assert {name: answer.headers[name] for name in wanted} == wanted
    assert "filename*=UTF-8''This-is" in answer.headers["Content-Disposition"]
    for unknown in ("Content-Length", "X-Audio-Seconds", "X-Synthesis-Seconds", "X-Real-Time-Factor"):
        assert unknown not in answer.headers
    streamed = answer.data  # read as it comes
    wait_until(lambda: not service.status().speaking)
    whole = client.post("/tts", json={"text": FOUR, "seed": 7, "sample_rate": 16000})
    assert streamed[44:] == whole.data[44:]


@pytest.mark.parametrize("name", ["wav", "ogg", "mp3"])
def test_forms_stream_in_every_format_that_can(client: FlaskClient, name: str) -> None:
    answer = client.post("/tts", data={"text": FOUR, "stream": "true", "format": name})
    assert soundfile.info(io.BytesIO(answer.data)).format.startswith(name.upper()[:3])
    assert "Content-Length" not in answer.headers


def test_a_conversion_streams_too(client: FlaskClient) -> None:
    form = {"speaker": "en_ann", "stream": "true", "source_audio": (io.BytesIO(recording()), "a.wav")}
    answer = client.post("/voice-conversion", data=form)
    assert soundfile.info(io.BytesIO(answer.data)).samplerate == 24_000
    assert answer.headers["X-Speaker"] == "en_ann"


@pytest.mark.parametrize(
    ("fields", "status", "code", "field"),
    [
        ({"text": "..."}, 400, "nothing_to_speak", "text"),
        ({"text": "Hi.", "speaker": "nobody"}, 400, "unknown_voice", "speaker"),
        ({"text": "Hi.", "format": "flac"}, 400, "invalid_request", "format"),
        ({"text": "Hi.", "stream": "perhaps"}, 400, "invalid_request", "stream"),
        ({"text": "It fails now."}, 500, "synthesis_failed", None),
        ({"text": "It is refused now."}, 400, "invalid_request", "prompt_audio"),
    ],
)
def test_errors_before_the_first_audio_are_real_statuses(
    client: FlaskClient,
    engine: ScriptedEngine,
    service: SpeechService,
    fields: dict[str, str],
    status: int,
    code: str,
    field: str | None,
) -> None:
    def failing(error: Exception) -> Iterator[Samples]:
        raise error
        yield

    engine.on("fails", lambda sentence: failing(RuntimeError()))
    engine.on("refused", lambda sentence: failing(InvalidRequest("It is silent.", "prompt_audio")))
    assert_error_shape(client.post("/tts", json={"stream": True} | fields), status, code, field)
    wait_until(lambda: not service.status().speaking)
    assert client.post("/tts", json={"text": "Hi.", "stream": True}).status_code == 200


def test_an_error_after_the_first_audio_is_raised_to_the_server_and_frees_the_place(
    client: FlaskClient, engine: ScriptedEngine, service: SpeechService, caplog: pytest.LogCaptureFixture
) -> None:
    engine.on("third", raising(RuntimeError("no")))
    answer = client.post("/tts", json={"text": FOUR, "stream": True})
    assert answer.status_code == 200
    with pytest.raises(BrokenPipeError):
        answer.get_data()
    assert f"request {answer.headers['X-Request-Id']}: its stream is broken off: synthesis_failed" in caplog.text
    wait_until(lambda: not service.status().speaking)
    assert client.post("/tts", json={"text": "Hi.", "stream": True}).status_code == 200


def test_a_client_that_closes_its_sending_side_sees_that_its_file_is_not_whole(
    client: FlaskClient, engine: ScriptedEngine, service: SpeechService
) -> None:
    """gunicorn ends the connection without the last chunk for this error, and logs no traceback."""

    def endless(sentence: Sentence) -> Iterator[Samples]:
        while True:
            yield tone("endless", seconds=0.01)

    engine.on("endless", endless)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        fields = {"text": "It is endless.", "stream": True}
        answer = client.post("/tts", json=fields, environ_overrides={"gunicorn.socket": ours}, buffered=False)
        pieces = answer.iter_encoded()
        assert next(pieces)[:4] == b"RIFF"
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(BrokenPipeError) as broken:
            for _ in pieces:
                pass
        assert broken.value.errno == errno.EPIPE
        answer.close()
    wait_until(lambda: not service.status().speaking)


def test_an_answer_that_nobody_reads_ends_with_its_connection(
    client: FlaskClient, engine: ScriptedEngine, service: SpeechService
) -> None:
    def endless(sentence: Sentence) -> Iterator[Samples]:
        while True:
            yield tone("endless", seconds=0.01)

    engine.on("endless", endless)
    answer = client.post("/tts", json={"text": "It is endless.", "stream": True}, buffered=False)
    assert answer.status_code == 200
    answer.close()
    wait_until(lambda: not service.status().speaking)
    assert engine.iterators_ended == 1
