"""Reads `spk2info.pt`: the voices of a model, trained ones and those a user has added from a recording.

Source: what CosyVoice, cli/cosyvoice.py, add_zero_shot_spk and save_spkinfo write.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import torch

from cosyvoice_web.engines.cosyvoice.config import CosyVoiceConfig
from cosyvoice_web.engines.cosyvoice.weights.file_checks import check_torch_file
from cosyvoice_web.errors import FileTruncated, ShapeMismatch
from cosyvoice_web.speech import Voice

SFT_VOICE_NAMES = ("中文女", "中文男", "日语男", "粤语女", "英文女", "英文男", "韩语女")
_LANGUAGES = {"中文": "zh", "粤语": "yue", "英文": "en", "日语": "ja", "韩语": "ko"}
_GENDERS = {"女": "female", "男": "male"}
_TRAINED_NAME = re.compile(f"({'|'.join(_LANGUAGES)})({'|'.join(_GENDERS)})")
UNKNOWN_LANGUAGE = "und"


@dataclass(frozen=True, slots=True)
class StoredPrompt:
    """What a recording and its text became: the start of the speech that the model continues.

    `text_tokens` (1, n) int64; `language_model_speech_tokens`, `mel_decoder_speech_tokens` (1, n) int64;
    `mel` (1, frames, mel channels) float32 log amplitudes.
    """

    text_tokens: torch.Tensor
    language_model_speech_tokens: torch.Tensor
    mel_decoder_speech_tokens: torch.Tensor
    mel: torch.Tensor


@dataclass(frozen=True, slots=True)
class StoredVoice:
    """One row of the table; embeddings are (1, speaker dim) float32. `prompt` None: a trained voice."""

    name: str
    language_model_embedding: torch.Tensor
    mel_decoder_embedding: torch.Tensor
    prompt: StoredPrompt | None = None


def describe_voices(voices: Mapping[str, StoredVoice]) -> tuple[Voice, ...]:
    """The menu, in the order of the table; the first voice of a language is its default.

    Trained names say language and gender (中文女); others get the language "und" and no gender.
    """
    menu: list[Voice] = []
    for name in voices:
        trained = _TRAINED_NAME.fullmatch(name)
        language = _LANGUAGES[trained[1]] if trained else UNKNOWN_LANGUAGE
        default = trained is not None and language not in {voice.language for voice in menu}
        menu.append(Voice(name, name, language, _GENDERS[trained[2]] if trained else "", default))
    return tuple(menu)


def read_voices(path: Path, config: CosyVoiceConfig) -> dict[str, StoredVoice]:
    """Every voice of a table, by name, in the table's order.

    Raises:
        FileMissing, FileTruncated: the file is not there, not whole, or no dictionary of tensors.
        ShapeMismatch: an entry is no voice, or a tensor of it does not fit the model.
    """
    check_torch_file(path)
    expected = "a dictionary of voices"
    try:
        table = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as reason:  # a damaged stream of instructions can fail in any way
        raise FileTruncated(str(path), "a file that torch cannot read as plain data", expected) from reason
    if not isinstance(table, dict):
        raise FileTruncated(str(path), f"a {type(table).__name__}", expected)
    return {str(name): _voice(path, str(name), entry, config) for name, entry in table.items()}


def _voice(path: Path, name: str, entry: object, config: CosyVoiceConfig) -> StoredVoice:
    reader = _Entry(path, name, entry if isinstance(entry, Mapping) else {})
    if "embedding" in reader.values:
        embedding = reader.embedding("embedding", config.language_model.speaker_dim)
        return StoredVoice(name, embedding, embedding)
    if "flow_embedding" not in reader.values:
        raise ShapeMismatch(str(path), f"voice {name!r} without embedding", "an `embedding`, or a stored recording")
    token_count = config.language_model.speech_token_count
    prompt = StoredPrompt(
        text_tokens=reader.tokens("prompt_text", config.language_model.text_token_count),
        language_model_speech_tokens=reader.tokens("llm_prompt_speech_token", token_count),
        mel_decoder_speech_tokens=reader.tokens("flow_prompt_speech_token", token_count),
        mel=reader.mel("prompt_speech_feat", config.mel_decoder.mel_channels),
    )
    return StoredVoice(
        name,
        reader.embedding("llm_embedding", config.language_model.speaker_dim),
        reader.embedding("flow_embedding", config.mel_decoder.speaker_dim),
        prompt,
    )


class _Entry:
    """Typed reading of one row, with errors that name the voice."""

    def __init__(self, path: Path, name: str, values: Mapping[object, object]) -> None:
        self._path = str(path)
        self._name = name
        self.values = values

    def embedding(self, key: str, speaker_dim: int) -> torch.Tensor:
        tensor = self._floats(key, f"({1}, {speaker_dim}) numbers")
        if tensor.numel() != speaker_dim or tensor.dim() > 2:
            self._wrong(key, f"shape {tuple(tensor.shape)}", f"shape (1, {speaker_dim})")
        return tensor.reshape(1, speaker_dim)

    def mel(self, key: str, mel_channels: int) -> torch.Tensor:
        tensor = self._floats(key, f"(1, frames, {mel_channels}) numbers")
        if tensor.dim() != 3 or tensor.shape[0] != 1 or tensor.shape[2] != mel_channels or tensor.shape[1] == 0:
            self._wrong(key, f"shape {tuple(tensor.shape)}", f"shape (1, frames, {mel_channels})")
        return tensor

    def tokens(self, key: str, count: int) -> torch.Tensor:
        tensor = self.values.get(key)
        if not isinstance(tensor, torch.Tensor) or tensor.is_floating_point() or tensor.is_complex():
            self._wrong(key, f"{_kind(tensor)}", "whole numbers of shape (1, tokens)")
        if tensor.dim() != 2 or tensor.shape[0] != 1:
            self._wrong(key, f"shape {tuple(tensor.shape)}", "shape (1, tokens)")
        if tensor.numel() and not 0 <= int(tensor.min()) <= int(tensor.max()) < count:
            self._wrong(key, f"ids from {int(tensor.min())} to {int(tensor.max())}", f"ids from 0 to {count - 1}")
        return tensor.to(torch.int64)

    def _floats(self, key: str, expected: str) -> torch.Tensor:
        tensor = self.values.get(key)
        if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point():
            self._wrong(key, _kind(tensor), expected)
        if not bool(torch.isfinite(tensor).all()):
            self._wrong(key, "numbers that are not finite", expected)
        return tensor.to(torch.float32)

    def _wrong(self, key: str, found: str, expected: str) -> NoReturn:
        raise ShapeMismatch(self._path, f"{key} of voice {self._name!r}: {found}", expected)


def _kind(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor of {value.dtype}"
    return "nothing" if value is None else f"a {type(value).__name__}"
