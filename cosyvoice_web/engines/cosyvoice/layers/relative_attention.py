"""Self-attention with relative positions, over a whole sequence or over new positions and a store of earlier ones."""

from typing import Protocol

import torch
import torch.nn.functional as F
from torch import nn

from cosyvoice_web.engines.cosyvoice.layers.relative_positions import LayerPositions, align_distances


class KeyValueStore(Protocol):
    """Keeps the keys and values of earlier positions."""

    @property
    def unwritten_count(self) -> int:
        """Columns behind the newest one, up to the end of its block."""
        ...

    def update(self, layer: int, keys_values: torch.Tensor) -> torch.Tensor:
        """Add those of the new positions, (keys and values, batch, heads, new, head_dim); answer all.

        They come in blocks of columns, the last of which ends with `unwritten_count` columns of finite numbers:
        (keys and values, blocks, batch, heads, BLOCK_COLUMNS, head_dim), contiguous but for the first axis.
        """
        ...


class RelativeAttention(nn.Module):
    """Multi-head self-attention whose scores depend on content and on distance.

    With q, k, v the projections of the input and p the projection of a distance's encoding, the score of query i and
    key j is ((q_i + u) k_j + (q_i + w) p_(i-j)) / sqrt(head_dim), u and w being learned.

    Source: Dai et al. 2019, "Transformer-XL", section 3.3; cosyvoice/transformer/attention.py
    RelPositionMultiHeadedAttention.
    Differs: the query rows of `query_key_value` hold the query projection plus u, divided by sqrt(head_dim), and
    `position_bias` holds (w - u) / sqrt(head_dim), so the score is q_i (k_j + p) + position_bias p, whose second term
    is known before any query is. Positions are projected once, not at every call. Exact up to rounding.
    """

    def __init__(self, model_dim: int, head_count: int) -> None:
        """`model_dim` channels shared out among `head_count` heads."""
        super().__init__()
        self.head_count = head_count
        self.query_key_value = nn.Linear(model_dim, 3 * model_dim)
        self.position = nn.Linear(model_dim, model_dim, bias=False)
        self.position_bias = nn.Parameter(torch.empty(head_count, model_dim // head_count))
        self.output = nn.Linear(model_dim, model_dim)

    def project_positions(self, encodings: torch.Tensor) -> LayerPositions:
        """Project float32 (distances, model_dim) encodings to this layer's rows and bias."""
        rows = self.position(encodings).unflatten(-1, (self.head_count, -1)).transpose(0, 1).contiguous()
        return LayerPositions(rows, (rows @ self.position_bias[:, :, None]).squeeze(-1))

    def forward(
        self,
        x: torch.Tensor,
        positions: LayerPositions,
        blocked: torch.Tensor | None = None,
        *,
        layer: int = 0,
        store: KeyValueStore | None = None,
    ) -> torch.Tensor:
        """Attend from the new positions to all: float32 (batch, new, model_dim) to the same shape.

        `positions` is the span for all keys, with one new position in a store for its unwritten columns as well;
        `blocked`, bool (batch or 1, 1, new, keys), is true where a query must not look. `store` keeps keys and values
        of earlier positions under the number `layer`, to which one new position is added, or several when it is empty;
        without one the keys are those of `x`.
        """
        batch, new, _ = x.shape
        projected = self.query_key_value(x).view(batch, new, 3, self.head_count, -1)
        projected = projected.permute(2, 0, 3, 1, 4)  # (query, key and value, batch, heads, new, head_dim)
        query, key, value = projected
        stored = store.update(layer, projected[1:]) if store is not None else None
        if stored is not None and new == 1:
            scores = self._distance_scores(query, positions, positions.rows.shape[1])
            if blocked is not None:
                scores[..., : blocked.shape[-1]].masked_fill_(blocked, -torch.inf)
            attended = _attend_once(query, stored, scores)
        else:
            scores = self._distance_scores(query, positions, new)
            if blocked is not None:  # not in place: the scores of different queries share memory
                scores = scores.masked_fill(blocked, -torch.inf)
            attended = F.scaled_dot_product_attention(query, key, value, attn_mask=scores, scale=1.0).transpose(1, 2)
        output: torch.Tensor = self.output(attended.reshape(x.shape))
        return output

    def _distance_scores(self, query: torch.Tensor, positions: LayerPositions, key_count: int) -> torch.Tensor:
        """What distance alone adds to each score: (batch, heads, new, keys).

        All rows of a batch share the positions, which one product a head therefore reads once.
        """
        batch, heads, new, head_dim = query.shape
        rows = query.transpose(0, 1).reshape(heads, batch * new, head_dim)
        scores = torch.baddbmm(positions.bias[:, None], rows, positions.rows.transpose(1, 2))
        return align_distances(scores.view(heads, batch, new, -1), key_count).transpose(0, 1)


def _attend_once(query: torch.Tensor, stored: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Attend from one query a row, (batch, heads, 1, head_dim), to what `KeyValueStore.update` answers.

    The products of query and keys are added to `scores`, (batch, heads, 1, columns), in place. Returns float32 (batch,
    heads * head_dim). For a single query plain products, which read keys and values once each, are twice as fast as
    `F.scaled_dot_product_attention`.
    """
    blocks, batch, heads, width, head_dim = stored.shape[1:]
    keys, values = stored.flatten(1, 3)
    queries = query.expand(blocks, *query.shape).reshape(-1, 1, head_dim)
    products = torch.bmm(queries, keys.transpose(1, 2)).view(blocks, batch, heads, width)
    scores.view(batch, heads, blocks, width).add_(products.permute(1, 2, 0, 3))
    weights = scores.transpose(0, 1).softmax(dim=-1)  # heads come first in memory: transposed, the scores need no copy
    weights = weights.view(heads, batch, blocks, width).permute(2, 1, 0, 3).reshape(-1, 1, width)
    return torch.bmm(weights, values).view(blocks, batch, -1).sum(dim=0)
