"""The position-wise feed-forward network of a transformer block."""

from collections.abc import Callable
from typing import Final

import torch
import torch.nn.functional as F
from torch import nn

ACTIVATIONS: Final[dict[str, Callable[[torch.Tensor], torch.Tensor]]] = {
    "relu": F.relu_,
    "swish": lambda x: F.silu(x, inplace=True),
}
"""By the names of `TransformerConfig.activation`; each overwrites its argument."""


class FeedForward(nn.Module):
    """Two linear layers with an activation between them.

    Source: cosyvoice/transformer/positionwise_feed_forward.py PositionwiseFeedForward.
    Differs: the activation overwrites the hidden layer, which nobody else reads.
    """

    def __init__(self, model_dim: int, hidden_dim: int, activation: str) -> None:
        """`activation` is a key of `ACTIVATIONS`."""
        super().__init__()
        self.expand = nn.Linear(model_dim, hidden_dim)
        self.contract = nn.Linear(hidden_dim, model_dim)
        self._activate = ACTIVATIONS[activation]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Float32 (batch, time, model_dim) to the same shape."""
        output: torch.Tensor = self.contract(self._activate(self.expand(x)))
        return output
