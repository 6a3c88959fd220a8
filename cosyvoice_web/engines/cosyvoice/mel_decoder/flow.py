"""The whole stage on one page: speech tokens, a voice and noise in, mel spectrogram out."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Self

import torch
import torch.nn.functional as F
from torch import nn

from cosyvoice_web.engines.cosyvoice.config import MelDecoderConfig
from cosyvoice_web.engines.cosyvoice.layers.assembly import assemble
from cosyvoice_web.engines.cosyvoice.mel_decoder import ode_solver
from cosyvoice_web.engines.cosyvoice.mel_decoder.length_regulator import LengthRegulator
from cosyvoice_web.engines.cosyvoice.mel_decoder.token_encoder import TokenEncoder
from cosyvoice_web.engines.cosyvoice.mel_decoder.velocity_net import VelocityNet

PREPARED_POSITIONS = 512
"""Tokens, those of a prompt included, whose relative positions are projected at load; longer inputs project theirs."""


@dataclass(frozen=True, slots=True)
class FlowVoice:
    """Who is to speak: a speaker embedding and, for a cloned voice, the tokens and the mel of its recording.

    `speaker`: (1, speaker_dim) float32, any length. `prompt_tokens`: (1, tokens) int64 at the token rate.
    `prompt_mel`: (1, frames, mel) float32 log mel. Without a recording both hold nothing: see `without_prompt`.
    """

    speaker: torch.Tensor
    prompt_tokens: torch.Tensor
    prompt_mel: torch.Tensor

    @classmethod
    def without_prompt(cls, speaker: torch.Tensor, config: MelDecoderConfig) -> Self:
        """A voice known by its embedding alone, (1, speaker_dim) float32."""
        return cls(speaker, torch.zeros(1, 0, dtype=torch.int64), torch.zeros(1, 0, config.mel_channels))


@dataclass(frozen=True, slots=True)
class FlowCache:
    """What the next chunk of a stream takes over, so that shared frames start from the same noise and encoding.

    Both (1, prompt frames + shared frames, mel) float32: those of the prompt, then the last ones of the chunk.
    """

    noise: torch.Tensor
    encoded: torch.Tensor


@dataclass(frozen=True, slots=True)
class DecodedMel:
    """Log mel (1, frames, mel) float32 of the tokens without the prompt, and what the next chunk needs."""

    mel: torch.Tensor
    cache: FlowCache


class MelDecoder(nn.Module):
    """Flow matching from noise to mel, conditioned on speech tokens, speaker and prompt.

    Source: CosyVoice, flow/flow.py, MaskedDiffWithXvec.inference; flow/flow_matching.py, ConditionalCFM.forward;
    Lipman et al. 2023, "Flow Matching for Generative Modeling".
    Differs: channels last; one utterance, hence no masks; noise is passed in or drawn from the caller's generator.
    """

    def __init__(self, config: MelDecoderConfig) -> None:
        super().__init__()
        self.config = config
        self.token_encoder = TokenEncoder(config)
        self.speaker_projection = nn.Linear(config.speaker_dim, config.mel_channels)
        self.length_regulator = LengthRegulator(config)
        self.velocity_net = VelocityNet(config.velocity_net)

    @classmethod
    def from_state(
        cls,
        config: MelDecoderConfig,
        state: Mapping[str, torch.Tensor],
        replace: Callable[[nn.Module], None] | None = None,
    ) -> Self:
        """The model with the weights of `weights.flow_keys.mel_decoder_state`, which it keeps without copying.

        `replace`: see `assemble`.
        """
        decoder = assemble(lambda: cls(config), state, replace)
        decoder.prepare()
        return decoder

    @torch.inference_mode()
    def prepare(self) -> None:
        """Compute once what every call would compute again; call it after the weights have changed."""
        self.token_encoder.encoder.prepare_positions(PREPARED_POSITIONS)

    @torch.inference_mode()
    def decode(
        self,
        tokens: torch.Tensor,
        voice: FlowVoice,
        noise: torch.Tensor | torch.Generator,
        *,
        cache: FlowCache | None = None,
        step_count: int = ode_solver.DEFAULT_STEP_COUNT,
        overlap_frames: int | None = None,
        executor: Executor | None = None,
    ) -> DecodedMel:
        """Decode one sentence, or one chunk of it.

        Args:
            tokens: (1, tokens) int64 at `config.token_rate_hz`, at least one.
            voice: who is to speak.
            noise: where the flow starts, (1, prompt frames + `config.mel_frames(tokens)`, mel) float32 standard
                normal, or the generator that draws it.
            cache: what the chunk before gave back; its frames replace the first ones of noise and encoding.
            step_count: Euler steps of the flow.
            overlap_frames: frames of this chunk to hand on; those of `config.overlap_tokens` by default.
            executor: where given, one of its workers computes half of every step, see `ode_solver.solve`.

        Returns:
            The mel, `config.mel_frames(tokens)` frames, and the cache for the next chunk.

        Raises:
            ValueError: no tokens, or a noise tensor of another shape.

        Differs: the reference hands on 34 frames whatever the token rate; at 50 tokens a second that is the same.
        """
        if tokens.shape[1] == 0:
            raise ValueError("no speech tokens to decode")
        prompt_frames = voice.prompt_mel.shape[1]
        encoded = self._encode(tokens, voice)
        noise = _starting_noise(noise, encoded.shape)
        if cache is not None:
            kept = min(cache.noise.shape[1], noise.shape[1])
            noise[:, :kept] = cache.noise[:, :kept]
            encoded[:, :kept] = cache.encoded[:, :kept]
        prompt_mel = torch.zeros_like(noise)
        prompt_mel[:, :prompt_frames] = voice.prompt_mel
        mel = ode_solver.solve(
            self.velocity_net,
            noise,
            encoded,
            self.speaker_projection(F.normalize(voice.speaker, dim=1)),
            prompt_mel,
            guidance_rate=self.config.guidance_rate,
            schedule=self.config.time_schedule,
            step_count=step_count,
            executor=executor,
        )
        shared = self.config.overlap_frames if overlap_frames is None else overlap_frames
        handed_on = FlowCache(_ends(noise, prompt_frames, shared), _ends(encoded, prompt_frames, shared))
        return DecodedMel(mel[:, prompt_frames:], handed_on)

    def _encode(self, tokens: torch.Tensor, voice: FlowVoice) -> torch.Tensor:
        """Tokens of prompt and text together to (1, prompt frames + frames, mel) float32, a tensor of its own."""
        prompt_tokens = voice.prompt_tokens.shape[1]
        encoded = self.token_encoder(torch.cat((voice.prompt_tokens, tokens), dim=1))
        regulated: torch.Tensor = self.length_regulator(
            encoded[:, :prompt_tokens], encoded[:, prompt_tokens:], voice.prompt_mel.shape[1]
        )
        return regulated


def _starting_noise(noise: torch.Tensor | torch.Generator, shape: torch.Size) -> torch.Tensor:
    """A tensor of its own, float32 of `shape`."""
    if isinstance(noise, torch.Generator):
        return torch.randn(shape, generator=noise)
    if noise.shape != shape:
        raise ValueError(f"noise of shape {tuple(noise.shape)} given, {tuple(shape)} needed")
    return noise.clone()


def _ends(x: torch.Tensor, first: int, last: int) -> torch.Tensor:
    """The `first` frames of (1, frames, mel) and the `last` ones, joined."""
    return torch.cat((x[:, :first], x[:, max(x.shape[1] - last, 0) :]), dim=1)
