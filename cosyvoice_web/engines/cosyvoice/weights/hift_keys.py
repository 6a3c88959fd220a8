"""Names of the official `hift.pt` to the names of our vocoder."""

import torch

from cosyvoice_web.engines.cosyvoice.config import VocoderConfig
from cosyvoice_web.engines.cosyvoice.vocoder.f0_predictor import CONVOLUTION_COUNT, KERNEL_SIZE
from cosyvoice_web.engines.cosyvoice.vocoder.hift import EDGE_KERNEL_SIZE
from cosyvoice_web.engines.cosyvoice.weights.tensor_source import TensorSource

_SNAKE_FLOOR = 1e-9
"""Added to a snake's alpha before it divides."""


def vocoder_state(source: TensorSource, config: VocoderConfig) -> dict[str, torch.Tensor]:
    """The state of `HiFTVocoder`, float32, taken out of an official file.

    Raises:
        ShapeMismatch: a tensor has another shape than the configuration implies.
    """
    state: dict[str, torch.Tensor] = {}
    bins = config.fft_size + 2
    _linear(source, "m_source.l_linear", "harmonic_source.mix", 1, config.harmonic_count + 1, state)
    _convolution(source, "conv_pre", "input", config.base_channels, config.mel_channels, EDGE_KERNEL_SIZE, state)
    for stage, kernel_size in enumerate(config.upsample_kernel_sizes):
        before, after, stride = config.channels(stage), config.channels(stage + 1), config.source_strides[stage]
        weight = source.take_folded(f"ups.{stage}", (before, after, kernel_size))
        state[f"upsamplings.{stage}.weight"] = weight.transpose(1, 2).contiguous()
        state[f"upsamplings.{stage}.bias"] = source.take(f"ups.{stage}.bias", (after,))
        source_kernel_size = 1 if stride == 1 else 2 * stride
        _convolution(source, f"source_downs.{stage}", f"source_inputs.{stage}", after, bins, source_kernel_size, state)
        _stack(source, f"source_resblocks.{stage}", f"source_stacks.{stage}", after,
               config.source_kernel_sizes[stage], len(config.source_dilations[stage]), state)  # fmt: skip
        for index, stack_kernel_size in enumerate(config.kernel_sizes):
            _stack(source, f"resblocks.{stage * len(config.kernel_sizes) + index}", f"stacks.{stage}.{index}", after,
                   stack_kernel_size, len(config.dilations[index]), state)  # fmt: skip
    _convolution(source, "conv_post", "output", bins, after, EDGE_KERNEL_SIZE, state)
    predictor = config.f0_predictor
    before = predictor.input_channels
    for index in range(CONVOLUTION_COUNT):
        _convolution(source, f"f0_predictor.condnet.{2 * index}", f"f0_predictor.convolutions.{index}",
                     predictor.hidden_channels, before, KERNEL_SIZE, state)  # fmt: skip
        before = predictor.hidden_channels
    _linear(source, "f0_predictor.classifier", "f0_predictor.output", predictor.output_count, before, state)
    return state


def _stack(
    source: TensorSource,
    official: str,
    ours: str,
    channels: int,
    kernel_size: int,
    pair_count: int,
    state: dict[str, torch.Tensor],
) -> None:
    for index in range(pair_count):
        for number, name in ((1, "dilated"), (2, "plain")):
            _convolution(source, f"{official}.convs{number}.{index}", f"{ours}.{name}.{index}", channels, channels,
                         kernel_size, state)  # fmt: skip
            alpha = source.take(f"{official}.activations{number}.{index}.alpha", (channels,))
            state[f"{ours}.{name}_activations.{index}.alpha"] = alpha
            state[f"{ours}.{name}_activations.{index}.reciprocal"] = 1.0 / (alpha + _SNAKE_FLOOR)


def _convolution(
    source: TensorSource,
    official: str,
    ours: str,
    output_channels: int,
    input_channels: int,
    kernel_size: int,
    state: dict[str, torch.Tensor],
) -> None:
    weight = source.take_folded(official, (output_channels, input_channels, kernel_size))
    state[f"{ours}.weight"] = weight.transpose(1, 2).contiguous()
    state[f"{ours}.bias"] = source.take(f"{official}.bias", (output_channels,))


def _linear(
    source: TensorSource,
    official: str,
    ours: str,
    output_channels: int,
    input_channels: int,
    state: dict[str, torch.Tensor],
) -> None:
    state[f"{ours}.weight"] = source.take(f"{official}.weight", (output_channels, input_channels))
    state[f"{ours}.bias"] = source.take(f"{official}.bias", (output_channels,))
