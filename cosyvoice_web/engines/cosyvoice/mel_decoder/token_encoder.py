"""Speech tokens to one mel-sized vector a token."""

import torch
from torch import nn

from cosyvoice_web.engines.cosyvoice.config import MelDecoderConfig
from cosyvoice_web.engines.cosyvoice.layers.encoder import TransformerEncoder


class TokenEncoder(nn.Module):
    """Embedding, transformer encoder whose tokens all see each other, projection to the mel channels.

    Source: CosyVoice, flow/flow.py, MaskedDiffWithXvec.inference.
    """

    def __init__(self, config: MelDecoderConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.speech_token_count, config.token_embedding_dim)
        self.encoder = TransformerEncoder(config.token_encoder)
        self.output = nn.Linear(config.token_encoder.model_dim, config.mel_channels)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """`tokens` (1, tokens) int64 at the token rate, negative ones count as 0, to (1, tokens, mel) float32."""
        encoded: torch.Tensor = self.output(self.encoder(self.embedding(tokens.clamp(min=0))))
        return encoded
