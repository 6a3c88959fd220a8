"""Turns an official model directory into a lite one: a third of its size, quicker to load, for int8 only."""

import fcntl
import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from cosyvoice_web.engines.cosyvoice.language_model.speech_lm import SpeechLM
from cosyvoice_web.engines.cosyvoice.mel_decoder.flow import MelDecoder
from cosyvoice_web.engines.cosyvoice.vocoder.hift import HiFTVocoder
from cosyvoice_web.engines.cosyvoice.weights.files import (
    CONFIG,
    LANGUAGE_MODEL,
    MEL_DECODER,
    SPEAKER_ENCODER,
    SPEAKERS,
    SPEECH_TOKENIZER,
    VOCODER,
    ModelFiles,
    marked_model,
    open_model,
    write_marker,
)
from cosyvoice_web.engines.cosyvoice.weights.lite import State, lite_state, read_weights, write_weights
from cosyvoice_web.engines.cosyvoice.weights.lite_files import (
    FORMAT_VERSION,
    MANIFEST,
    VERSION_FIELD,
    lite_name,
    read_manifest,
)
from cosyvoice_web.engines.cosyvoice.weights.loading import read_state
from cosyvoice_web.errors import CheckpointError, ConfigurationError, FileTruncated

logger = logging.getLogger("cosyvoice_web.engines.cosyvoice")

_ENDS_BYTES = 1 << 20
_WEIGHTS = (LANGUAGE_MODEL, MEL_DECODER, VOCODER)
_COPIED = (CONFIG, SPEAKERS, SPEAKER_ENCODER, SPEECH_TOKENIZER)
_SOURCE = "source"

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Conversion:
    """What `convert` did: `was_there` where the directory had been converted before from the same files."""

    directory: Path
    byte_count: int
    was_there: bool


def convert(model_dir: Path, out: Path, progress: Progress = logger.info) -> Conversion:
    """Write the lite directory `out`, which is there only when all of it is; `progress` hears every step.

    Works beside `out`, in a hidden directory that a broken attempt leaves and the next one goes on with. Two processes
    that convert to the same place do so one after the other, and the second finds it done.

    Raises:
        CheckpointError: `model_dir` cannot be loaded.
        ConfigurationError: it is a lite directory itself, `out` is something else already, or there is no space.
    """
    files = open_model(model_dir)
    if files.is_lite:
        raise ConfigurationError(f"{model_dir} is a lite directory already: give the official one.")
    source = fingerprint(files)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with _lock(out):
            if _is_done(out, source):
                return Conversion(out, _size(out), was_there=True)
            unfinished = out.parent / f".{out.name}.{source[:12]}.unfinished"
            unfinished.mkdir(exist_ok=True)
            _write(files, unfinished, source, progress)
            unfinished.replace(out)
            _sync(out.parent)
    except OSError as reason:
        raise ConfigurationError(f"{out} cannot be written: {reason.strerror or reason}.") from reason
    return Conversion(out, _size(out), was_there=False)


def fingerprint(files: ModelFiles) -> str:
    """Tells whether two official directories hold the same model, without reading all of it.

    Taken of every file's size, its beginning and its end, where an official file keeps the checksums of all its parts.
    """
    digest = hashlib.sha256()
    for name in (*_WEIGHTS, *_COPIED):
        path = files.directory / name
        if not path.exists():
            continue
        size = path.stat().st_size
        digest.update(f"{name} {size}\n".encode())
        with path.open("rb") as file:
            digest.update(file.read(_ENDS_BYTES))
            file.seek(max(0, size - _ENDS_BYTES))
            digest.update(file.read(_ENDS_BYTES))
    digest.update(f"{files.kind.value} {files.forced_tokens_per_text_token}".encode())
    return digest.hexdigest()


def _is_done(out: Path, source: str) -> bool:
    if not out.exists():
        return False
    try:
        manifest = read_manifest(out) if out.is_dir() else None
    except CheckpointError:
        manifest = None
    if manifest is None:
        raise ConfigurationError(f"{out} exists and is no lite directory that can be used: remove it, or give another.")
    if manifest.get(_SOURCE) != source:
        raise ConfigurationError(f"{out} was converted from another model: remove it, or give another directory.")
    open_model(out)
    return True


def _write(files: ModelFiles, directory: Path, source: str, progress: Progress) -> None:
    """Fill `directory`; weights that an earlier attempt has finished are taken as they are."""
    for official in _WEIGHTS:
        path = directory / lite_name(official)
        if not path.exists():
            progress(f"converting {official}")
            kept = lite_state(_skeleton(files, official), read_state(files.weights(official), files.config).tensors)
            write_weights(path, kept)
            _check_equal(path, kept)
    progress("copying what stays as it is")
    for name in _COPIED:
        if (files.directory / name).exists():
            shutil.copyfile(files.directory / name, directory / name)
            _sync(directory / name)
    write_marker(
        directory, marked_model(files.directory) or files.directory.name, files.kind, files.forced_tokens_per_text_token
    )
    manifest = {VERSION_FIELD: FORMAT_VERSION, _SOURCE: source}
    (directory / MANIFEST).write_text(json.dumps(manifest) + "\n", encoding="utf-8")
    _sync(directory / MANIFEST)
    _sync(directory)


def _skeleton(files: ModelFiles, official: str) -> nn.Module:
    """The network of a file, without weights."""
    config = files.config
    with torch.device("meta"):
        if official == LANGUAGE_MODEL:
            return SpeechLM(config.language_model)
        return MelDecoder(config.mel_decoder) if official == MEL_DECODER else HiFTVocoder(config.vocoder)


def _check_equal(path: Path, kept: State) -> None:
    """Read back what has been written.

    Raises:
        FileTruncated: it is not what was to be written; the file is removed.
    """
    written = read_weights(path)
    if written.keys() != kept.keys() or not all(torch.equal(written[name], kept[name]) for name in kept):
        path.unlink()
        raise FileTruncated(str(path), "other numbers than were written", "a disk that keeps what it is given")


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.iterdir())


def _sync(path: Path) -> None:
    """Wait until the disk holds a file, or the names in a directory."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _lock(out: Path) -> Iterator[None]:
    """Let one process at a time convert to `out`; the lock ends with the process."""
    with (out.parent / f".{out.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
