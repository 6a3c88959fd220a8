"""The product as a user meets it: gunicorn, the real application, the embedded voice."""

import io
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.service.recordings import recording
from tests.serving.running import Answer, Server, send, serving, stream
from tests.web.fakes import assert_error_shape

TEXTS = ("你好，欢迎使用。", "Hello, and welcome.", "こんにちは、ようこそ。", "今天的 meeting 改到三点。")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("embedded"), "app:app") as server:
        assert server.post("/warmup").status_code == 200, server.log
        yield server


@pytest.fixture(scope="module")
def alone(server: Server) -> list[Answer]:
    """Every text spoken while nobody else speaks."""
    return [server.post("/tts", {"text": text, "seed": 7}) for text in TEXTS]


def test_it_is_ready_and_offers_three_languages(server: Server) -> None:
    assert server.get("/readyz").get_json()["engine"] == "kokoro"
    voices = server.get("/voices").get_json()["voices"]
    assert {"zh", "en", "ja"} <= {voice["language"] for voice in voices}
    assert sum(voice["default"] for voice in voices if voice["language"] == "zh") == 1


@pytest.mark.parametrize("number", range(len(TEXTS)), ids=["zh", "en", "ja", "mixed"])
def test_speech_is_sound_with_true_headers(alone: list[Answer], number: int) -> None:
    answer = alone[number]
    assert answer.status_code == 200, answer.data
    assert int(answer.headers["Content-Length"]) == len(answer.data)
    assert int.from_bytes(answer.data[4:8], "little") == len(answer.data) - 8
    assert int.from_bytes(answer.data[40:44], "little") == len(answer.data) - 44
    samples, rate_hz = soundfile.read(io.BytesIO(answer.data), dtype="float32")
    assert soundfile.info(io.BytesIO(answer.data)).subtype == "PCM_16"
    assert samples.ndim == 1
    assert rate_hz == int(answer.headers["X-Sample-Rate"])
    assert len(samples) / rate_hz == pytest.approx(float(answer.headers["X-Audio-Seconds"]), abs=0.001)
    assert 0.5 < len(samples) / rate_hz < 8.0
    assert float(np.sqrt(np.mean(samples**2))) > 0.01
    assert answer.headers["X-Seed"] == "7"


def test_a_stream_holds_the_samples_of_the_finished_file(server: Server, alone: list[Answer]) -> None:
    with stream(server, text=TEXTS[1], seed=7) as answer:
        assert answer.status == 200
        assert answer.read()[44:] == alone[1].data[44:]


@pytest.mark.parametrize("field", ["prompt_audio", "instruct_text"])
def test_what_it_cannot_do_is_refused_with_what_it_can(server: Server, field: str) -> None:
    assert server.get("/voices").get_json()["modes"] == ["sft"]
    fields, files = {"text": "Hello."}, {field: recording()} if field == "prompt_audio" else {}
    answer = send(server, "/tts", fields | ({} if files else {field: "Softly."}), files)
    assert "its own voices only" in assert_error_shape(answer, 400, "invalid_request", field)["message"]


def test_it_converts_nothing(server: Server) -> None:
    speaker = server.get("/voices").get_json()["voices"][0]["id"]
    answer = send(server, "/voice-conversion", {"speaker": speaker}, {"source_audio": recording()})
    assert_error_shape(answer, 400, "invalid_request", "source_audio")


def test_different_texts_differ_and_equal_seeds_do_not(server: Server, alone: list[Answer]) -> None:
    assert len({answer.data for answer in alone}) == len(TEXTS)
    assert server.post("/tts", {"text": TEXTS[1], "seed": 7}).data == alone[1].data


def test_parallel_clients_get_exactly_what_each_text_gets_alone(server: Server, alone: list[Answer]) -> None:
    with ThreadPoolExecutor(len(TEXTS)) as pool:
        together = list(pool.map(lambda text: server.post("/tts", {"text": text, "seed": 7}), TEXTS))
    assert [answer.data for answer in together] == [answer.data for answer in alone]


@pytest.mark.parametrize("name", ["flac", "ogg", "mp3"])
def test_every_format_decodes_to_the_same_duration(server: Server, alone: list[Answer], name: str) -> None:
    answer = server.post("/tts", {"text": TEXTS[1], "seed": 7, "format": name, "sample_rate": 24000})
    assert answer.status_code == 200, answer.data
    samples, rate_hz = soundfile.read(io.BytesIO(answer.data))
    assert rate_hz == int(answer.headers["X-Sample-Rate"])
    assert len(samples) / rate_hz == pytest.approx(float(alone[1].headers["X-Audio-Seconds"]), abs=0.06)


@pytest.mark.parametrize("text", ["", "   ", "。。。", "! ! !", "❤️", "👨‍👩‍👧", "\u200b", "\n\n", "..."])
def test_a_text_without_words_is_a_400(server: Server, text: str) -> None:
    assert_error_shape(server.post("/tts", {"text": text}), 400, "nothing_to_speak", "text")


def test_an_unknown_voice_is_a_400_that_lists_the_voices(server: Server) -> None:
    answer = server.post("/tts", {"text": "Hello.", "speaker": "alloy"})
    first = server.get("/voices").get_json()["voices"][0]["id"]
    assert first in assert_error_shape(answer, 400, "unknown_voice", "speaker")["message"]


def test_requests_leave_no_files(server: Server) -> None:
    folder = Path(tempfile.gettempdir())
    before = {path for place in (folder, server.script) for path in place.rglob("*")}
    for fields in ({"text": TEXTS[1]}, {"text": TEXTS[1], "format": "mp3"}, {"text": "x" * 5000}, {"text": ""}):
        server.post("/tts", fields)
    assert {path for place in (folder, server.script) for path in place.rglob("*")} == before
