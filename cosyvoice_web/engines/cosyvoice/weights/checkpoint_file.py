"""Reads one official `.pt` file into a TensorSource: plain data only, mapped into memory."""

import pickle
from collections.abc import Mapping
from pathlib import Path

import torch

from cosyvoice_web.engines.cosyvoice.weights.file_checks import check_torch_file, is_zip_archive
from cosyvoice_web.engines.cosyvoice.weights.tensor_source import TensorSource
from cosyvoice_web.errors import FileTruncated, ShapeMismatch

_TRAINING_STATE = {"epoch": "counts training epochs", "step": "counts training steps"}
_GENERATOR, _DISCRIMINATOR = "generator.", "discriminator."


def open_checkpoint(path: Path) -> TensorSource:
    """The tensors of a file under their official names.

    The prefix `generator.` of a vocoder saved together with its discriminator is taken off. What is set aside is in
    `TensorSource.dropped` with the reason. Nothing in the file is run: it may hold tensors and plain values only.

    Raises:
        FileMissing, FileTruncated: the file is not there, not whole, or holds something else than tensors.
        ShapeMismatch: an entry is no tensor.
    """
    check_torch_file(path)
    expected = "a dictionary of tensors (a state dictionary saved with torch.save)"
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=is_zip_archive(path))
    except pickle.UnpicklingError as reason:
        raise FileTruncated(str(path), "objects that are neither tensors nor plain values", expected) from reason
    except Exception as reason:  # a damaged stream of instructions can fail in any way
        raise FileTruncated(str(path), "a damaged file", expected) from reason
    if not isinstance(content, Mapping):
        raise FileTruncated(str(path), f"a {type(content).__name__}", expected)
    names = [str(name) for name in content]
    has_generator = any(name.startswith(_GENERATOR) for name in names)
    tensors: dict[str, torch.Tensor] = {}
    dropped: dict[str, str] = {}
    for name, value in zip(names, content.values(), strict=True):
        if name in _TRAINING_STATE:
            dropped[name] = _TRAINING_STATE[name]
        elif has_generator and name.startswith(_DISCRIMINATOR):
            dropped[name] = "belongs to the discriminator, which only training needs"
        elif isinstance(value, torch.Tensor):
            tensors[name.removeprefix(_GENERATOR)] = value
        else:
            raise ShapeMismatch(str(path), f"{name}, a {type(value).__name__}", "tensors only")
    source = TensorSource(str(path), tensors)
    source.dropped.update(dropped)
    return source
