import io
import wave
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from cosyvoice_web import errors
from cosyvoice_web.speech import AudioFormat, AudioOutput, ConversionRequest, SpeechRequest, VoicePrompt
from cosyvoice_web.web.factory import create_app
from tests.web.fakes import VOICES, FakeService, Script, assert_error_shape, make_settings

TEXT = {"text": "Hello."}
GBK = "你好，世界".encode("gbk")


def test_speech_comes_with_every_header(client: FlaskClient, script: Script) -> None:
    script.data = b"x" * 12_345
    answer = client.post("/tts", json={"text": "Hello there, world!", "seed": 42, "sample_rate": 16000})
    assert answer.status_code == 200
    assert answer.data == script.data
    headers = dict(answer.headers)
    assert len(headers.pop("X-Request-Id")) == 32
    for name in ("Content-Security-Policy", "Permissions-Policy", "Date", "Server", "RateLimit-Limit"):
        headers.pop(name, None)
    assert headers == {
        "Content-Type": "audio/wav",
        "Content-Length": "12345",
        "Content-Disposition": "attachment; filename=\"Hello-there-world.wav\"; filename*=UTF-8''Hello-there-world.wav",
        "X-Speaker": "zf_001",
        "X-Sample-Rate": "16000",
        "X-Audio-Seconds": "2.000",
        "X-Synthesis-Seconds": "0.500",
        "X-Real-Time-Factor": "0.250",
        "X-Seed": "42",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "RateLimit-Remaining": headers["RateLimit-Remaining"],
        "RateLimit-Reset": headers["RateLimit-Reset"],
    }


@pytest.mark.parametrize(
    ("name", "media_type"),
    [("wav", "audio/wav"), ("flac", "audio/flac"), ("ogg", "audio/ogg"), ("mp3", "audio/mpeg")],
)
def test_type_and_file_name_follow_the_format(client: FlaskClient, script: Script, name: str, media_type: str) -> None:
    answer = client.post("/tts", data={"text": "Hello.", "format": name.upper()})
    assert answer.content_type == media_type
    assert (
        answer.headers["Content-Disposition"] == f"attachment; filename=\"Hello.{name}\"; filename*=UTF-8''Hello.{name}"
    )
    assert script.calls[0].output.format is AudioFormat[name.upper()]


def test_the_request_reaches_the_service_unchanged(client: FlaskClient, script: Script) -> None:
    text = " 你好，\r\n*world* 😀 "
    client.post("/tts", json={"text": text, "speaker": "中文女", "speed": 0.5})
    assert script.calls[0].request == SpeechRequest(text, "中文女", "auto", 0.5, None)
    assert script.calls[0].output == AudioOutput(AudioFormat.WAV, None)
    assert script.calls[0].is_abandoned() is False  # no socket to look at here


@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "multipart/form-data"])
def test_forms_do_as_well_as_json(client: FlaskClient, script: Script, content_type: str) -> None:
    answer = client.post("/tts", data={"text": "你好", "speed": "1.5", "seed": "7"}, content_type=content_type)
    assert answer.status_code == 200
    assert script.calls[0].request == SpeechRequest("你好", speed=1.5, seed=7)


def test_a_recording_and_its_text_reach_the_service(client: FlaskClient, script: Script) -> None:
    script.voice = None
    wav = bytes(range(256)) * 8
    form = {"text": "你好", "prompt_text": "是我。", "prompt_audio": (io.BytesIO(wav), "../我.wav")}
    answer = client.post("/tts", data=form)
    assert answer.status_code == 200
    assert script.calls[0].request == SpeechRequest("你好", prompt=VoicePrompt(wav, "是我。"))
    assert "X-Speaker" not in answer.headers
    assert answer.headers["X-Seed"] == "7"


def test_a_style_reaches_the_service_in_every_body_type(client: FlaskClient, script: Script) -> None:
    fields = {"text": "Hi.", "instruct_text": "Softly."}
    for body in ({"json": fields}, {"data": fields}, {"data": fields, "content_type": "multipart/form-data"}):
        assert client.post("/tts", **body).status_code == 200
    assert [call.request for call in script.calls] == [SpeechRequest("Hi.", instruction="Softly.")] * 3


def test_a_recording_is_converted(client: FlaskClient, script: Script) -> None:
    form = {"speaker": "zf_001", "format": "flac", "source_audio": (io.BytesIO(b"wav"), "a.wav")}
    answer = client.post("/voice-conversion", data=form)
    assert answer.status_code == 200
    assert script.calls[0].request == ConversionRequest(b"wav", "zf_001")
    assert answer.content_type == "audio/flac"
    assert "filename*=UTF-8''speech.flac" in answer.headers["Content-Disposition"]


def test_a_voice_with_a_chinese_name_is_percent_encoded(client: FlaskClient, script: Script) -> None:
    script.voice = VOICES[1]
    assert client.post("/tts", json=TEXT).headers["X-Speaker"] == "%E4%B8%AD%E6%96%87%E5%A5%B3"


def test_no_audio_at_all_divides_by_nothing(client: FlaskClient, script: Script) -> None:
    script.audio_seconds = 0.0
    assert client.post("/tts", json=TEXT).headers["X-Real-Time-Factor"] == "0.000"


def test_voices_are_listed_in_the_order_of_the_menu(client: FlaskClient) -> None:
    answer = client.get("/voices")
    assert answer.status_code == 200
    assert answer.get_json() == {
        "voices": [
            {"id": "zf_001", "name": "Xiaoxiao", "language": "zh", "gender": "female", "default": True},
            {"id": "中文女", "name": "中文女", "language": "zh", "gender": "female", "default": False},
            {"id": "af_heart", "name": "Heart", "language": "en", "gender": "female", "default": True},
        ],
        "modes": ["sft", "zero_shot"],
        "languages": ["en", "zh"],
    }
    assert "中文女" in answer.get_data(as_text=True)


def test_warm_up_says_how_long_loading_took_and_may_be_repeated(client: FlaskClient) -> None:
    for _ in range(3):
        answer = client.post("/warmup")
        assert answer.status_code == 200
        assert answer.get_json()["state"] == "ready"
        assert answer.get_json()["seconds"] == 1.25


# --- requests that are refused ---


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b'{"text": "a", "text": "b"}', b"[" * 100_000, b""])
def test_broken_json_is_a_400(client: FlaskClient, script: Script, body: bytes) -> None:
    assert_error_shape(client.post("/tts", data=body, content_type="application/json"), 400, "invalid_request")
    assert script.calls == []


def test_gbk_is_a_400(client: FlaskClient) -> None:
    answer = client.post("/tts", data=b"text=" + GBK, content_type="application/x-www-form-urlencoded")
    assert "UTF-8" in assert_error_shape(answer, 400, "invalid_request")["message"]


def test_a_wrong_field_is_named(client: FlaskClient) -> None:
    assert_error_shape(client.post("/tts", json=TEXT | {"speed": 3}), 400, "invalid_request", "speed")
    assert_error_shape(client.post("/tts", json=TEXT | {"format": "aiff"}), 400, "unsupported_format", "format")
    assert_error_shape(client.post("/tts", json={}), 400, "invalid_request", "text")


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/xml"])
def test_another_content_type_is_a_415_that_names_the_accepted_ones(
    client: FlaskClient, content_type: str | None
) -> None:
    error = assert_error_shape(
        client.post("/tts", data=b"hello", content_type=content_type), 415, "unsupported_media_type"
    )
    for accepted in ("application/json", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert accepted in error["message"]


@pytest.mark.parametrize("content_type", ["application/json", "application/x-www-form-urlencoded"])
def test_a_body_over_the_limit_is_a_413(content_type: str) -> None:
    client = create_app(make_settings(max_body_bytes=1024), FakeService()).test_client()
    body = b'{"text": "' + b"a" * 1024 + b'"}'
    error = assert_error_shape(client.post("/tts", data=body, content_type=content_type), 413, "body_too_large")
    assert "1024 bytes" in error["message"]
    chunked = client.post(
        "/tts",
        input_stream=io.BytesIO(body),
        content_type=content_type,
        headers={"Transfer-Encoding": "chunked"},
        environ_overrides={"wsgi.input_terminated": True},
    )
    assert_error_shape(chunked, 413, "body_too_large")


@pytest.mark.parametrize("multipart", [False, True])
def test_a_form_of_too_many_fields_is_a_413_that_says_so(client: FlaskClient, multipart: bool) -> None:
    fields = {f"f{number}": "1" for number in range(101)}
    content_type = "multipart/form-data" if multipart else "application/x-www-form-urlencoded"
    error = assert_error_shape(client.post("/tts", data=fields, content_type=content_type), 413, "body_too_large")
    assert "fields" in error["message"]
    assert "100" in error["message"]


@pytest.mark.parametrize("chunked", [False, True])
def test_recordings_have_a_limit_of_their_own(script: Script, chunked: bool) -> None:
    client = create_app(make_settings(max_body_bytes=1024, max_upload_bytes=5000), FakeService(script)).test_client()

    def send(size: int) -> TestResponse:
        head = b'--b\r\nContent-Disposition: form-data; name="text"\r\n\r\nHi.\r\n'
        head += b'--b\r\nContent-Disposition: form-data; name="prompt_audio"; filename="a"\r\n\r\n'
        foot = b"\r\n--b--\r\n"
        body = head + b"a" * (size - len(head) - len(foot)) + foot
        options: dict[str, Any] = {"data": body}
        if chunked:
            options = {"input_stream": io.BytesIO(body), "environ_overrides": {"wsgi.input_terminated": True}}
        return client.post("/tts", content_type="multipart/form-data; boundary=b", **options)

    assert send(5000).status_code == 200
    assert "5000 bytes" in assert_error_shape(send(5001), 413, "body_too_large")["message"]
    assert len(script.calls) == 1


def test_a_chunked_body_of_exactly_the_limit_is_read(script: Script) -> None:
    client = create_app(make_settings(max_body_bytes=1024), FakeService(script)).test_client()
    answer = client.post(
        "/tts",
        input_stream=io.BytesIO(b"text=" + b"a" * 1019),
        content_type="application/x-www-form-urlencoded",
        headers={"Transfer-Encoding": "chunked"},
        environ_overrides={"wsgi.input_terminated": True},
    )
    assert answer.status_code == 200
    assert len(script.calls[0].request.text) == 1019


def test_a_chunked_body_within_the_limit_is_read(client: FlaskClient, script: Script) -> None:
    answer = client.post(
        "/tts",
        input_stream=io.BytesIO(b'{"text": "Hello."}'),
        content_type="application/json",
        headers={"Transfer-Encoding": "chunked"},
        environ_overrides={"wsgi.input_terminated": True},
    )
    assert answer.status_code == 200
    assert script.calls[0].request.text == "Hello."


def test_a_text_beyond_the_engine_limit_is_a_413_with_both_numbers(client: FlaskClient, script: Script) -> None:
    script.error = errors.TextTooLong(limit=3000, actual=3001)
    error = assert_error_shape(client.post("/tts", json=TEXT), 413, "text_too_long", "text")
    assert "3001" in error["message"]
    assert "3000" in error["message"]


@pytest.mark.parametrize("name", ["../../etc/passwd", "a\r\nX-Evil: 1", "<script>", "\x00"])
def test_a_hostile_voice_name_is_just_an_unknown_voice(client: FlaskClient, script: Script, name: str) -> None:
    script.error = errors.UnknownVoice(name, ["zf_001", "af_heart"])
    answer = client.post("/tts", json=TEXT | {"speaker": name})
    assert "zf_001, af_heart" in assert_error_shape(answer, 400, "unknown_voice", "speaker")["message"]


def test_before_the_engine_is_ready_speech_and_voices_are_503(client: FlaskClient, script: Script) -> None:
    script.error = errors.EngineNotReady("loading", retry_after_seconds=3)
    for answer in (client.post("/tts", json=TEXT), client.get("/voices")):
        assert_error_shape(answer, 503, "not_ready")
        assert answer.headers["Retry-After"] == "3"


def test_audio_is_not_touched_on_its_way(client: FlaskClient, script: Script) -> None:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((1, 2, 24_000, 0, "NONE", ""))
        file.writeframes(bytes(range(256)) * 100)
    script.data = buffer.getvalue()
    answer = client.post("/tts", json=TEXT)
    assert answer.data == script.data
    assert int(answer.headers["Content-Length"]) == len(script.data)
