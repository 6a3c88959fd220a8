"""Names of the official `flow.pt` to the names of our mel decoder."""

import torch

from cosyvoice_web.engines.cosyvoice.config import LengthRegulatorConfig, MelDecoderConfig, VelocityNetConfig
from cosyvoice_web.engines.cosyvoice.mel_decoder.velocity_net import FEED_FORWARD_FACTOR, TIME_CHANNELS_FACTOR
from cosyvoice_web.engines.cosyvoice.weights.encoder_keys import CONFORMER_NORMS, encoder_state, renamed
from cosyvoice_web.engines.cosyvoice.weights.tensor_source import TensorSource

State = dict[str, torch.Tensor]
_ESTIMATOR = "decoder.estimator"


def mel_decoder_state(source: TensorSource, config: MelDecoderConfig) -> State:
    """The state of `MelDecoder`, float32, taken out of an official file.

    Raises:
        ShapeMismatch: a tensor has another shape than the configuration implies.
    """
    mel, encoder = config.mel_channels, config.token_encoder
    embedding_shape = (config.speech_token_count, config.token_embedding_dim)
    state = {"token_encoder.embedding.weight": source.take("input_embedding.weight", embedding_shape)}
    encoder_part = encoder_state(source, "encoder", encoder, CONFORMER_NORMS)
    state |= {f"token_encoder.encoder.{name}": tensor for name, tensor in encoder_part.items()}
    state |= renamed(source, "encoder_proj", "token_encoder.output", (mel, encoder.model_dim))
    state |= renamed(source, "spk_embed_affine_layer", "speaker_projection", (mel, config.speaker_dim))
    state |= _length_regulator(source, config.length_regulator)
    return state | _velocity_net(source, config.velocity_net)


def _length_regulator(source: TensorSource, config: LengthRegulatorConfig) -> State:
    """Three official places a block: convolution, norm, activation."""
    state: State = {}
    for block in range(len(config.sampling_ratios)):
        state |= _convolution_block(
            source,
            f"length_regulator.model.{3 * block}",
            f"length_regulator.model.{3 * block + 1}",
            f"length_regulator.blocks.{block}",
            config.channels,
            config.channels,
        )
    last = f"length_regulator.model.{3 * len(config.sampling_ratios)}"
    return state | _pointwise(source, last, "length_regulator.output", config.channels, config.output_channels)


def _velocity_net(source: TensorSource, config: VelocityNetConfig) -> State:
    outer, inner = config.channels[0], config.channels[-1]
    time_channels = TIME_CHANNELS_FACTOR * outer
    inwards = list(zip((config.input_channels, *config.channels), config.channels, strict=False))
    outwards = [
        (2 * before, after)
        for before, after in zip(config.channels[::-1], (*config.channels[-2::-1], outer), strict=True)
    ]
    levels = [(f"down_blocks.{level}", f"down_levels.{level}", *pair) for level, pair in enumerate(inwards)]
    levels += [(f"mid_blocks.{n}", f"middle_levels.{n}", inner, inner) for n in range(config.middle_level_count)]
    levels += [(f"up_blocks.{level}", f"up_levels.{level}", *pair) for level, pair in enumerate(outwards)]
    state: State = {}
    time_parts: list[State] = []
    for theirs, ours, before, after in levels:
        state |= _level(source, f"{_ESTIMATOR}.{theirs}", f"velocity_net.{ours}", before, after, config)
        time_parts.append(renamed(source, f"{_ESTIMATOR}.{theirs}.0.mlp.1", "time", (after, time_channels)))
    for kind in ("weight", "bias"):
        state[f"velocity_net.time_output.{kind}"] = torch.cat([part[f"time.{kind}"] for part in time_parts])
    for level, channels in enumerate(config.channels):
        theirs = f"{_ESTIMATOR}.down_blocks.{level}.2" + ("" if level == len(config.channels) - 1 else ".conv")
        state |= _convolution(source, theirs, f"velocity_net.downsamplings.{level}", channels, channels)
    for level, (_, channels) in enumerate(outwards):
        theirs, ours = f"{_ESTIMATOR}.up_blocks.{level}.2", f"velocity_net.upsamplings.{level}"
        is_last = level == len(outwards) - 1
        state |= (_convolution if is_last else _upsampling)(source, theirs, ours, channels, channels)
    final = f"{_ESTIMATOR}.final_block.block"
    state |= _convolution_block(source, f"{final}.0", f"{final}.1", "velocity_net.final", outer, outer)
    state |= _pointwise(source, f"{_ESTIMATOR}.final_proj", "velocity_net.output", outer, config.output_channels)
    time_shape = (time_channels, config.input_channels)
    state |= renamed(source, f"{_ESTIMATOR}.time_mlp.linear_1", "velocity_net.time_input", time_shape)
    square = (time_channels, time_channels)
    return state | renamed(source, f"{_ESTIMATOR}.time_mlp.linear_2", "velocity_net.time_hidden", square)


def _level(source: TensorSource, theirs: str, ours: str, before: int, after: int, config: VelocityNetConfig) -> State:
    state: State = {}
    for number, name, width in ((1, "first", before), (2, "second", after)):
        block = f"{theirs}.0.block{number}.block"
        state |= _convolution_block(source, f"{block}.0", f"{block}.1", f"{ours}.residual.{name}", width, after)
    state |= _pointwise(source, f"{theirs}.0.res_conv", f"{ours}.residual.shortcut", before, after)
    for index in range(config.blocks_per_level):
        state |= _attention_block(source, f"{theirs}.1.{index}", f"{ours}.attention.{index}", after, config)
    return state


def _attention_block(source: TensorSource, theirs: str, ours: str, channels: int, config: VelocityNetConfig) -> State:
    heads, hidden = config.head_count * config.head_dim, FEED_FORWARD_FACTOR * channels
    parts = [source.take(f"{theirs}.attn1.to_{part}.weight", (heads, channels)) for part in "qkv"]
    return {
        f"{ours}.query_key_value.weight": torch.cat(parts),
        **renamed(source, f"{theirs}.attn1.to_out.0", f"{ours}.attention_output", (channels, heads)),
        **renamed(source, f"{theirs}.norm1", f"{ours}.attention_norm", (channels,)),
        **renamed(source, f"{theirs}.norm3", f"{ours}.feed_forward_norm", (channels,)),
        **renamed(source, f"{theirs}.ff.net.0.proj", f"{ours}.expand", (hidden, channels)),
        **renamed(source, f"{theirs}.ff.net.2", f"{ours}.contract", (channels, hidden)),
    }


def _convolution_block(source: TensorSource, theirs: str, their_norm: str, ours: str, before: int, after: int) -> State:
    return _convolution(source, theirs, f"{ours}.convolution", before, after) | renamed(
        source, their_norm, f"{ours}.norm", (after,)
    )


def _convolution(source: TensorSource, theirs: str, ours: str, before: int, after: int) -> State:
    """Official (output, input, kernel) to (output, kernel, input)."""
    part = renamed(source, theirs, ours, (after, before, 3))
    return {**part, f"{ours}.weight": part[f"{ours}.weight"].transpose(1, 2).contiguous()}


def _upsampling(source: TensorSource, theirs: str, ours: str, before: int, after: int) -> State:
    """Official (input, output, kernel) to (input, kernel, output)."""
    weight = source.take(f"{theirs}.conv.weight", (before, after, 4))
    return {
        f"{ours}.weight": weight.transpose(1, 2).contiguous(),
        f"{ours}.bias": source.take(f"{theirs}.conv.bias", (after,)),
    }


def _pointwise(source: TensorSource, theirs: str, ours: str, before: int, after: int) -> State:
    """A convolution of kernel 1 is a linear layer."""
    part = renamed(source, theirs, ours, (after, before, 1))
    return {**part, f"{ours}.weight": part[f"{ours}.weight"][:, :, 0]}
