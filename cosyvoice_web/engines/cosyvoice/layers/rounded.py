"""Stand-ins that keep a table or matrix in int8 with one scale a row, and compute in float32 with what they read of it.

For weights that are read seldom or a few rows at a time: they take a quarter of the memory, and pages of a mapped file
that nobody asks for are never read. Neither can be trained or saved.
"""

import torch
import torch.nn.functional as F
from torch import nn


class RoundedEmbedding(nn.Module):
    """Called like `nn.Embedding`."""

    def __init__(self, weight: torch.Tensor, scales: torch.Tensor) -> None:
        """`weight` int8 (rows, dim), `scales` float32 (rows,)."""
        super().__init__()
        self._weight, self._scales = weight, scales

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Integer ids (...) to float32 (..., dim)."""
        return self._weight[ids] * self._scales[ids].unsqueeze(-1)


class RoundedLinear(nn.Module):
    """Called like `nn.Linear` without a bias."""

    def __init__(self, weight: torch.Tensor, scales: torch.Tensor) -> None:
        """`weight` int8 (output, input), `scales` float32 (output,)."""
        super().__init__()
        self._weight, self._scales = weight, scales

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Float32 (..., input) to (..., output)."""
        return F.linear(x, self._weight * self._scales[:, None])
