import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from cosyvoice_web.engines.cosyvoice.config import read_config
from cosyvoice_web.engines.cosyvoice.make_checkpoint import SIZES
from cosyvoice_web.engines.cosyvoice.voices import SFT_VOICE_NAMES, describe_voices, read_voices
from cosyvoice_web.engines.cosyvoice.weights.checkpoint_file import open_checkpoint
from cosyvoice_web.errors import CheckpointError, FileTruncated, ShapeMismatch

CONFIG = read_config(SIZES["tiny"])


def zero_shot_entry() -> dict[str, Any]:
    tokens = torch.randint(0, 512, (1, 30), dtype=torch.int32)
    return {
        "prompt_text": torch.tensor([[7, 8, 9]], dtype=torch.int32),
        "prompt_text_len": torch.tensor([3], dtype=torch.int32),
        "llm_prompt_speech_token": tokens,
        "llm_prompt_speech_token_len": torch.tensor([30], dtype=torch.int32),
        "flow_prompt_speech_token": tokens,
        "flow_prompt_speech_token_len": torch.tensor([30], dtype=torch.int32),
        "prompt_speech_feat": torch.randn(1, 51, 80),
        "prompt_speech_feat_len": torch.tensor([51], dtype=torch.int32),
        "llm_embedding": torch.randn(1, 192),
        "flow_embedding": torch.randn(1, 192),
    }


def save(tmp_path: Path, table: object) -> Path:
    path = tmp_path / "spk2info.pt"
    torch.save(table, path)
    return path


def test_the_seven_trained_voices(recipe_model: Path) -> None:
    voices = read_voices(recipe_model / "spk2info.pt", CONFIG)
    assert tuple(voices) == SFT_VOICE_NAMES
    menu = {voice.id: (voice.language, voice.gender, voice.default) for voice in describe_voices(voices)}
    assert menu == {
        "中文女": ("zh", "female", True),
        "中文男": ("zh", "male", False),
        "日语男": ("ja", "male", True),
        "粤语女": ("yue", "female", True),
        "英文女": ("en", "female", True),
        "英文男": ("en", "male", False),
        "韩语女": ("ko", "female", True),
    }
    for voice in voices.values():
        assert voice.language_model_embedding.shape == (1, 192)
        assert voice.prompt is None


def test_a_voice_that_a_user_has_added_from_a_recording(tmp_path: Path) -> None:
    entry = zero_shot_entry()
    voices = read_voices(save(tmp_path, {"中文女": {"embedding": torch.randn(192)}, "Anna": entry}), CONFIG)
    anna = voices["Anna"]
    assert anna.prompt is not None
    assert torch.equal(anna.prompt.mel, entry["prompt_speech_feat"])
    assert torch.equal(anna.prompt.mel_decoder_speech_tokens, entry["flow_prompt_speech_token"].long())
    assert torch.equal(anna.mel_decoder_embedding, entry["flow_embedding"])
    assert voices["中文女"].language_model_embedding.shape == (1, 192)
    assert [(voice.language, voice.default) for voice in describe_voices(voices)] == [("zh", True), ("und", False)]


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ({"embedding": torch.ones(1, 191)}, "191"),
        ({"embedding": torch.ones(192, 1, 1)}, r"\(192, 1, 1\)"),
        ({"embedding": torch.full((1, 192), float("nan"))}, "not finite"),
        ({"embedding": [1.0, 2.0]}, "a list"),
        ({"embedding": torch.ones(1, 192, dtype=torch.int64)}, "int64"),
        ({}, "without embedding"),
        (torch.ones(1, 192), "without embedding"),
        (zero_shot_entry() | {"prompt_speech_feat": torch.ones(1, 51, 79)}, "prompt_speech_feat"),
        (zero_shot_entry() | {"prompt_text": torch.ones(3, dtype=torch.int32)}, "prompt_text"),
        (zero_shot_entry() | {"flow_prompt_speech_token": torch.tensor([[512]])}, "ids from 512 to 512"),
        ({name: value for name, value in zero_shot_entry().items() if name != "llm_embedding"}, "llm_embedding"),
    ],
)
def test_an_entry_that_is_no_voice_is_named(tmp_path: Path, entry: object, named: str) -> None:
    with pytest.raises(ShapeMismatch, match=named) as caught:
        read_voices(save(tmp_path, {"甲": entry}), CONFIG)
    assert "甲" in str(caught.value)


@pytest.mark.parametrize("table", [[1, 2], torch.ones(3), "text"])
def test_a_table_that_is_no_dictionary(tmp_path: Path, table: object) -> None:
    with pytest.raises(FileTruncated):
        read_voices(save(tmp_path, table), CONFIG)


def test_random_bytes_are_no_table(tmp_path: Path) -> None:
    path = tmp_path / "spk2info.pt"
    for content in (b"", b"\x80\x04junk", bytes(500)):
        path.write_bytes(content)
        with pytest.raises(CheckpointError):
            read_voices(path, CONFIG)


@pytest.mark.parametrize("instructions", [b"\x80\x020.", b"\x80\x02}}K\x01s.", b"\x80\x02K\x01Q."])
def test_damaged_instructions_in_a_whole_archive_are_refused(tmp_path: Path, instructions: bytes) -> None:
    path, damaged = tmp_path / "whole.pt", tmp_path / "spk2info.pt"
    torch.save({"a": torch.zeros(1)}, path)
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(damaged, "w") as archive:
        for name in whole.namelist():
            archive.writestr(name, instructions if name.endswith("/data.pkl") else whole.read(name))
    with pytest.raises(FileTruncated):
        read_voices(damaged, read_config(SIZES["tiny"]))
    with pytest.raises(FileTruncated):
        open_checkpoint(damaged)
