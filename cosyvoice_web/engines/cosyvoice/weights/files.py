"""Finds and checks the files of a model directory, and tells what such a directory can do.

What tells the three published models apart. All have the same files, the same `cosyvoice.yaml` and the same tensor
names, so weights alone cannot say which they are:

- Instruct follows a style text. It is recognised by the marker file `cosyvoice-web.json` (`{"kind": "instruct"}`,
  written by `download` and `make-checkpoint`, or by hand), else by its published name in the path,
  `CosyVoice-300M-Instruct`.
- base has no trained voices: an empty speaker table, or none under its published name, `CosyVoice-300M`.
- SFT is every other directory with a speaker table.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from cosyvoice_web.engines.cosyvoice.config import CosyVoiceConfig, read_config
from cosyvoice_web.engines.cosyvoice.config_section import FAMILY
from cosyvoice_web.engines.cosyvoice.voices import StoredVoice, read_voices
from cosyvoice_web.engines.cosyvoice.weights.file_checks import check_onnx_file, check_present, check_torch_file
from cosyvoice_web.engines.cosyvoice.weights.lite_files import check_lite_file, lite_name, read_manifest
from cosyvoice_web.errors import CheckpointError, FileMissing, FileTruncated, WrongModelFamily
from cosyvoice_web.speech import SpeechMode

CONFIG, LANGUAGE_MODEL, MEL_DECODER, VOCODER = "cosyvoice.yaml", "llm.pt", "flow.pt", "hift.pt"
SPEAKERS, SPEAKER_ENCODER, SPEECH_TOKENIZER = "spk2info.pt", "campplus.onnx", "speech_tokenizer_v1.onnx"
MARKER = "cosyvoice-web.json"
_FORCED_LENGTH = "forced_tokens_per_text_token"
_PUBLISHED_NAME = re.compile(r"CosyVoice-300M(?:-25Hz)?(?:-(SFT|Instruct))?", re.IGNORECASE)


class ModelKind(Enum):
    """What a model was trained for."""

    BASE = "base"
    SFT = "sft"
    INSTRUCT = "instruct"


@dataclass(frozen=True, slots=True)
class FileCheck:
    """One line about a model directory: what was found where something was expected, and the error it is, if any."""

    name: str
    found: str
    expected: str
    error: CheckpointError | None = None


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A checked model directory; optional files that are not there are None.

    `is_lite`: its weights are those that `convert` wrote.
    `forced_tokens_per_text_token`: set for recipe weights, which do not know when to stop: sentences get this length.
    """

    directory: Path
    kind: ModelKind
    config: CosyVoiceConfig
    voices: dict[str, StoredVoice]
    speaker_encoder: Path | None
    speech_tokenizer: Path | None
    forced_tokens_per_text_token: int | None = None
    is_lite: bool = False

    def weights(self, official_name: str) -> Path:
        """The file that holds the weights of LANGUAGE_MODEL, MEL_DECODER or VOCODER here."""
        return self.directory / (lite_name(official_name) if self.is_lite else official_name)

    def refusals(self) -> dict[SpeechMode, str]:
        """The modes that this directory cannot do, each with the reason; the others it can."""
        refused: dict[SpeechMode, str] = {}
        if not self.voices:
            refused[SpeechMode.SFT] = f"the model has no trained voices: {SPEAKERS} names none"
        lacking = [
            name
            for name, path in ((SPEAKER_ENCODER, self.speaker_encoder), (SPEECH_TOKENIZER, self.speech_tokenizer))
            if path is None
        ]
        if lacking:
            reason = f"the model directory has no {' and no '.join(lacking)}, which recordings need"
            refused |= dict.fromkeys(
                (SpeechMode.ZERO_SHOT, SpeechMode.CROSS_LINGUAL, SpeechMode.VOICE_CONVERSION), reason
            )
        if self.kind is ModelKind.INSTRUCT:
            refused[SpeechMode.CROSS_LINGUAL] = "CosyVoice-300M-Instruct is not trained for it: use CosyVoice-300M"
        else:
            refused[SpeechMode.INSTRUCT] = (
                "only CosyVoice-300M-Instruct follows style texts; this model would read them aloud"
            )
        if self.kind is ModelKind.INSTRUCT and not self.voices:
            refused[SpeechMode.INSTRUCT] = refused[SpeechMode.SFT]
        return refused


def open_model(directory: Path) -> ModelFiles:
    """Check every file of a model directory and read its configuration and voices; weights are not read.

    Raises:
        CheckpointError: the first that `survey` finds.
    """
    for check in survey(directory):
        if check.error is not None:
            raise check.error
    config = read_config(directory / CONFIG)
    has_table = (directory / SPEAKERS).is_file()
    voices = read_voices(directory / SPEAKERS, config) if has_table else {}
    kind = named_kind(directory) or (ModelKind.SFT if voices else ModelKind.BASE)
    optional = {name: directory / name for name in (SPEAKER_ENCODER, SPEECH_TOKENIZER) if (directory / name).exists()}
    files = ModelFiles(
        directory,
        kind,
        config,
        voices,
        optional.get(SPEAKER_ENCODER),
        optional.get(SPEECH_TOKENIZER),
        _forced_tokens_per_text_token(directory),
        read_manifest(directory) is not None,
    )
    if len(files.refusals()) == len(SpeechMode):
        expected = f"voices in {SPEAKERS}, or both ONNX files to speak like a recording"
        raise FileMissing(str(directory), "no voices and no way to read recordings", expected)
    return files


def survey(directory: Path) -> list[FileCheck]:
    """Check every file on its own, and go on after a broken one."""
    if not directory.is_dir():
        found = "a file" if directory.exists() else "no such directory"
        missing = FileMissing(str(directory), found, FAMILY)
        return [FileCheck(directory.name, missing.found, missing.expected, missing)]
    checks = [_check(directory / CONFIG, "the model's description", _check_config)]
    checks += _check_weights(directory)
    checks.append(_check(directory / SPEAKERS, "a table of voices", _check_speakers))
    for name, purpose in ((SPEAKER_ENCODER, "speaker encoder"), (SPEECH_TOKENIZER, "speech tokenizer")):
        if not (directory / name).exists() and not (directory / name).is_symlink():
            checks.append(FileCheck(name, "no file", f"{purpose}, or no file: recordings cannot be used then"))
        else:
            checks.append(_check(directory / name, purpose, check_onnx_file))
    return checks


def named_kind(directory: Path) -> ModelKind | None:
    """What the marker file or else the published name in the path says; None when neither says anything."""
    kind = _marker(directory).get("kind")
    if kind in {known.value for known in ModelKind}:
        return ModelKind(kind)
    for part in reversed(directory.resolve().parts):
        if name := _PUBLISHED_NAME.fullmatch(part.rpartition("--")[2]):
            return ModelKind((name[1] or "base").lower())
    return None


def marked_model(directory: Path) -> str | None:
    """The model that the marker file names; None without one."""
    model = _marker(directory).get("model")
    return model if isinstance(model, str) else None


def write_marker(
    directory: Path, model: str, kind: ModelKind | None, forced_tokens_per_text_token: int | None = None
) -> None:
    """Say in the directory itself which model lies there, and for recipe weights how long its sentences are to be."""
    content: dict[str, str | int] = {"model": model}
    if kind is not None:
        content["kind"] = kind.value
    if forced_tokens_per_text_token is not None:
        content[_FORCED_LENGTH] = forced_tokens_per_text_token
    (directory / MARKER).write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")


def _forced_tokens_per_text_token(directory: Path) -> int | None:
    count = _marker(directory).get(_FORCED_LENGTH)
    return count if isinstance(count, int) and count > 0 else None


def _marker(directory: Path) -> dict[str, object]:
    try:
        content = json.loads((directory / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _check(path: Path, expected: str, check: Callable[[Path], str]) -> FileCheck:
    try:
        return FileCheck(path.name, check(path), expected)
    except CheckpointError as error:
        return FileCheck(path.name, error.found, error.expected, error)


def _check_weights(directory: Path) -> list[FileCheck]:
    names = (LANGUAGE_MODEL, MEL_DECODER, VOCODER)
    try:
        is_lite = read_manifest(directory) is not None
    except CheckpointError as error:
        return [FileCheck(Path(error.path).name, error.found, error.expected, error)]
    if is_lite:
        return [_check(directory / lite_name(name), "weights", check_lite_file) for name in names]
    return [_check(directory / name, "weights", check_torch_file) for name in names]


def _check_config(path: Path) -> str:
    if not path.exists():
        for later in ("cosyvoice2.yaml", "cosyvoice3.yaml"):
            if (path.parent / later).exists():
                raise WrongModelFamily(str(path.parent), f"{later} and no {CONFIG}", FAMILY)
    check_present(path, "the model's description")
    config = read_config(path)
    layers = config.language_model.decoder.layer_count
    return f"{layers} language model layers of {config.language_model.decoder.model_dim}"


def _check_speakers(path: Path) -> str:
    if not path.exists() and not path.is_symlink() and named_kind(path.parent) is ModelKind.BASE:
        return "no file; the base model needs none"
    expected = "a table of voices (the one of CosyVoice-300M-SFT fits every 300M model)"
    try:
        check_torch_file(path)
        config = read_config(path.parent / CONFIG)
    except FileMissing as error:
        if error.path != str(path):
            return "not read: the model's description is missing"
        raise FileMissing(error.path, error.found, expected) from None
    except FileTruncated as error:
        if error.path != str(path):
            return "not read: the model's description is broken"
        raise
    except CheckpointError:
        return "not read: the model's description is broken"
    voices = read_voices(path, config)
    return f"{len(voices)} voices" + (f": {' '.join(list(voices)[:8])}" if voices else "")
