"""Reads the golden files beside this module."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from cosyvoice_web.engines.cosyvoice.config import CosyVoiceConfig, read_config
from cosyvoice_web.engines.cosyvoice.weights.recipe import recipe_checkpoint

GOLDEN_DIR = Path(__file__).parent / "golden"
TOLERANCE = 1e-4
"""Greatest difference allowed, as a share of the golden array's greatest magnitude."""


class Golden:
    """One size of the model: "tiny" or "full"."""

    def __init__(self, size: str) -> None:
        self.size = size
        self.config: CosyVoiceConfig = read_config(GOLDEN_DIR / f"{size}.yaml")
        self.arrays: Mapping[str, npt.NDArray[np.generic]] = np.load(GOLDEN_DIR / f"{size}.npz")
        self.shapes: dict[str, dict[str, list[int]]] = json.loads((GOLDEN_DIR / f"{size}.keys.json").read_text())[
            "keys"
        ]

    def tensor(self, name: str) -> torch.Tensor:
        return torch.from_numpy(self.arrays[name])

    def ids(self, name: str) -> list[int]:
        """A stored (1, time) array of token ids."""
        ids: list[int] = self.arrays[name][0].tolist()
        return ids

    def checkpoint(self, module: str) -> dict[str, torch.Tensor]:
        """Recipe weights of "llm", "flow" or "hift"."""
        return recipe_checkpoint(module, self.shapes[module])

    def assert_equal(self, actual: torch.Tensor, name: str) -> None:
        assert_close(actual, self.tensor(name))


@cache
def golden(size: str) -> Golden:
    return Golden(size)


def assert_close(actual: torch.Tensor, expected: torch.Tensor, tolerance: float = TOLERANCE) -> None:
    """Shapes equal, and no element off by more than `tolerance` of the greatest expected magnitude."""
    assert actual.shape == expected.shape
    error = ((actual - expected).abs().max() / expected.abs().max()).item()
    assert error <= tolerance, f"greatest relative error {error:.2e}"
