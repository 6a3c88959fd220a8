"""Fetches a published model from a hub that speaks the Hugging Face protocol: resumable, hashes checked."""

import errno
import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

import httpx2
from huggingface_hub import HfApi, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, RepositoryNotFoundError
from huggingface_hub.file_download import http_get
from huggingface_hub.utils._headers import build_hf_headers

from cosyvoice_web.engines.cosyvoice.weights.files import (
    CONFIG,
    LANGUAGE_MODEL,
    MEL_DECODER,
    SPEAKER_ENCODER,
    SPEAKERS,
    SPEECH_TOKENIZER,
    VOCODER,
    named_kind,
    write_marker,
)
from cosyvoice_web.errors import ConfigurationError, FileMissing, FileTruncated

OWNER = "FunAudioLLM"
REQUIRED = (CONFIG, LANGUAGE_MODEL, MEL_DECODER, VOCODER)
OPTIONAL = (SPEAKERS, SPEAKER_ENCODER, SPEECH_TOKENIZER)
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file on the hub: `digest` is the SHA-256 of large files, the Git blob SHA-1 of the others."""

    name: str
    byte_count: int
    algorithm: str
    digest: str


def download_model(model: str, directory: Path, hub_url: str | None = None) -> list[str]:
    """Fetch the files of `model` that speaking needs into `directory`; returns their names.

    `model` is "CosyVoice-300M-SFT" or "owner/name"; `hub_url` None: the client library's own default. A broken
    download goes on where it stopped when called again; files that are there already and whole are not fetched again.

    Raises:
        ConfigurationError: no such model, no such hub, or not enough disk space.
        FileMissing: the model lacks a file that speaking needs.
        FileTruncated: what arrived does not have the hash that the hub states; the file is removed.
    """
    repository = model if "/" in model else f"{OWNER}/{model}"
    where = hub_url or "the hub"
    try:
        revision, files = _list_files(repository, hub_url)
        _check_space(directory, files)
        directory.mkdir(parents=True, exist_ok=True)
        for file in files:
            if not _is_whole(directory / file.name, file):
                _fetch(repository, revision, file, directory, hub_url)
    except (RepositoryNotFoundError, HFValidationError) as reason:
        raise ConfigurationError(
            f"{where} has no model {repository}: give CosyVoice-300M-SFT, for example."
        ) from reason
    except (HfHubHTTPError, httpx2.HTTPError, OSError) as reason:
        if isinstance(reason, PermissionError) or getattr(reason, "errno", None) in (errno.ENOSPC, errno.EROFS):
            raise ConfigurationError(f"{directory} cannot be written: {reason}") from reason
        raise ConfigurationError(
            f"{where} does not answer as a hub should ({type(reason).__name__}): check the address and the network, "
            "then call again; the download goes on where it stopped."
        ) from reason
    write_marker(directory, repository, named_kind(Path(repository)))
    return [file.name for file in files]


def _list_files(repository: str, hub_url: str | None) -> tuple[str, list[RemoteFile]]:
    info = HfApi(endpoint=hub_url, token=False).model_info(repository, files_metadata=True)
    offered = {sibling.rfilename: sibling for sibling in info.siblings or ()}
    if missing := [name for name in REQUIRED if name not in offered]:
        raise FileMissing(repository, f"no {' and no '.join(missing)}", "the files of a CosyVoice-300M model")
    files = []
    for name in (*REQUIRED, *OPTIONAL):
        if sibling := offered.get(name):
            algorithm, digest = ("sha256", sibling.lfs.sha256) if sibling.lfs else ("git-sha1", sibling.blob_id or "")
            files.append(RemoteFile(name, sibling.size or 0, algorithm, digest))
    return info.sha or "main", files


def _check_space(directory: Path, files: list[RemoteFile]) -> None:
    needed = sum(file.byte_count for file in files if not (directory / file.name).exists())
    existing = next(part for part in (directory.absolute(), *directory.absolute().parents) if part.is_dir())
    free = shutil.disk_usage(existing).free
    if needed > free:
        raise ConfigurationError(
            f"{directory} has {free / 1e9:.1f} GB left, the model takes {needed / 1e9:.1f} GB: give another directory."
        )


def _fetch(repository: str, revision: str, file: RemoteFile, directory: Path, hub_url: str | None) -> None:
    """Fetch one file by way of `NAME.part`, which a later call continues; shows a progress bar.

    The client's own download starts a file anew in every process; its `http_get` continues one.
    """
    part = directory / f"{file.name}.part"
    if part.exists() and part.stat().st_size > file.byte_count:
        part.unlink()
    url = hf_hub_url(repository, file.name, revision=revision, endpoint=hub_url)
    with part.open("ab") as output:
        http_get(
            url,
            output,
            resume_size=output.tell(),
            headers=build_hf_headers(token=False),  # models are public; a mirror has no business with anybody's token
            expected_size=file.byte_count,
            displayed_filename=file.name,
        )
    if not _is_whole(part, file):
        found = f"{part.stat().st_size} bytes with another {file.algorithm} hash"
        part.unlink()
        expected = f"{file.byte_count} bytes with hash {file.digest}: download it again"
        raise FileTruncated(str(directory / file.name), found, expected)
    part.replace(directory / file.name)


def _is_whole(path: Path, file: RemoteFile) -> bool:
    """Whether the file on disk has the size and hash that the hub states."""
    if not path.is_file() or path.stat().st_size != file.byte_count:
        return False
    hasher = hashlib.sha256() if file.algorithm == "sha256" else hashlib.sha1(usedforsecurity=False)
    if file.algorithm == "git-sha1":
        hasher.update(f"blob {file.byte_count}\0".encode())
    with path.open("rb") as content:
        while block := content.read(_READ_BYTES):
            hasher.update(block)
    return hasher.hexdigest() == file.digest
