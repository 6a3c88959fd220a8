"""The transformer encoder that the text encoder, the speech decoder and the flow's token encoder are instances of."""

import math
from collections.abc import Iterable, Sequence
from typing import cast

import torch
from torch import nn

from cosyvoice_web.engines.cosyvoice.config import TransformerConfig
from cosyvoice_web.engines.cosyvoice.layers.feed_forward import FeedForward
from cosyvoice_web.engines.cosyvoice.layers.relative_attention import KeyValueStore, RelativeAttention
from cosyvoice_web.engines.cosyvoice.layers.relative_positions import (
    BLOCK_COLUMNS,
    LayerPositions,
    RelativePositions,
    position_encodings,
)

BLOCK_NORM_EPSILON = 1e-12
STACK_NORM_EPSILON = 1e-5


class EncoderBlock(nn.Module):
    """Attention, then feed-forward, each normalised before and added to its input.

    Source: cosyvoice/transformer/encoder_layer.py TransformerEncoderLayer; ConformerEncoderLayer without its
    convolution and its first feed-forward is the same function.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.model_dim, eps=BLOCK_NORM_EPSILON)
        self.attention = RelativeAttention(config.model_dim, config.head_count)
        self.feed_forward_norm = nn.LayerNorm(config.model_dim, eps=BLOCK_NORM_EPSILON)
        self.feed_forward = FeedForward(config.model_dim, config.feed_forward_dim, config.activation)

    def forward(
        self,
        x: torch.Tensor,
        positions: LayerPositions,
        blocked: torch.Tensor | None,
        layer: int,
        store: KeyValueStore | None,
    ) -> torch.Tensor:
        """Float32 (batch, new, model_dim) to the same shape; arguments as in `RelativeAttention.forward`."""
        x = x + self.attention(self.attention_norm(x), positions, blocked, layer=layer, store=store)
        return x.add_(self.feed_forward(self.feed_forward_norm(x)))


class TransformerEncoder(nn.Module):
    """Input layer, blocks and a last normalisation.

    Rows of a batch are right-aligned: a short row is padded on its left, so all rows end in the same column, share the
    positions, and grow by the same column when the encoder runs step by step with a store.

    Source: cosyvoice/transformer/encoder.py TransformerEncoder, ConformerEncoder; subsampling.py LinearNoSubsampling,
    LegacyLinearNoSubsampling; cosyvoice/utils/mask.py for attention by chunks.
    Differs: left padding instead of right padding, which changes no number of a row.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.input = nn.Linear(config.input_dim, config.model_dim)
        self.input_norm = nn.LayerNorm(config.model_dim, eps=STACK_NORM_EPSILON)
        self.blocks = nn.ModuleList(EncoderBlock(config) for _ in range(config.layer_count))
        self.output_norm = nn.LayerNorm(config.model_dim, eps=STACK_NORM_EPSILON)
        self._input_scale = math.sqrt(config.model_dim)
        self._prepared: RelativePositions | None = None

    def prepare_positions(self, length: int) -> None:
        """Project the positions of sequences of up to `length` once, at load; calls then only read them."""
        self._prepared = None
        self._prepared = self.positions(length)

    def positions(self, length: int) -> RelativePositions:
        """Positions for at least `length` keys: the prepared ones, or new ones where those are too few."""
        if self._prepared is not None and self._prepared.length >= length:
            return self._prepared
        both_ways = self.config.attention_chunk_tokens != 1
        last = 1 - length if both_ways else 1 - BLOCK_COLUMNS
        encodings = position_encodings(length - 1, last, self.config.model_dim)
        blocks = cast(Iterable[EncoderBlock], self.blocks)
        layers = [block.attention.project_positions(encodings) for block in blocks]
        if not both_ways:
            for positions in layers:
                positions.bias[:, length:] = -torch.inf
        return RelativePositions(layers, length, both_ways=both_ways)

    def embed(self, x: torch.Tensor) -> torch.Tensor:
        """The input layer: float32 (..., input_dim) to (..., model_dim), each vector by itself."""
        x = self.input_norm(self.input(x))
        if self.config.input_layer == "linear_legacy":
            x = x.relu_()
        return x * self._input_scale

    def run(
        self,
        x: torch.Tensor,
        positions: RelativePositions,
        key_count: int,
        blocked: torch.Tensor | None = None,
        store: KeyValueStore | None = None,
    ) -> torch.Tensor:
        """The blocks and the last normalisation: embedded float32 (batch, new, model_dim) to the same shape.

        `key_count` counts the keys, those in `store` and the new ones; `blocked` as from `blocked_keys`.
        """
        unwritten_count = store.unwritten_count if store is not None and x.shape[1] == 1 else 0
        for layer, block in enumerate(self.blocks):
            x = block(x, positions.span(layer, key_count, unwritten_count), blocked, layer, store)
        output: torch.Tensor = self.output_norm(x)
        return output

    def forward(self, x: torch.Tensor, lengths: Sequence[int] | None = None) -> torch.Tensor:
        """Encode whole sequences: float32 (batch, time, input_dim) to (batch, time, model_dim).

        `lengths` counts the positions of each right-aligned row, all of them by default; what comes out for padding
        means nothing.
        """
        time = x.shape[1]
        paddings = None if lengths is None else [time - length for length in lengths]
        blocked = blocked_keys(time, time, self.config.attention_chunk_tokens, paddings)
        return self.run(self.embed(x), self.positions(time), time, blocked)


def blocked_keys(
    query_count: int, key_count: int, chunk_tokens: int, paddings: Sequence[int] | None = None
) -> torch.Tensor | None:
    """Which keys a query must not look at: bool (batch or 1, 1, queries, keys), true where blocked; None for nowhere.

    Queries are the last `query_count` of `key_count` positions. With `chunk_tokens` 0 every key may be seen, with n
    those up to the end of the query's own chunk of n. The first `paddings[row]` columns of a row are padding, which
    only its own query sees (a query that sees nothing would have no finite answer).

    Source: cosyvoice/utils/mask.py `add_optional_chunk_mask` with a static chunk size.
    """
    if not any(paddings or ()):
        paddings = None
    if paddings is None and (chunk_tokens == 0 or query_count == 1 == chunk_tokens):
        return None
    key = torch.arange(key_count)
    query = key[key_count - query_count :, None]
    start = torch.tensor(paddings or [0])[:, None, None, None]
    blocked = key < start
    if chunk_tokens:
        blocked = blocked | (key >= ((query - start) // chunk_tokens + 1) * chunk_tokens + start)
    return blocked & (key != query)
