"""Recipe weights: tensors that anybody can make again from their names, for tests and dry runs."""

import math
import zlib
from collections.abc import Mapping, Sequence

import numpy as np
import torch


def standard_normal(label: str, shape: Sequence[int]) -> torch.Tensor:
    """Float32 normal numbers of `shape` that depend on `label` alone."""
    generator = np.random.default_rng(zlib.crc32(label.encode()))
    return torch.from_numpy(generator.standard_normal(tuple(shape)).astype(np.float32))


def input_tensor(label: str, shape: Sequence[int]) -> torch.Tensor:
    """A module input that golden files name but do not store, float32, of `shape`."""
    return standard_normal(f"input.{label}", shape)


def recipe_tensor(module: str, key: str, shape: Sequence[int]) -> torch.Tensor:
    """The recipe weight of one official key, float32, of `shape`.

    `module` is the file's stem, "llm", "flow" or "hift"; `key` the name of the tensor in that file. Scales keep
    activations of a deep network near 1.
    """
    normal = standard_normal(f"{module}.{key}", shape)
    last = key.rpartition(".")[2]
    if key == "conv_post.bias":
        return 0.02 * normal - 3.0
    if last in ("original0", "alpha"):
        return 1.0 + 0.1 * normal.abs()
    if last.startswith("pos_bias"):
        return 0.1 * normal
    if "embedding" in key and last == "weight" and "affine" not in key:
        return normal
    if len(shape) >= 2:
        return normal / math.sqrt(math.prod(shape[1:]))
    if last == "weight":
        return 1.0 + 0.05 * normal
    return 0.02 * normal


def recipe_checkpoint(module: str, shapes: Mapping[str, Sequence[int]]) -> dict[str, torch.Tensor]:
    """Recipe weights for every key of one official file, in the order of `shapes`."""
    return {key: recipe_tensor(module, key, shape) for key, shape in shapes.items()}
