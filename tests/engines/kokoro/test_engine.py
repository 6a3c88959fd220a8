"""Real speech: its length, that it is heard, that it follows the text, and that nothing else changes it."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from cosyvoice_web.engines import load_engine
from cosyvoice_web.engines.kokoro.engine import KokoroEngine
from cosyvoice_web.errors import InvalidRequest, NoSpeechProduced, UnknownVoice
from cosyvoice_web.settings import load_settings
from cosyvoice_web.speech import Manner, Voice, VoicePrompt
from cosyvoice_web.text.prepare import prepare_text
from tests.engines.kokoro.conftest import Speaker, sentence_of

RATE_HZ = 24_000
GREETING = sentence_of(("你好，世界。", "zh"))


def seconds(samples: np.ndarray[tuple[int], np.dtype[np.float32]]) -> float:
    return len(samples) / RATE_HZ


@pytest.mark.parametrize(
    ("runs", "voice_id", "shortest_seconds", "longest_seconds"),
    [
        ([("今天天气很好，我们一起去公园散步吧。", "zh")], "zf_xiaoxiao", 2.0, 6.0),
        ([("The quick brown fox jumps over the dog.", "en")], "am_michael", 1.5, 5.0),
        ([("公園を散歩しましょう。", "ja")], "jm_kumo", 1.0, 4.0),
        ([("我用 ", "zh"), ("Python", "en"), ("，", "zh"), ("はい。", "ja")], "zm_yunjian", 1.0, 5.0),
        ([("好", "zh")], "zf_xiaoxiao", 0.2, 2.0),
        ([("OK", "en")], "af_heart", 0.2, 2.0),
        ([("はい", "ja")], "jf_alpha", 0.2, 2.0),
    ],
)
def test_speech(
    speaker: Speaker, runs: list[tuple[str, str]], voice_id: str, shortest_seconds: float, longest_seconds: float
) -> None:
    samples = speaker.samples(sentence_of(*runs), voice_id)
    assert samples.dtype == np.float32
    assert shortest_seconds < seconds(samples) < longest_seconds
    assert 0.1 < np.abs(samples).max() <= 0.99 + 1e-6
    assert np.sqrt(np.mean(samples**2)) > 0.01


def test_equal_texts_are_equal_samples_whatever_the_seed_and_other_texts_are_not(speaker: Speaker) -> None:
    first = speaker.samples(GREETING, "zf_xiaoxiao", seed=1)
    speaker.samples(sentence_of(("别的话。", "zh")), "zf_xiaoxiao")
    assert np.array_equal(first, speaker.samples(GREETING, "zf_xiaoxiao", seed=2))
    assert not np.array_equal(first, speaker.samples(sentence_of(("你好，朋友。", "zh")), "zf_xiaoxiao"))
    assert not np.array_equal(first, speaker.samples(GREETING, "zm_yunjian"))


def test_speed_changes_the_length(speaker: Speaker) -> None:
    slow, fast = (seconds(speaker.samples(GREETING, "zf_xiaoxiao", speed)) for speed in (0.7, 1.25))
    assert slow / fast == pytest.approx(1.25 / 0.7, rel=0.2)


def test_a_long_sentence_comes_in_pieces_and_every_phoneme_reaches_the_model(
    speaker: Speaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: list[str] = []

    def record(_model: object, phonemes: str, style: object, speed: float) -> object:
        rendered.append(phonemes)
        return np.full(RATE_HZ, 0.5, np.float32)

    monkeypatch.setattr("cosyvoice_web.engines.kokoro.model.KokoroModel.synthesize", record)
    sentence = sentence_of(("天" * 1_500, "zh"))
    chunks = speaker.chunks(sentence, "zf_xiaoxiao")
    assert len(chunks) == len(rendered) > 40
    assert "".join(rendered).replace(" ", "").count("tʰjɛ→n") == 1_500


def test_closing_the_iterator_ends_the_work(speaker: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def record(_model: object, phonemes: str, style: object, speed: float) -> object:
        calls.append(phonemes)
        return np.full(RATE_HZ, 0.5, np.float32)

    monkeypatch.setattr("cosyvoice_web.engines.kokoro.model.KokoroModel.synthesize", record)
    voice = speaker.engine.prepare(Manner(speaker.voice("af_heart")))
    speech = voice.speak(sentence_of(("the quick brown fox " * 40, "en")), speed=1.0, seed=0)
    next(speech)
    speech.close()  # type: ignore[attr-defined]  # a generator
    assert len(calls) == 1


def test_the_model_is_not_called_for_nothing(speaker: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosyvoice_web.engines.kokoro.model.KokoroModel.synthesize", None)
    with pytest.raises(NoSpeechProduced):
        speaker.chunks(sentence_of(("。", "zh")), "zf_xiaoxiao")


def test_threads_do_not_disturb_one_another(speaker: Speaker) -> None:
    sentences = [
        sentence_of((text, language)) for text, language in (("你好。", "zh"), ("Hi.", "en"), ("はい。", "ja"))
    ]
    alone = [speaker.samples(sentence, "zf_xiaoxiao") for sentence in sentences]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda sentence: speaker.samples(sentence, "zf_xiaoxiao"), sentences))
    assert all(map(np.array_equal, alone, together))


def test_from_a_callers_text_to_speech(speaker: Speaker) -> None:
    sentences = prepare_text("你好，3天。Hello! こんにちは。", "auto", speaker.engine.languages)
    assert {run.language for sentence in sentences for run in sentence.runs} == {"zh", "en", "ja"}
    samples = np.concatenate([speaker.samples(sentence, "zf_xiaoxiao") for sentence in sentences])
    assert 2.0 < seconds(samples) < 9.0


@pytest.mark.parametrize(
    ("language", "voice_id"), [("zh", "zf_xiaoxiao"), ("en", "af_heart"), ("ja", "jf_alpha"), ("ko", "zf_xiaoxiao")]
)
def test_default_voices(engine: KokoroEngine, language: str, voice_id: str) -> None:
    assert engine.default_voice(language).id == voice_id


def test_what_it_cannot_do_is_refused(engine: KokoroEngine) -> None:
    voice = engine.voices[0]
    engine.check(Manner(voice))
    for manner, field in (
        (Manner(None, prompt=VoicePrompt(b"")), "prompt_audio"),
        (Manner(voice, instruction="sadly"), "instruct_text"),
    ):
        with pytest.raises(InvalidRequest) as caught:
            engine.check(manner)
        assert caught.value.field == field
    with pytest.raises(UnknownVoice, match="zf_xiaoxiao"):
        engine.prepare(Manner(Voice("nobody", "Nobody", "zh", "female")))


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def test_memory_stays_flat_over_mixed_lengths(speaker: Speaker) -> None:
    # onnxruntime keeps a plan for every length that it meets, unless told not to
    texts = ["天" * count for count in (9, 1, 6, 2, 8, 4)]
    speaker.samples(sentence_of((texts[0], "zh")), "zf_xiaoxiao")
    before = resident_mib()
    for text in texts:
        speaker.samples(sentence_of((text, "zh")), "zf_xiaoxiao")
    assert resident_mib() - before < 60


CHECK = """
import sys, warnings
warnings.simplefilter("error")
import cosyvoice_web.engines
heavy = {"onnxruntime", "numpy", "jieba", "hibari", "pyopenjtalk", "wetext", "torch"} & sys.modules.keys()
assert not heavy, heavy
from cosyvoice_web.settings import load_settings
settings = load_settings({"COSYVOICE_NUM_THREADS": "1"})
engine = cosyvoice_web.engines.load_engine(settings)
engine.warm_up()
engine.close()
"""


def test_it_loads_and_speaks_without_a_network_quietly_and_writes_nothing(tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rn", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system does not let a process cut itself off from the network")
    temporary, home = tmp_path / "tmp", tmp_path / "home"
    temporary.mkdir()
    home.mkdir()
    done = subprocess.run(
        [unshare, "-rn", sys.executable, "-c", CHECK],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(temporary), "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [*temporary.iterdir(), *home.iterdir()] == []


def test_the_configured_engine_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KokoroEngine, "load", lambda *given: given)
    settings = load_settings({"COSYVOICE_NUM_THREADS": "3"})
    assert load_engine(settings) == (3,)
