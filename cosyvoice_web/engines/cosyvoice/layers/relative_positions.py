"""Relative positions of attention: their encodings, and the projected rows that every use of a layer shares."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

LONGEST_PERIOD = 10_000.0


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
        """`layers` hold the distances length - 1 ... 0, or ... -(length - 1) when keys may lie to the right."""
        self.length = length
        self.both_ways = both_ways
        self._layers = tuple(layers)

    def span(self, layer: int, key_count: int) -> LayerPositions:
        """Views of the rows that `key_count` keys need: distances key_count - 1 ... 0, or ... -(key_count - 1)."""
        start = self.length - key_count
        stop = self.length + key_count - 1 if self.both_ways else self.length
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
