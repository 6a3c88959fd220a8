"""Cheap checks of single files: is it there, whole, and what its name says. Only a few bytes of a file are read."""

import re
import zipfile
from pathlib import Path
from typing import BinaryIO

from cosyvoice_web.engines.cosyvoice.weights.onnx_file import missing_bytes
from cosyvoice_web.errors import FileMissing, FileTruncated

_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_LEGACY_TORCH = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"
_LOCAL_HEADER = b"PK\x03\x04"


def file_size(byte_count: int) -> str:
    """A size for people: "1243.5 MB", "135 bytes"."""
    return f"{byte_count / 1e6:.1f} MB" if byte_count >= 100_000 else f"{byte_count} bytes"


def check_present(path: Path, expected: str) -> None:
    """Check that a non-empty file lies there, and that it is neither a Git LFS pointer nor an error page.

    Raises:
        FileMissing, FileTruncated: what was found instead of `expected`.
    """
    if path.is_symlink() and not path.exists():
        raise FileMissing(str(path), f"a link to {path.readlink()}, which does not exist", expected)
    if path.is_dir():
        raise FileMissing(str(path), "a directory", expected)
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except FileNotFoundError:
        raise FileMissing(str(path), "no file", expected) from None
    except OSError as reason:
        raise FileMissing(str(path), f"a file that cannot be read ({reason.strerror})", expected) from reason
    size = file_size(path.stat().st_size)
    if not head:
        raise FileTruncated(str(path), "an empty file", expected)
    if head.startswith(_LFS_POINTER):
        whole = re.search(rb"^size (\d+)", head, re.MULTILINE)
        of = f" to {file_size(int(whole[1]))}" if whole else ""
        raise FileTruncated(str(path), f"a Git LFS pointer of {size}{of}", f"{expected}: run `git lfs pull` there")
    if head.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        raise FileTruncated(str(path), f"a web page of {size}", f"{expected}: download the file itself")


def check_torch_file(path: Path) -> str:
    """Check that a file written by `torch.save` is whole; returns its size for people.

    Raises:
        FileMissing, FileTruncated: what was found.
    """
    expected = "a complete file written by torch.save"
    check_present(path, expected)
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(len(_LEGACY_TORCH))
        if head == _LEGACY_TORCH:  # written by torch before 1.6; has no end to look for
            return file_size(size)
        if not head.startswith(_LOCAL_HEADER):
            raise FileTruncated(str(path), f"{file_size(size)} of another format", expected)
        try:
            with zipfile.ZipFile(file) as archive:
                entries = archive.infolist()
            has_gaps = not all(_starts_entry(file, entry.header_offset) for entry in entries)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
            raise FileTruncated(str(path), f"the first {file_size(size)} of an incomplete file", expected) from None
    if has_gaps:
        raise FileTruncated(str(path), f"{file_size(size)} with parts that were never written", expected)
    if not any(entry.filename.endswith("/data.pkl") for entry in entries):
        raise FileTruncated(str(path), f"a zip archive of {file_size(size)} with other content", expected)
    return file_size(size)


def _starts_entry(file: BinaryIO, offset: int) -> bool:
    file.seek(offset)
    return file.read(len(_LOCAL_HEADER)) == _LOCAL_HEADER


def is_zip_archive(path: Path) -> bool:
    """Whether a file that `check_torch_file` accepted can be mapped into memory."""
    with path.open("rb") as file:
        return file.read(len(_LOCAL_HEADER)) == _LOCAL_HEADER


def check_onnx_file(path: Path) -> str:
    """Check that an ONNX file is whole; returns its size for people.

    Raises:
        FileMissing, FileTruncated: what was found.
    """
    expected = "a complete ONNX model"
    check_present(path, expected)
    size = file_size(path.stat().st_size)
    lacking = missing_bytes(path)
    if lacking is None:
        raise FileTruncated(str(path), f"{size} of another format", expected)
    if lacking:
        raise FileTruncated(str(path), f"the first {size}, with {file_size(lacking)} or more missing", expected)
    return size
