"""From the rate of speech tokens to the rate of mel frames."""

import torch
import torch.nn.functional as F
from torch import nn

from cosyvoice_web.engines.cosyvoice.config import MelDecoderConfig
from cosyvoice_web.engines.cosyvoice.mel_decoder.convolution_block import ConvolutionBlock


class LengthRegulator(nn.Module):
    """Linear interpolation in time, then convolution blocks.

    The prompt is stretched apart from what follows it, and of a longer text so are the first and the last tokens, as
    many as two chunks of a stream share: the frames of a shared token are then the same in both chunks.

    Source: CosyVoice, flow/length_regulator.py, InterpolateRegulator.inference.
    Differs: channels last.
    """

    def __init__(self, config: MelDecoderConfig) -> None:
        super().__init__()
        self.config = config
        regulator = config.length_regulator
        self.blocks = nn.ModuleList(
            ConvolutionBlock(regulator.channels, regulator.channels, regulator.norm_group_count)
            for _ in regulator.sampling_ratios
        )
        self.output = nn.Linear(regulator.channels, regulator.output_channels)

    def forward(self, prompt: torch.Tensor, encoded: torch.Tensor, prompt_frames: int) -> torch.Tensor:
        """Stretch encoded tokens to mel frames.

        Args:
            prompt: (1, prompt tokens, mel) float32, may be empty.
            encoded: (1, tokens, mel) float32, at least one token.
            prompt_frames: mel frames of the prompt.

        Returns:
            (1, prompt_frames + config.mel_frames(tokens), mel) float32.
        """
        token_count, edge_tokens = encoded.shape[1], self.config.overlap_tokens
        frames, edge_frames = self.config.mel_frames(token_count), self.config.overlap_frames
        parts: list[torch.Tensor] = []
        if prompt.shape[1] > 0:
            parts.append(stretch(prompt, prompt_frames))
        if token_count > 2 * edge_tokens:
            parts.append(stretch(encoded[:, :edge_tokens], edge_frames))
            parts.append(stretch(encoded[:, edge_tokens:-edge_tokens], frames - 2 * edge_frames))
            parts.append(stretch(encoded[:, -edge_tokens:], edge_frames))
        else:
            parts.append(stretch(encoded, frames))
        x = torch.cat(parts, dim=1)
        for block in self.blocks:
            x = block(x)
        regulated: torch.Tensor = self.output(x)
        return regulated


def stretch(x: torch.Tensor, frames: int) -> torch.Tensor:
    """Linear interpolation of (batch, time, channels) to (batch, frames, channels), ends aligned by half a frame."""
    return F.interpolate(x.transpose(1, 2), size=frames, mode="linear").transpose(1, 2)
