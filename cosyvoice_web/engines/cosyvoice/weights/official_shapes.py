"""Name and shape of every tensor in the official `llm.pt`, `flow.pt` and `hift.pt`, from the architecture alone.

Source: the state dictionaries of the reference's TransformerLM, MaskedDiffWithXvec and HiFTGenerator.
"""

from collections.abc import Iterator

from cosyvoice_web.engines.cosyvoice.config import (
    CosyVoiceConfig,
    LanguageModelConfig,
    MelDecoderConfig,
    TransformerConfig,
    VelocityNetConfig,
    VocoderConfig,
)

Shape = tuple[int, ...]
Entry = tuple[str, Shape]


def official_shapes(config: CosyVoiceConfig) -> dict[str, dict[str, Shape]]:
    """Shapes by module ("llm", "flow", "hift", the stems of the files) and key."""
    return {
        "llm": dict(_language_model(config.language_model)),
        "flow": dict(_mel_decoder(config.mel_decoder)),
        "hift": dict(_vocoder(config.vocoder)),
    }


def _language_model(config: LanguageModelConfig) -> Iterator[Entry]:
    yield "text_embedding.weight", (config.text_token_count, config.text_embedding_dim)
    yield from _transformer("text_encoder", config.text_encoder, ("norm_ff", "norm_mha"))
    yield from _linear("text_encoder_affine_layer", config.text_encoder.model_dim, config.input_dim)
    yield "llm_embedding.weight", (2, config.input_dim)
    yield from _transformer("llm", config.decoder, ("norm1", "norm2"))
    yield from _linear("llm_decoder", config.output_dim, config.speech_token_count + 1)
    yield "speech_embedding.weight", (config.speech_token_count, config.input_dim)
    yield from _linear("spk_embed_affine_layer", config.speaker_dim, config.input_dim)


def _mel_decoder(config: MelDecoderConfig) -> Iterator[Entry]:
    encoder, regulator = config.token_encoder, config.length_regulator
    yield "input_embedding.weight", (config.speech_token_count, config.token_embedding_dim)
    yield from _linear("spk_embed_affine_layer", config.speaker_dim, config.mel_channels)
    yield from _transformer("encoder", encoder, ("norm_ff", "norm_mha"))
    yield from _linear("encoder_proj", encoder.model_dim, config.mel_channels)
    yield from _velocity_net("decoder.estimator", config.velocity_net)
    for index in range(len(regulator.sampling_ratios)):
        yield from _conv(f"length_regulator.model.{3 * index}", regulator.channels, regulator.channels, 3)
        yield from _norm(f"length_regulator.model.{3 * index + 1}", regulator.channels)
    last = 3 * len(regulator.sampling_ratios)
    yield from _conv(f"length_regulator.model.{last}", regulator.channels, regulator.output_channels, 1)


def _vocoder(config: VocoderConfig) -> Iterator[Entry]:
    spectrum_rows = config.fft_size + 2
    yield from _linear("m_source.l_linear", config.harmonic_count + 1, 1)
    yield from _normed_conv("conv_pre", config.channels(0), config.mel_channels, 7)
    for stage, kernel_size in enumerate(config.upsample_kernel_sizes):
        inward, outward = config.channels(stage), config.channels(stage + 1)
        yield f"ups.{stage}.bias", (outward,)
        yield f"ups.{stage}.parametrizations.weight.original0", (inward, 1, 1)
        yield f"ups.{stage}.parametrizations.weight.original1", (inward, outward, kernel_size)
    for stage, stride in enumerate(config.source_strides):
        channels = config.channels(stage + 1)
        yield from _conv(f"source_downs.{stage}", spectrum_rows, channels, 1 if stride == 1 else 2 * stride)
        yield from _residual_block(
            f"source_resblocks.{stage}", channels, config.source_kernel_sizes[stage], config.source_dilations[stage]
        )
    per_stage = len(config.kernel_sizes)
    for stage in range(len(config.upsample_rates)):
        for index, (kernel_size, dilations) in enumerate(zip(config.kernel_sizes, config.dilations, strict=True)):
            prefix = f"resblocks.{stage * per_stage + index}"
            yield from _residual_block(prefix, config.channels(stage + 1), kernel_size, dilations)
    yield from _normed_conv("conv_post", spectrum_rows, config.channels(len(config.upsample_rates)), 7)
    predictor = config.f0_predictor
    for index in range(5):
        inward = predictor.hidden_channels if index else predictor.input_channels
        yield from _normed_conv(f"f0_predictor.condnet.{2 * index}", predictor.hidden_channels, inward, 3)
    yield from _linear("f0_predictor.classifier", predictor.hidden_channels, predictor.output_count)


def _transformer(prefix: str, config: TransformerConfig, norms: tuple[str, str]) -> Iterator[Entry]:
    dim = config.model_dim
    yield from _linear(f"{prefix}.embed.out.0", config.input_dim, dim)
    yield from _norm(f"{prefix}.embed.out.1", dim)
    yield from _norm(f"{prefix}.after_norm", dim)
    for layer in range(config.layer_count):
        attention, feed_forward = f"{prefix}.encoders.{layer}.self_attn", f"{prefix}.encoders.{layer}.feed_forward"
        yield f"{attention}.pos_bias_u", (config.head_count, config.head_dim)
        yield f"{attention}.pos_bias_v", (config.head_count, config.head_dim)
        for name in ("linear_q", "linear_k", "linear_v", "linear_out"):
            yield from _linear(f"{attention}.{name}", dim, dim)
        yield f"{attention}.linear_pos.weight", (dim, dim)
        yield from _linear(f"{feed_forward}.w_1", dim, config.feed_forward_dim)
        yield from _linear(f"{feed_forward}.w_2", config.feed_forward_dim, dim)
        for name in norms:
            yield from _norm(f"{prefix}.encoders.{layer}.{name}", dim)


def _velocity_net(prefix: str, config: VelocityNetConfig) -> Iterator[Entry]:
    channels, time_dim = config.channels, 4 * config.channels[0]
    yield from _linear(f"{prefix}.time_mlp.linear_1", config.input_channels, time_dim)
    yield from _linear(f"{prefix}.time_mlp.linear_2", time_dim, time_dim)
    last = len(channels) - 1
    for level, (inward, outward) in enumerate(zip((config.input_channels, *channels), channels, strict=False)):
        yield from _unet_level(f"{prefix}.down_blocks.{level}", inward, outward, time_dim, config)
        yield from _conv(f"{prefix}.down_blocks.{level}.2{'' if level == last else '.conv'}", outward, outward, 3)
    for level in range(config.middle_level_count):
        yield from _unet_level(f"{prefix}.mid_blocks.{level}", channels[-1], channels[-1], time_dim, config)
    upward = (*reversed(channels), channels[0])
    for level in range(len(channels)):
        inward, outward = 2 * upward[level], upward[level + 1]
        yield from _unet_level(f"{prefix}.up_blocks.{level}", inward, outward, time_dim, config)
        if level == last:
            yield from _conv(f"{prefix}.up_blocks.{level}.2", outward, outward, 3)
        else:
            yield from _conv(f"{prefix}.up_blocks.{level}.2.conv", outward, outward, 4)
    yield from _conv_and_norm(f"{prefix}.final_block.block", channels[0], channels[0])
    yield from _conv(f"{prefix}.final_proj", channels[0], config.output_channels, 1)


def _unet_level(prefix: str, inward: int, outward: int, time_dim: int, config: VelocityNetConfig) -> Iterator[Entry]:
    yield from _linear(f"{prefix}.0.mlp.1", time_dim, outward)
    yield from _conv_and_norm(f"{prefix}.0.block1.block", inward, outward)
    yield from _conv_and_norm(f"{prefix}.0.block2.block", outward, outward)
    yield from _conv(f"{prefix}.0.res_conv", inward, outward, 1)
    attention_dim = config.head_count * config.head_dim
    for index in range(config.blocks_per_level):
        block = f"{prefix}.1.{index}"
        yield from _norm(f"{block}.norm1", outward)
        for name in ("to_q", "to_k", "to_v"):
            yield f"{block}.attn1.{name}.weight", (attention_dim, outward)
        yield from _linear(f"{block}.attn1.to_out.0", attention_dim, outward)
        yield from _norm(f"{block}.norm3", outward)
        yield from _linear(f"{block}.ff.net.0.proj", outward, 4 * outward)
        yield from _linear(f"{block}.ff.net.2", 4 * outward, outward)


def _residual_block(prefix: str, channels: int, kernel_size: int, dilations: tuple[int, ...]) -> Iterator[Entry]:
    for index in range(len(dilations)):
        for branch in (1, 2):
            yield from _normed_conv(f"{prefix}.convs{branch}.{index}", channels, channels, kernel_size)
            yield f"{prefix}.activations{branch}.{index}.alpha", (channels,)


def _linear(prefix: str, inward: int, outward: int) -> Iterator[Entry]:
    yield f"{prefix}.weight", (outward, inward)
    yield f"{prefix}.bias", (outward,)


def _norm(prefix: str, channels: int) -> Iterator[Entry]:
    yield f"{prefix}.weight", (channels,)
    yield f"{prefix}.bias", (channels,)


def _conv(prefix: str, inward: int, outward: int, kernel_size: int) -> Iterator[Entry]:
    yield f"{prefix}.weight", (outward, inward, kernel_size)
    yield f"{prefix}.bias", (outward,)


def _conv_and_norm(prefix: str, inward: int, outward: int) -> Iterator[Entry]:
    yield from _conv(f"{prefix}.0", inward, outward, 3)
    yield from _norm(f"{prefix}.1", outward)


def _normed_conv(prefix: str, outward: int, inward: int, kernel_size: int) -> Iterator[Entry]:
    yield f"{prefix}.bias", (outward,)
    yield f"{prefix}.parametrizations.weight.original0", (outward, 1, 1)
    yield f"{prefix}.parametrizations.weight.original1", (outward, inward, kernel_size)
