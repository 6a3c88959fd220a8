"""The files of a lite directory: their names, and cheap checks of them."""

import json
from pathlib import Path

from cosyvoice_web.engines.cosyvoice.weights.file_checks import check_present, file_size
from cosyvoice_web.errors import FileTruncated

FORMAT_VERSION = 1
VERSION_FIELD = "format_version"
MANIFEST = "lite.json"
_MANIFEST_EXPECTED = f"a lite directory of format {FORMAT_VERSION}: convert the model again"
_WEIGHTS_EXPECTED = f"lite weights of format {FORMAT_VERSION}: convert the model again"
_LONGEST_HEADER = 1 << 24


def lite_name(official_name: str) -> str:
    """What the file that takes the place of an official one is called: "llm.pt" to "llm.safetensors"."""
    return Path(official_name).with_suffix(".safetensors").name


def read_manifest(directory: Path) -> dict[str, object] | None:
    """What `lite.json` says; None where the directory is no lite one.

    Raises:
        FileTruncated: it says nothing that can be read, or is of another version.
    """
    path = directory / MANIFEST
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as reason:
        raise FileTruncated(str(path), "a damaged file", _MANIFEST_EXPECTED) from reason
    if not isinstance(content, dict) or content.get(VERSION_FIELD) != FORMAT_VERSION:
        raise FileTruncated(str(path), "another format", _MANIFEST_EXPECTED)
    return content


def check_lite_file(path: Path) -> str:
    """Check that the file is as long as its header says.

    Source: the safetensors format: 8 bytes with the header's length, a header in JSON, then the numbers.

    Raises:
        FileMissing, FileTruncated: it is not there, not whole, or of another format.
    """
    check_present(path, _WEIGHTS_EXPECTED)
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > min(size, _LONGEST_HEADER):
            raise FileTruncated(str(path), f"{file_size(size)} that are no safetensors file", _WEIGHTS_EXPECTED)
        try:
            header = json.loads(file.read(length))
            version = header.pop("__metadata__", {}).get(VERSION_FIELD)
            end = 8 + length + max((int(entry["data_offsets"][1]) for entry in header.values()), default=0)
        except (ValueError, AttributeError, KeyError, TypeError, IndexError) as reason:
            raise FileTruncated(str(path), "a damaged header", _WEIGHTS_EXPECTED) from reason
    if version != str(FORMAT_VERSION):
        raise FileTruncated(str(path), f"format {version or 'unknown'}", _WEIGHTS_EXPECTED)
    if size != end:
        raise FileTruncated(str(path), f"{file_size(size)} of {file_size(end)}", _WEIGHTS_EXPECTED)
    return f"{file_size(size)}, {len(header)} tensors"
