"""Mel decoders and vocoders with recipe weights, built once."""

from functools import cache

import torch

from cosyvoice_web.engines.cosyvoice.mel_decoder.flow import FlowVoice, MelDecoder
from cosyvoice_web.engines.cosyvoice.vocoder.hift import HiFTVocoder
from cosyvoice_web.engines.cosyvoice.weights.flow_keys import mel_decoder_state
from cosyvoice_web.engines.cosyvoice.weights.hift_keys import vocoder_state
from cosyvoice_web.engines.cosyvoice.weights.recipe import input_tensor
from cosyvoice_web.engines.cosyvoice.weights.tensor_source import TensorSource
from tests.engines.cosyvoice.golden_files import golden


def build_mel_decoder(size: str) -> MelDecoder:
    source = TensorSource("flow.pt", golden(size).checkpoint("flow"))
    state = mel_decoder_state(source, golden(size).config.mel_decoder)
    source.finish()
    return MelDecoder.from_state(golden(size).config.mel_decoder, state)


def build_vocoder(size: str) -> HiFTVocoder:
    source = TensorSource("hift.pt", golden(size).checkpoint("hift"))
    state = vocoder_state(source, golden(size).config.vocoder)
    source.finish()
    return HiFTVocoder.from_state(golden(size).config.vocoder, state)


@cache
def tiny_mel_decoder() -> MelDecoder:
    """Nothing may change it."""
    return build_mel_decoder("tiny")


@cache
def tiny_vocoder() -> HiFTVocoder:
    """Nothing may change it."""
    return build_vocoder("tiny")


def plain_voice(size: str = "tiny") -> FlowVoice:
    return FlowVoice.without_prompt(golden(size).tensor("speaker"), golden(size).config.mel_decoder)


def cloned_voice(size: str = "tiny") -> FlowVoice:
    values = golden(size)
    return FlowVoice(values.tensor("speaker"), values.tensor("prompt_speech"), values.tensor("prompt_feat"))


def frames_last(x: torch.Tensor) -> torch.Tensor:
    """(1, frames, channels) as golden files hold it, (1, channels, frames)."""
    return x.transpose(1, 2)


def starting_noise(size: str, call: int) -> torch.Tensor:
    """The flow's noise of the golden file's `call`, counted from 1, as (1, frames, mel)."""
    shape = golden(size).arrays["noise_shapes"][call - 1].tolist()
    return frames_last(input_tensor(f"noise{call}", shape))


def made_up_mel(frames: int, seed: int = 0) -> torch.Tensor:
    """(1, frames, 80) that changes smoothly with time."""
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.randn(1, 80, frames // 5 + 2, generator=generator)
    return torch.nn.functional.interpolate(coarse, size=frames, mode="linear").transpose(1, 2).contiguous()
