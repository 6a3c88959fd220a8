"""Attention of all frames to all frames, without masks or positions."""

import torch
import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    """Softmax attention, scaled by 1 / sqrt(head_dim), in float32.

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.
    """

    def __init__(self, head_count: int, head_dim: int) -> None:
        super().__init__()
        self.head_count = head_count
        self.head_dim = head_dim

    def forward(self, projected: torch.Tensor) -> torch.Tensor:
        """Attend from every frame to every frame.

        Args:
            projected: (batch, frames, 3 x heads x head_dim) float32: queries, then keys, then values, head by head.

        Returns:
            (batch, frames, heads x head_dim) float32.
        """
        batch, frames, _ = projected.shape
        heads = projected.view(batch, frames, 3, self.head_count, self.head_dim)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(query, key, value)
        return attended.transpose(1, 2).reshape(batch, frames, -1)


class Bfloat16SelfAttention(SelfAttention):
    """The same in bfloat16, for processors that multiply it twice as fast as float32.

    Differs from the fused kernel: the scores are held as a whole, which costs less than its conversions block by block.
    """

    @classmethod
    def of(cls, attention: SelfAttention) -> "Bfloat16SelfAttention":
        """With the heads of `attention`."""
        return cls(attention.head_count, attention.head_dim)

    def forward(self, projected: torch.Tensor) -> torch.Tensor:
        """As `SelfAttention`, float32 in and out, but computed with 8 significant bits."""
        batch, frames, _ = projected.shape
        heads = projected.bfloat16().view(batch, frames, 3, self.head_count, self.head_dim).permute(2, 0, 3, 1, 4)
        query, key, value = heads.reshape(3, batch * self.head_count, frames, self.head_dim)
        scores = torch.bmm(query.mul(self.head_dim**-0.5), key.transpose(1, 2))
        attended = torch.bmm(scores.softmax(dim=-1), value).view(batch, self.head_count, frames, -1)
        return attended.transpose(1, 2).reshape(batch, frames, -1).float()
