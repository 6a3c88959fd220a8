import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from cosyvoice_web.engines import load_engine
from cosyvoice_web.engines.cosyvoice import prepared_voice
from cosyvoice_web.engines.cosyvoice.engine import CosyVoiceEngine
from cosyvoice_web.engines.cosyvoice.language_model.decoding import TokenLimits
from cosyvoice_web.engines.cosyvoice.make_checkpoint import make_checkpoint
from cosyvoice_web.engines.cosyvoice.tokenizer import TextTokenizer
from cosyvoice_web.engines.cosyvoice.weights.files import ModelKind
from cosyvoice_web.errors import (
    ConfigurationError,
    FileMissing,
    InvalidRequest,
    RequestError,
    ShapeMismatch,
    UnknownVoice,
)
from cosyvoice_web.settings import load_settings
from cosyvoice_web.speech import AudioChunk, Manner, Samples, SpeechMode, Voice, VoicePrompt
from cosyvoice_web.text.prepare import prepare_text
from cosyvoice_web.text.sentences import Sentence
from tests.engines.cosyvoice.recordings import audio_file, speech_file, syllables
from tests.engines.cosyvoice.speaking import FORCED, HELLO, LONGER, RATE_HZ, joined, load, voice

RECORDING = speech_file(1.2)


def spoken(
    engine: CosyVoiceEngine, manner: Manner, sentence: Sentence = HELLO, *, seed: int = 1, speed: float = 1.0
) -> Samples:
    engine.check(manner)
    return joined(engine.prepare(manner).speak(sentence, speed=speed, seed=seed))


def seconds_of(sentence: Sentence, engine: CosyVoiceEngine) -> float:
    token_count = FORCED * len(engine._loaded().tokenizer.encode(sentence.spoken))
    return token_count / 50


# -- what it says of itself -------------------------------------------------------------------------------------------


def test_what_an_sft_directory_can_do(engine: CosyVoiceEngine) -> None:
    assert engine.name == "cosyvoice"
    assert engine.sample_rate_hz == RATE_HZ
    assert engine.native_speed_range == (0.5, 2.0)
    assert engine.languages == {"zh", "en", "ja", "yue", "ko"}
    names = ["中文女", "中文男", "日语男", "粤语女", "英文女", "英文男", "韩语女"]
    assert [voice.name for voice in engine.voices] == names
    assert engine.modes == set(SpeechMode) - {SpeechMode.INSTRUCT}


def test_what_other_directories_can_do(variants: dict[str, CosyVoiceEngine]) -> None:
    assert variants["instruct"].modes == set(SpeechMode) - {SpeechMode.CROSS_LINGUAL}
    assert variants["base"].modes == set(SpeechMode) - {SpeechMode.SFT, SpeechMode.INSTRUCT}
    assert variants["deaf"].modes == {SpeechMode.SFT}


def test_every_language_has_its_default_voice(engine: CosyVoiceEngine) -> None:
    defaults = {language: engine.default_voice(language).name for language in engine.languages}
    assert defaults == {"zh": "中文女", "en": "英文女", "ja": "日语男", "yue": "粤语女", "ko": "韩语女"}
    assert engine.default_voice("fr").name == "中文女"


def test_a_model_without_voices_asks_for_a_recording(variants: dict[str, CosyVoiceEngine]) -> None:
    with pytest.raises(InvalidRequest, match="send a recording") as refusal:
        variants["base"].default_voice("zh")
    assert refusal.value.field == "prompt_audio"
    assert len(spoken(variants["base"], Manner(None, VoicePrompt(RECORDING)))) > 0


# -- speech -----------------------------------------------------------------------------------------------------------


def test_a_seed_repeats_the_samples_and_another_changes_them(engine: CosyVoiceEngine) -> None:
    manner = Manner(voice(engine))
    first, again, other = (spoken(engine, manner, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert len(first) == len(other)
    assert not np.allclose(first, other, atol=1e-3)
    assert abs(len(first) / RATE_HZ - seconds_of(HELLO, engine)) < 0.02


def test_voices_differ(engine: CosyVoiceEngine) -> None:
    one, two = (spoken(engine, Manner(voice(engine, name))) for name in ("中文女", "英文男"))
    assert not np.allclose(one, two, atol=1e-3)


@pytest.mark.parametrize("stream", [False, True])
def test_speed_changes_the_length(engine: CosyVoiceEngine, stream: bool) -> None:
    prepared = engine.prepare(Manner(voice(engine)))
    fast = joined(prepared.speak(LONGER, speed=2.0, seed=1, stream=stream))
    assert abs(len(fast) / RATE_HZ - seconds_of(LONGER, engine) / 2) < 0.05


def test_a_stream_comes_in_growing_pieces_as_long_as_the_whole(engine: CosyVoiceEngine) -> None:
    prepared = engine.prepare(Manner(voice(engine)))
    pieces = [len(chunk.samples) for chunk in prepared.speak(LONGER, speed=1.0, seed=1, stream=True)]
    pieces = [length for length in pieces if length]
    whole = joined(prepared.speak(LONGER, speed=1.0, seed=1))
    assert len(pieces) >= 2
    assert pieces[0] < 0.8 * RATE_HZ
    assert abs(sum(pieces) - len(whole)) <= 3 * 256


def test_prepared_voices_at_once_do_not_disturb_each_other(engine: CosyVoiceEngine) -> None:
    manners = Manner(voice(engine)), Manner(None, VoicePrompt(RECORDING, "你好"))
    alone = [joined(engine.prepare(manner).speak(LONGER, speed=1.0, seed=3, stream=True)) for manner in manners]
    running = [engine.prepare(manner).speak(LONGER, speed=1.0, seed=3, stream=True) for manner in manners]
    pieces: list[list[AudioChunk]] = [[], []]
    for _ in range(100):
        for chunks, collected in zip(running, pieces, strict=True):
            collected += [chunk for chunk in (next(chunks, None),) if chunk is not None]
    for collected, expected in zip(pieces, alone, strict=True):
        assert np.array_equal(joined(collected), expected)


def test_nothing_on_the_model_changes(engine: CosyVoiceEngine) -> None:
    networks = engine._loaded().networks
    stages = (networks.language_model, networks.mel_decoder, networks.vocoder)
    before = [{name: tensor.clone() for name, tensor in stage.state_dict().items()} for stage in stages]
    spoken(engine, Manner(None, VoicePrompt(RECORDING, "你好")))
    for stage, tensors in zip(stages, before, strict=True):
        assert all(torch.equal(tensor, tensors[name]) for name, tensor in stage.state_dict().items())


def test_five_languages_in_one_text(engine: CosyVoiceEngine) -> None:
    sentences = prepare_text("你好 hello こんにちは 안녕하세요", "auto", engine.languages)
    prepared = engine.prepare(Manner(voice(engine)))
    for sentence in sentences:
        assert len(joined(prepared.speak(sentence, speed=2.0, seed=1))) > 0


# -- what the language model is told -----------------------------------------------------------------------------------


def told(engine: CosyVoiceEngine, monkeypatch: pytest.MonkeyPatch, text: str) -> str:
    """The text that reaches the language model for the sentences of `text`, read back from its token ids."""
    encoded: list[list[int]] = []
    limits = prepared_voice.LoadedModel.limits

    def recording_limits(model: prepared_voice.LoadedModel, ids: list[int]) -> TokenLimits:
        encoded.append(ids)
        return limits(model, ids)

    monkeypatch.setattr(prepared_voice.LoadedModel, "limits", recording_limits)
    prepared = engine.prepare(Manner(voice(engine)))
    for sentence in prepare_text(text, "auto", engine.languages, keep_speech_marks=engine.obeys_speech_marks):
        assert len(joined(prepared.speak(sentence, speed=2.0, seed=1))) > 0
    return "|".join(TextTokenizer().decode(ids) for ids in encoded)


MARKED = "他<strong>笑</strong>了[laughter]，<laughter>哈哈</laughter>[breath]。"


def test_the_instruct_model_is_told_the_marks_in_a_text(
    variants: dict[str, CosyVoiceEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert variants["instruct"].obeys_speech_marks
    assert told(variants["instruct"], monkeypatch, MARKED) == MARKED


def test_other_models_are_not(
    engine: CosyVoiceEngine, variants: dict[str, CosyVoiceEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not any(other.obeys_speech_marks for other in (engine, variants["base"], variants["trained"]))
    assert told(engine, monkeypatch, MARKED) == "他笑了，哈哈。"


def test_field_report_A4_nothing_inside_a_sentence_makes_the_model_stop(
    engine: CosyVoiceEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "今天是个好日子。好！是；对？我们现在就出发吧！"
    assert told(engine, monkeypatch, text) == "今天是个好日子。|好。是。对。我们现在就出发吧！"


# -- recordings, styles, conversion -----------------------------------------------------------------------------------


def test_the_four_ways_to_be_asked_for_speech_all_differ(
    engine: CosyVoiceEngine, variants: dict[str, CosyVoiceEngine]
) -> None:
    instruct, sft = variants["instruct"], engine  # on the same weights
    stored = voice(sft)
    manners = (
        Manner(stored),
        Manner(stored, instruction="Speak slowly."),
        Manner(None, VoicePrompt(RECORDING, "你好")),
        Manner(None, VoicePrompt(RECORDING)),
        Manner(None, VoicePrompt(speech_file(1.2, pitch_hz=300.0))),
    )
    sounds = [spoken(instruct if manner.instruction else sft, manner) for manner in manners]
    for index, sound in enumerate(sounds):
        for other in sounds[:index]:
            assert len(sound) != len(other) or not np.allclose(sound, other, atol=1e-3)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("speed", [1.0, 1.6])
def test_a_converted_recording_keeps_its_length(engine: CosyVoiceEngine, speed: float, stream: bool) -> None:
    manner = Manner(voice(engine))
    source = audio_file(syllables(2.0, 16_000), 16_000)
    engine.check(manner, converting=True)
    sound = joined(engine.prepare(manner).convert(source, speed=speed, seed=1, stream=stream))
    assert abs(len(sound) / RATE_HZ - 2.0 / speed) < 0.05


def test_the_same_recording_converted_to_two_voices_differs(engine: CosyVoiceEngine) -> None:
    sounds = [
        joined(engine.prepare(manner).convert(RECORDING, speed=1.0, seed=1))
        for manner in (Manner(voice(engine)), Manner(None, VoicePrompt(speech_file(1.0, pitch_hz=250.0))))
    ]
    assert len(sounds[0]) == len(sounds[1])
    assert not np.allclose(sounds[0], sounds[1], atol=1e-3)


SILENT = audio_file(np.zeros(2 * RATE_HZ, np.float32))


@pytest.mark.parametrize(
    ("variant", "manner", "converting", "field", "words"),
    [
        ("sft", Manner(None), False, "speaker", "Name a speaker"),
        ("sft", Manner(Voice("Bob", "Bob", "en", "")), False, "speaker", "No voice is called 'Bob'"),
        ("sft", Manner(Voice("中文女", "", "zh", ""), VoicePrompt(RECORDING)), False, "speaker", "not both"),
        (
            "sft",
            Manner(Voice("中文女", "", "zh", ""), instruction="Happy."),
            False,
            "instruct_text",
            "Instruct follows",
        ),
        ("instruct", Manner(None, VoicePrompt(RECORDING, "好"), "Happy."), False, "instruct_text", "not both"),
        ("instruct", Manner(Voice("中文女", "", "zh", ""), instruction="..."), False, "instruct_text", "nothing"),
        ("instruct", Manner(None, VoicePrompt(RECORDING)), False, "prompt_audio", "not trained for it"),
        ("sft", Manner(None, VoicePrompt(b"nonsense")), False, "prompt_audio", "not an audio file"),
        ("sft", Manner(None, VoicePrompt(RECORDING, "...")), False, "prompt_text", "nothing to speak"),
        ("base", Manner(Voice("中文女", "", "zh", "")), False, "speaker", "no trained voices"),
        ("deaf", Manner(None, VoicePrompt(RECORDING, "好")), False, "prompt_audio", "campplus.onnx"),
        ("deaf", Manner(Voice("中文女", "", "zh", "")), True, "source_audio", "campplus.onnx"),
    ],
)
def test_what_cannot_be_done_is_refused_at_once_with_the_reason(
    engine: CosyVoiceEngine,
    variants: dict[str, CosyVoiceEngine],
    variant: str,
    manner: Manner,
    converting: bool,
    field: str,
    words: str,
) -> None:
    asked = engine if variant == "sft" else variants[variant]
    with pytest.raises(RequestError, match=words) as refusal:
        asked.check(manner, converting=converting)
    assert refusal.value.field == field


def test_recordings_that_only_decoding_shows_to_be_useless_are_refused_when_prepared(engine: CosyVoiceEngine) -> None:
    manner = Manner(None, VoicePrompt(SILENT))
    engine.check(manner)
    with pytest.raises(InvalidRequest, match="silent") as refusal:
        engine.prepare(manner)
    assert refusal.value.field == "prompt_audio"
    with pytest.raises(InvalidRequest, match="silent") as refusal:
        list(engine.prepare(Manner(voice(engine))).convert(SILENT, speed=1.0, seed=1))
    assert refusal.value.field == "source_audio"


def test_preparing_refuses_too(engine: CosyVoiceEngine, variants: dict[str, CosyVoiceEngine]) -> None:
    with pytest.raises(InvalidRequest, match="cannot use recordings"):
        variants["deaf"].prepare(Manner(None, VoicePrompt(RECORDING)))
    with pytest.raises(UnknownVoice):
        engine.prepare(Manner(Voice("Bob", "Bob", "en", "")))


# -- loading ----------------------------------------------------------------------------------------------------------


def test_the_engine_is_loaded_by_the_settings(recipe_model: Path) -> None:
    settings = load_settings({"COSYVOICE_MODEL_DIR": str(recipe_model), "COSYVOICE_NUM_THREADS": "1"})
    loaded = load_engine(settings)
    assert loaded.name == "cosyvoice"
    loaded.warm_up()
    loaded.close()


def test_settings_without_a_directory_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="COSYVOICE_MODEL_DIR"):
        load_settings({"COSYVOICE_ENGINE": "cosyvoice"})


def test_recipe_weights_are_announced_as_noise(recipe_model: Path, caplog: pytest.LogCaptureFixture) -> None:
    load(recipe_model)
    assert "NOISE, NOT SPEECH" in caplog.text


def test_trained_weights_are_not(variants: dict[str, CosyVoiceEngine], caplog: pytest.LogCaptureFixture) -> None:
    load(variants["trained"]._loaded().files.directory)
    assert caplog.text == ""


def test_a_model_without_voices_warms_up_too(variants: dict[str, CosyVoiceEngine]) -> None:
    variants["base"].warm_up()
    variants["trained"].warm_up()


def test_broken_directories_raise_what_is_wrong(model_copy: Path) -> None:
    (model_copy / "hift.pt").unlink()
    with pytest.raises(FileMissing, match=r"hift\.pt"):
        load(model_copy)


def test_a_vocabulary_that_is_too_small_is_refused(recipe_model: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.yaml"
    small.write_text((recipe_model / "cosyvoice.yaml").read_text().replace("51866", "300"))
    make_checkpoint(small, tmp_path / "model", ModelKind.SFT)
    with pytest.raises(ShapeMismatch, match="300 text tokens"):
        load(tmp_path / "model")


def test_an_onnx_file_of_another_model_is_named_when_it_is_first_used(model_copy: Path) -> None:
    shutil.copy(model_copy / "campplus.onnx", model_copy / "speech_tokenizer_v1.onnx")
    engine = load(model_copy)
    with pytest.raises(ShapeMismatch, match=r"speech_tokenizer_v1\.onnx"):
        engine.prepare(Manner(None, VoicePrompt(RECORDING)))


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("vocab_size: 512", "vocab_size: 512\n    spk_embed_dim: 100", "llm.spk_embed_dim"),
        ("num_mels: 80", "num_mels: 64", "feat_extractor.num_mels"),
    ],
)
def test_networks_that_do_not_fit_together_are_refused_by_name(
    recipe_model: Path, tmp_path: Path, before: str, after: str, named: str
) -> None:
    model_dir = tmp_path / "model"
    shutil.copytree(recipe_model, model_dir)
    text = (model_dir / "cosyvoice.yaml").read_text(encoding="utf-8")
    assert before in text
    (model_dir / "cosyvoice.yaml").write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(ShapeMismatch, match=named):
        CosyVoiceEngine.load(model_dir, 1)
