"""A CosyVoice model through the whole server: gunicorn, the real application, recipe weights of the tiny size."""

import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cosyvoice_web.engines.cosyvoice.make_checkpoint import SIZES, make_checkpoint
from cosyvoice_web.engines.cosyvoice.voices import SFT_VOICE_NAMES
from cosyvoice_web.engines.cosyvoice.weights.files import ModelKind
from tests.engines.cosyvoice.recordings import audio_file, speech_file, syllables
from tests.serving.running import Answer, Server, send, serving, stream
from tests.web.fakes import assert_error_shape

RATE_HZ = 22_050
TEXT = "你好，hello。"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("cosyvoice")
    make_checkpoint(SIZES["tiny"], folder / "model")
    with serving(folder, "app:app", model_dir=folder / "model", num_threads=1) as server:
        assert server.post("/warmup").status_code == 200, server.log
        yield server


def sound_of(answer: Answer) -> np.ndarray:
    assert answer.status_code == 200, answer.data
    samples, rate_hz = soundfile.read(io.BytesIO(answer.data), dtype="float32")
    assert rate_hz == RATE_HZ
    assert np.abs(samples).max() > 0.01
    return np.asarray(samples)


def test_page_and_menu_are_those_of_the_model(server: Server) -> None:
    page = server.get("/")
    assert (page.status_code, page.content_type.split(";")[0]) == (200, "text/html")
    assert server.get("/readyz").get_json()["engine"] == "cosyvoice"
    menu = server.get("/voices").get_json()
    assert [voice["id"] for voice in menu["voices"]] == list(SFT_VOICE_NAMES)
    assert set(menu["modes"]) == {"sft", "zero_shot", "cross_lingual", "voice_conversion"}
    assert set(menu["languages"]) == {"zh", "en", "ja", "yue", "ko"}
    assert "NOISE, NOT SPEECH" in server.log


def test_a_seed_repeats_the_file_in_any_voice(server: Server) -> None:
    first, again, other, voice = (
        server.post("/tts", {"text": TEXT, "seed": seed, "speaker": speaker})
        for seed, speaker in ((7, "中文女"), (7, "中文女"), (8, "中文女"), (7, "英文男"))
    )
    assert first.headers["X-Seed"] == "7"
    assert len(sound_of(first)) > RATE_HZ // 2
    assert first.data == again.data
    assert len({sound_of(answer).tobytes() for answer in (first, other, voice)}) == 3


def test_five_languages_are_spoken_in_one_request(server: Server) -> None:
    """Each for its share: left out, a language would leave a shorter file."""
    sentences = ("你好，世界。", "Good morning, everyone.", "おはよう。", "안녕하세요.")
    alone = [len(sound_of(server.post("/tts", {"text": text, "seed": 7, "speaker": "英文男"}))) for text in sentences]
    together = server.post("/tts", {"text": " ".join(sentences), "seed": 7, "speaker": "英文男"})
    assert len(sound_of(together)) == pytest.approx(sum(alone), rel=0.02)
    assert together.headers["X-Speaker"] == "%E8%8B%B1%E6%96%87%E7%94%B7"
    assert len(sound_of(server.post("/tts", {"text": "你好。", "language": "yue", "speaker": "粤语女"}))) > 2_000


def test_speed_comes_from_the_model(server: Server) -> None:
    plain, fast = (len(sound_of(server.post("/tts", {"text": TEXT, "seed": 7, "speed": speed}))) for speed in (1, 2))
    assert fast == pytest.approx(plain / 2, rel=0.05)


def test_a_sentence_streams_in_pieces_as_long_as_the_whole(server: Server) -> None:
    text = "今天天气很好，我们一起去公园散步吧。"
    with stream(server, text=text, seed=7) as answer:
        assert answer.status == 200
        streamed = (len(answer.read()) - 44) // 2
    whole = len(sound_of(server.post("/tts", {"text": text, "seed": 7})))
    assert streamed == pytest.approx(whole, abs=4 * 256)


@pytest.mark.parametrize(
    ("path", "fields", "file"),
    [("/tts", {"text": TEXT}, "prompt_audio"), ("/voice-conversion", {"speaker": "中文女"}, "source_audio")],
)
def test_recordings_stream_too(server: Server, path: str, fields: dict[str, str], file: str) -> None:
    answer = send(server, path, fields | {"stream": "true"}, {file: speech_file(1.5)})
    assert answer.headers["Transfer-Encoding"] == "chunked"
    assert ("X-Speaker" in answer.headers) is (file == "source_audio")
    assert len(sound_of(answer)) > RATE_HZ // 2


@pytest.mark.parametrize("words", [{}, {"prompt_text": "你好吗"}])
def test_a_recording_lends_its_voice(server: Server, words: dict[str, str]) -> None:
    one, two = (
        send(server, "/tts", {"text": TEXT, "seed": "7"} | words, {"prompt_audio": speech_file(1.5, pitch_hz)})
        for pitch_hz in (120.0, 260.0)
    )
    assert not np.array_equal(sound_of(one), sound_of(two))


@pytest.mark.parametrize("to", ["speaker", "prompt_audio"])
def test_a_recording_is_re_spoken(server: Server, to: str) -> None:
    source = {"source_audio": audio_file(syllables(1.5, 16_000), 16_000)}
    voice = {"speaker": "中文男"} if to == "speaker" else {}
    target = {} if to == "speaker" else {"prompt_audio": speech_file(1.0, 260.0)}
    answer = send(server, "/voice-conversion", {"seed": "1"} | voice, source | target)
    assert len(sound_of(answer)) / RATE_HZ == pytest.approx(1.5, abs=0.05)


@pytest.mark.parametrize(
    ("path", "fields", "files", "field"),
    [
        ("/tts", {"text": TEXT}, {"prompt_audio": audio_file(syllables(0.2))}, "prompt_audio"),
        ("/tts", {"text": TEXT}, {"prompt_audio": audio_file(syllables(40.0, 8_000), 8_000)}, "prompt_audio"),
        ("/tts", {"text": TEXT, "prompt_text": "..."}, {"prompt_audio": speech_file()}, "prompt_text"),
        ("/tts", {"text": TEXT, "instruct_text": "Happy."}, {}, "instruct_text"),
        ("/tts", {"text": TEXT, "speaker": "Bob"}, {}, "speaker"),
        ("/voice-conversion", {"speaker": "中文女"}, {"source_audio": audio_file(syllables(0.2))}, "source_audio"),
    ],
)
@pytest.mark.parametrize("streamed", ["false", "true"])
def test_what_cannot_be_used_is_a_clear_400(
    server: Server, path: str, fields: dict[str, str], files: dict[str, bytes], field: str, streamed: str
) -> None:
    assert_error_shape(send(server, path, fields | {"stream": streamed}, files), 400, field=field)


@pytest.mark.parametrize(
    ("kind", "modes", "fields", "files"),
    [
        (ModelKind.BASE, {"zero_shot", "cross_lingual"}, {}, {"prompt_audio": speech_file()}),
        (ModelKind.INSTRUCT, {"sft", "instruct"}, {"instruct_text": "A calm speaker."}, {}),
    ],
)
def test_the_other_directories_offer_what_they_hold(
    tmp_path: Path, kind: ModelKind, modes: set[str], fields: dict[str, str], files: dict[str, bytes]
) -> None:
    make_checkpoint(SIZES["tiny"], tmp_path / "model", kind)
    with serving(tmp_path, "app:app", model_dir=tmp_path / "model", num_threads=1) as server:
        assert server.post("/warmup").status_code == 200, server.log
        assert set(server.get("/voices").get_json()["modes"]) >= modes
        assert len(sound_of(send(server, "/tts", {"text": TEXT} | fields, files))) > RATE_HZ // 3
        if kind is ModelKind.BASE:
            assert_error_shape(server.post("/tts", {"text": TEXT}), 400, "invalid_request", "prompt_audio")


def test_a_broken_directory_leaves_the_server_up_and_says_why(tmp_path: Path) -> None:
    make_checkpoint(SIZES["tiny"], tmp_path / "model")
    (tmp_path / "model" / "flow.pt").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with serving(tmp_path, "app:app", model_dir=tmp_path / "model", num_threads=1) as server:
        server.until({"state": "failed"})
        assert server.get("/healthz").status_code == 200
        assert server.get("/readyz").status_code == 503
        assert_error_shape(server.post("/tts", {"text": TEXT}), 503, "engine_failed")
        assert "flow.pt" in server.log


@pytest.fixture
def full_model(tmp_path: Path) -> Iterator[Path]:
    """1.7 GB, removed at the end."""
    directory = tmp_path / "model"
    make_checkpoint(SIZES["full"], directory)
    yield directory
    shutil.rmtree(directory)


@pytest.mark.slow
def test_the_published_size_goes_through_too(full_model: Path, tmp_path: Path) -> None:
    with serving(tmp_path, "app:app", model_dir=full_model, request_timeout_seconds=900) as server:
        assert server.post("/warmup").status_code == 200, server.log
        assert len(sound_of(server.post("/tts", {"text": "你好。", "seed": 7}))) > RATE_HZ // 3
        answer = send(server, "/tts", {"text": "你好。"}, {"prompt_audio": speech_file(1.0)})
        assert len(sound_of(answer)) > RATE_HZ // 3
