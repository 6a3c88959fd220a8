"""Text tokens to vectors of the language model's input width."""

from collections.abc import Sequence

import torch
from torch import nn

from cosyvoice_web.engines.cosyvoice.config import LanguageModelConfig
from cosyvoice_web.engines.cosyvoice.layers.encoder import TransformerEncoder


class TextEncoder(nn.Module):
    """Embedding, transformer encoder, projection.

    A token sees itself and what stands before it: the published models set the attention's chunk size to 1.

    Source: cosyvoice/llm/llm.py TransformerLM.encode.
    """

    def __init__(self, config: LanguageModelConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.text_token_count, config.text_embedding_dim)
        self.encoder = TransformerEncoder(config.text_encoder)
        self.projection = nn.Linear(config.text_encoder.model_dim, config.input_dim)

    def forward(self, text: torch.Tensor, lengths: Sequence[int] | None = None) -> torch.Tensor:
        """Integer ids (batch, time) to float32 (batch, time, input_dim).

        `lengths` counts the tokens of each right-aligned row; ids of padding must be valid, their vectors mean nothing.
        """
        vectors: torch.Tensor = self.projection(self.encoder(self.embedding(text), lengths))
        return vectors
