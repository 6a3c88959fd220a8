"""Relative positions of attention: their encodings, and the projected rows that every use of a layer shares."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

LONGEST_PERIOD = 10_000.0

BLOCK_COLUMNS = 64
"""Columns of a block of stored keys and values, the last of which is read whole however few of its columns are written.

Larger blocks make for fewer products, smaller ones for fewer columns that are read in vain; 32 is as fast."""


def position_encodings(first: int, last: int, model_dim: int) -> torch.Tensor:
    """Sinusoid encodings of the distances first, first - 1, ..., last: float32 (first - last + 1, model_dim).

    A distance is the query's position minus the key's, so keys to the left have positive ones. Even channels hold the
    sine, odd channels the cosine, of distance / 10000^(channel / model_dim).

    Source: Dai et al. 2019, "Transformer-XL", appendix B; cosyvoice/transformer/embedding.py
    EspnetRelPositionalEncoding.
    """
    distance = torch.arange(first, last - 1, -1, dtype=torch.float32)[:, None]
    even_channels = torch.arange(0, model_dim, 2, dtype=torch.float32)
    angle = distance * even_channels.mul(-math.log(LONGEST_PERIOD) / model_dim).exp()
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)


@dataclass(frozen=True, slots=True)
class LayerPositions:
    """One layer's projected positions, from the greatest distance to the least.

    `rows`: float32 (heads, distances, head_dim), to be multiplied by queries.
    `bias`: float32 (heads, distances), what the layer's own position bias adds to every query's score.
    """

    rows: torch.Tensor
    bias: torch.Tensor


class RelativePositions:
    """The projected positions of every layer of one encoder, for sequences of up to `length` positions.

    They depend on the weights alone, so that one object may serve any number of calls, from any thread: nothing changes
    it. Because rows run from the greatest distance to the least, the rows for a shorter sequence are one slice.
    """

    def __init__(self, layers: Sequence[LayerPositions], length: int, *, both_ways: bool) -> None:
        """`layers` hold the distances from `length` - 1 down to 1 - `length` when keys may lie to the right.

        Otherwise down to 1 - BLOCK_COLUMNS, those below 0 with a bias of minus infinity.
        """
        self.length = length
        self.both_ways = both_ways
        self._layers = tuple(layers)

    def span(self, layer: int, key_count: int, unwritten_count: int = 0) -> LayerPositions:
        """Views of the rows that `key_count` keys need: distances key_count - 1 ... 0, or ... -(key_count - 1).

        `unwritten_count` columns behind the last key, fewer than BLOCK_COLUMNS, get distances whose bias blocks them.
        """
        start = self.length - key_count
        stop = self.length + (key_count - 1 if self.both_ways else unwritten_count)
        whole = self._layers[layer]
        return LayerPositions(whole.rows[:, start:stop], whole.bias[:, start:stop])


def align_distances(scores: torch.Tensor, key_count: int) -> torch.Tensor:
    """View scores by distance as scores by key: (..., queries, distances) to (..., queries, key_count).

    Column c of `scores` (contiguous float32) is the distance key_count - 1 - c. The queries are the last ones of the
    sequence, so query i stands at position key_count - queries + i and key j at column queries - 1 - i + j: one step
    right for a key, one step left for a query, which is a matter of strides. Where only distances of 0 and more are
    held, keys to the right of a query show scores of another query: the caller must block them.

    Source: Dai et al. 2019, "Transformer-XL", appendix B.
    Differs: cosyvoice/transformer/attention.py `rel_shift` pads, copies and cuts; this is a view of the same numbers.
    """
    queries, distances = scores.shape[-2:]
    return scores.as_strided(
        (*scores.shape[:-1], key_count),
        (*scores.stride()[:-2], distances - 1, 1),
        scores.storage_offset() + queries - 1,
    )
