"""The architecture of a CosyVoice-300M model, as numbers: read from `cosyvoice.yaml`, defaults of the published models.

Every rate that couples two networks is derived here and nowhere else.
Source: the configuration file in the published CosyVoice-300M directories.
"""

from dataclasses import dataclass
from math import prod
from pathlib import Path

from cosyvoice_web.engines.cosyvoice.config_section import Section, open_sections

MEL_SAMPLE_RATE_HZ = 22_050
"""Rate behind the flow's mel frames; the reference fixes it whatever the file says."""


OVERLAP_TOKENS = 20
"""Speech tokens at either end of a chunk that the flow treats apart, so that chunks of a stream can overlap in them."""


@dataclass(frozen=True, slots=True)
class TransformerConfig:
    """One relative-position transformer encoder.

    `input_layer`: "linear" (Linear, LayerNorm) or "linear_legacy" (Linear, LayerNorm, ReLU).
    `activation`: of the feed-forward, "swish" or "relu".
    `attention_chunk_tokens`: 0, every token sees every other; n, a token sees its own chunk of n and all before it.
    """

    input_dim: int
    model_dim: int
    head_count: int
    feed_forward_dim: int
    layer_count: int
    input_layer: str
    activation: str
    attention_chunk_tokens: int

    @property
    def head_dim(self) -> int:
        """Channels of one attention head."""
        return self.model_dim // self.head_count


@dataclass(frozen=True, slots=True)
class SamplingConfig:
    """Repetition-aware nucleus sampling: window in tokens, the rest are probabilities and a candidate count."""

    top_p: float = 0.8
    top_k: int = 25
    window_tokens: int = 10
    repetition_threshold: float = 0.1


@dataclass(frozen=True, slots=True)
class LanguageModelConfig:
    """Text tokens to speech tokens."""

    text_token_count: int
    speech_token_count: int
    text_embedding_dim: int
    input_dim: int
    output_dim: int
    speaker_dim: int
    text_encoder: TransformerConfig
    decoder: TransformerConfig
    sampling: SamplingConfig

    @property
    def end_of_speech_token(self) -> int:
        """Id after the last speech token; the output layer has `speech_token_count + 1` rows."""
        return self.speech_token_count


@dataclass(frozen=True, slots=True)
class LengthRegulatorConfig:
    """Speech-token rate to mel rate: one convolution, normalisation and activation per sampling ratio."""

    channels: int
    output_channels: int
    norm_group_count: int
    sampling_ratios: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class VelocityNetConfig:
    """The U-Net that estimates the flow's velocity; `channels` from the outermost level inwards."""

    input_channels: int
    output_channels: int
    channels: tuple[int, ...]
    blocks_per_level: int
    middle_level_count: int
    head_count: int
    head_dim: int


@dataclass(frozen=True, slots=True)
class MelDecoderConfig:
    """Speech tokens to mel by flow matching."""

    speech_token_count: int
    token_embedding_dim: int
    mel_channels: int
    speaker_dim: int
    token_rate_hz: int
    hop_samples: int
    time_schedule: str
    guidance_rate: float
    token_encoder: TransformerConfig
    length_regulator: LengthRegulatorConfig
    velocity_net: VelocityNetConfig

    @property
    def overlap_tokens(self) -> int:
        """Speech tokens that two neighbouring chunks of a stream share."""
        return OVERLAP_TOKENS

    @property
    def overlap_frames(self) -> int:
        """Mel frames that two neighbouring chunks of a stream share."""
        return self.mel_frames(OVERLAP_TOKENS)

    def mel_frames(self, token_count: int) -> int:
        """Mel frames that `token_count` speech tokens last: floor(tokens / token rate x 22050 / hop)."""
        return int(token_count / self.token_rate_hz * MEL_SAMPLE_RATE_HZ / self.hop_samples)


@dataclass(frozen=True, slots=True)
class F0PredictorConfig:
    """Mel to fundamental frequency."""

    input_channels: int
    hidden_channels: int
    output_count: int


@dataclass(frozen=True, slots=True)
class VocoderConfig:
    """Mel to waveform: harmonic source, upsampling convolutions, inverse short-time Fourier transform.

    `dilations[i]` belong to `kernel_sizes[i]`. `voiced_threshold_hz` separates voiced from unvoiced frames.
    """

    mel_channels: int
    base_channels: int
    sample_rate_hz: int
    harmonic_count: int
    sine_amplitude: float
    noise_deviation: float
    voiced_threshold_hz: float
    upsample_rates: tuple[int, ...]
    upsample_kernel_sizes: tuple[int, ...]
    fft_size: int
    fft_hop_samples: int
    kernel_sizes: tuple[int, ...]
    dilations: tuple[tuple[int, ...], ...]
    source_kernel_sizes: tuple[int, ...]
    source_dilations: tuple[tuple[int, ...], ...]
    leaky_relu_slope: float
    audio_limit: float
    f0_predictor: F0PredictorConfig

    @property
    def samples_per_frame(self) -> int:
        """Audio samples that one mel frame becomes."""
        samples: int = prod(self.upsample_rates) * self.fft_hop_samples
        return samples

    @property
    def source_strides(self) -> tuple[int, ...]:
        """Stride that brings the source's spectrum to the rate of each upsampling stage, first stage first."""
        return tuple(prod(self.upsample_rates[stage + 1 :]) for stage in range(len(self.upsample_rates)))

    def channels(self, stage: int) -> int:
        """Channels after `stage` upsamplings; `channels(0)` before the first."""
        return self.base_channels >> stage


@dataclass(frozen=True, slots=True)
class MelFeatureConfig:
    """The mel spectrogram of prompt recordings."""

    sample_rate_hz: int
    fft_size: int
    hop_samples: int
    window_samples: int
    mel_channels: int
    lowest_hz: float
    highest_hz: float


@dataclass(frozen=True, slots=True)
class CosyVoiceConfig:
    """A whole model; see the parts."""

    path: str
    language_model: LanguageModelConfig
    mel_decoder: MelDecoderConfig
    vocoder: VocoderConfig
    mel_features: MelFeatureConfig

    @property
    def sample_rate_hz(self) -> int:
        """Rate of the audio that the model makes."""
        return self.vocoder.sample_rate_hz


def read_config(path: Path) -> CosyVoiceConfig:
    """Read a model's `cosyvoice.yaml`; what it leaves out takes the published models' value.

    Raises:
        FileMissing, FileTruncated: there is no such file, or it is not a YAML mapping.
        WrongModelFamily: it describes CosyVoice2 or 3, or a variant of a layer that this family does not have.
        ShapeMismatch: a number has the wrong kind, or numbers that must agree do not.
    """
    llm, flow, hift, features, top = open_sections(path)
    sample_rate_hz = top.integer("sample_rate", MEL_SAMPLE_RATE_HZ)
    speaker_dim = top.integer("spk_embed_dim", 192)
    mel_features = _mel_features(features, sample_rate_hz, flow.integer("output_size", 80))
    language_model = _language_model(llm, speaker_dim)
    mel_decoder = _mel_decoder(flow, speaker_dim, mel_features.hop_samples)
    vocoder = _vocoder(hift, sample_rate_hz)
    if language_model.speech_token_count > mel_decoder.speech_token_count:
        top.agree(
            "llm.speech_token_size", language_model.speech_token_count,
            "flow.vocab_size", mel_decoder.speech_token_count,
        )  # fmt: skip
    top.agree("hift.in_channels", vocoder.mel_channels, "flow.output_size", mel_decoder.mel_channels)
    return CosyVoiceConfig(str(path), language_model, mel_decoder, vocoder, mel_features)


def _language_model(llm: Section, speaker_dim: int) -> LanguageModelConfig:
    text_dim, input_dim = llm.integer("text_encoder_input_size", 512), llm.integer("llm_input_size", 1024)
    output_dim = llm.integer("llm_output_size", 1024)
    text_encoder = _transformer(llm.section("text_encoder"), text_dim, 1024, 16, 4096, 6, "linear", "swish", 1)
    decoder = _transformer(llm.section("llm"), input_dim, output_dim, 16, 4096, 14, "linear_legacy", "relu", 1)
    llm.agree("text_encoder.input_size", text_encoder.input_dim, "text_encoder_input_size", text_dim)
    llm.agree("llm.input_size", decoder.input_dim, "llm_input_size", input_dim)
    llm.agree("llm.output_size", decoder.model_dim, "llm_output_size", output_dim)
    if decoder.attention_chunk_tokens != 1:
        llm.refuse("llm.static_chunk_size", decoder.attention_chunk_tokens, "1: speech tokens are made one by one")
    sampling = llm.section("sampling")
    return LanguageModelConfig(
        text_token_count=llm.integer("text_token_size", 51866),
        speech_token_count=llm.integer("speech_token_size", 4096),
        text_embedding_dim=text_dim,
        input_dim=input_dim,
        output_dim=output_dim,
        speaker_dim=llm.integer("spk_embed_dim", speaker_dim),
        text_encoder=text_encoder,
        decoder=decoder,
        sampling=SamplingConfig(
            top_p=sampling.number("top_p", 0.8),
            top_k=sampling.integer("top_k", 25),
            window_tokens=sampling.integer("win_size", 10),
            repetition_threshold=sampling.number("tau_r", 0.1),
        ),
    )


def _transformer(
    section: Section,
    input_dim: int,
    model_dim: int,
    head_count: int,
    feed_forward_dim: int,
    layer_count: int,
    input_layer: str,
    activation: str,
    chunk_tokens: int,
) -> TransformerConfig:
    # trained with chunks of random size: spoken with the published models' size
    dynamic = section.boolean("use_dynamic_chunk", False)
    section.choice("pos_enc_layer_type", "rel_pos_espnet")
    section.choice("selfattention_layer_type", "rel_selfattn")
    for name, expected in (("normalize_before", True), ("use_cnn_module", False), ("macaron_style", False)):
        section.flag(name, expected)
    config = TransformerConfig(
        input_dim=section.integer("input_size", input_dim),
        model_dim=section.integer("output_size", model_dim),
        head_count=section.integer("attention_heads", head_count),
        feed_forward_dim=section.integer("linear_units", feed_forward_dim),
        layer_count=section.integer("num_blocks", layer_count),
        input_layer=section.choice("input_layer", input_layer, "linear", "linear_legacy"),
        activation=section.choice("activation_type", activation, "swish", "relu"),
        attention_chunk_tokens=chunk_tokens
        if dynamic
        else max(0, section.integer("static_chunk_size", chunk_tokens, at_least=-1)),
    )
    section.divides("attention_heads", config.head_count, "output_size", config.model_dim)
    section.divides("2", 2, "output_size", config.model_dim)
    return config


def _mel_decoder(flow: Section, speaker_dim: int, hop_samples: int) -> MelDecoderConfig:
    embedding_dim, mel_channels = flow.integer("input_size", 512), flow.integer("output_size", 80)
    encoder = _transformer(flow.section("encoder"), embedding_dim, 512, 8, 2048, 6, "linear", "swish", 0)
    flow.agree("encoder.input_size", encoder.input_dim, "input_size", embedding_dim)
    regulator, decoder = flow.section("length_regulator"), flow.section("decoder")
    cfm, net = decoder.section("cfm_params").content(), decoder.section("estimator")
    cfm.choice("solver", "euler")
    net.choice("act_fn", "gelu")
    velocity_net = VelocityNetConfig(
        input_channels=net.integer("in_channels", 4 * mel_channels),
        output_channels=net.integer("out_channels", mel_channels),
        channels=net.integers("channels", (256, 256)),
        blocks_per_level=net.integer("n_blocks", 4, at_least=0),
        middle_level_count=net.integer("num_mid_blocks", 12, at_least=0),
        head_count=net.integer("num_heads", 8),
        head_dim=net.integer("attention_head_dim", 64),
    )
    net.agree("in_channels", velocity_net.input_channels, "4 x the mel channels", 4 * mel_channels)
    net.agree("out_channels", velocity_net.output_channels, "flow.output_size", mel_channels)
    for channels in velocity_net.channels:
        net.divides("8", 8, "channels", channels)
    channels = regulator.integer("channels", mel_channels)
    length_regulator = LengthRegulatorConfig(
        channels=channels,
        output_channels=regulator.integer("out_channels", channels),
        norm_group_count=regulator.integer("groups", 1),
        sampling_ratios=regulator.integers("sampling_ratios", (1, 1, 1, 1)),
    )
    regulator.agree("channels", channels, "flow.output_size", mel_channels)
    regulator.agree("out_channels", length_regulator.output_channels, "flow.output_size", mel_channels)
    regulator.divides("groups", length_regulator.norm_group_count, "channels", channels)
    return MelDecoderConfig(
        speech_token_count=flow.integer("vocab_size", 4096),
        token_embedding_dim=embedding_dim,
        mel_channels=mel_channels,
        speaker_dim=flow.integer("spk_embed_dim", speaker_dim),
        token_rate_hz=flow.integer("input_frame_rate", 50),
        hop_samples=hop_samples,
        time_schedule=cfm.choice("t_scheduler", "cosine", "cosine", "linear"),
        guidance_rate=cfm.number("inference_cfg_rate", 0.7),
        token_encoder=encoder,
        length_regulator=length_regulator,
        velocity_net=velocity_net,
    )


def _vocoder(hift: Section, sample_rate_hz: int) -> VocoderConfig:
    fft, predictor = hift.section("istft_params"), hift.section("f0_predictor")
    mel_channels = hift.integer("in_channels", 80)
    config = VocoderConfig(
        mel_channels=mel_channels,
        base_channels=hift.integer("base_channels", 512),
        sample_rate_hz=hift.integer("sampling_rate", sample_rate_hz),
        harmonic_count=hift.integer("nb_harmonics", 8, at_least=0),
        sine_amplitude=hift.number("nsf_alpha", 0.1),
        noise_deviation=hift.number("nsf_sigma", 0.003),
        voiced_threshold_hz=hift.number("nsf_voiced_threshold", 10),
        upsample_rates=hift.integers("upsample_rates", (8, 8)),
        upsample_kernel_sizes=hift.integers("upsample_kernel_sizes", (16, 16)),
        fft_size=fft.integer("n_fft", 16),
        fft_hop_samples=fft.integer("hop_len", 4),
        kernel_sizes=hift.integers("resblock_kernel_sizes", (3, 7, 11)),
        dilations=hift.integer_rows("resblock_dilation_sizes", ((1, 3, 5),) * 3),
        source_kernel_sizes=hift.integers("source_resblock_kernel_sizes", (7, 11)),
        source_dilations=hift.integer_rows("source_resblock_dilation_sizes", ((1, 3, 5),) * 2),
        leaky_relu_slope=hift.number("lrelu_slope", 0.1),
        audio_limit=hift.number("audio_limit", 0.99),
        f0_predictor=F0PredictorConfig(
            input_channels=predictor.integer("in_channels", mel_channels),
            hidden_channels=predictor.integer("cond_channels", 512),
            output_count=predictor.integer("num_class", 1),
        ),
    )
    stages = len(config.upsample_rates)
    hift.agree("upsample_kernel_sizes", len(config.upsample_kernel_sizes), "upsample_rates", stages, "entries")
    hift.agree("resblock_dilation_sizes", len(config.dilations), "resblock_kernel_sizes",
               len(config.kernel_sizes), "entries")  # fmt: skip
    hift.agree("source_resblock_kernel_sizes", len(config.source_kernel_sizes), "upsample_rates", stages, "entries")
    hift.agree("source_resblock_dilation_sizes", len(config.source_dilations), "upsample_rates", stages, "entries")
    predictor.agree("in_channels", config.f0_predictor.input_channels, "hift.in_channels", mel_channels)
    fft.divides("2", 2, "n_fft", config.fft_size)
    for name, sizes in (("resblock", config.kernel_sizes), ("source_resblock", config.source_kernel_sizes)):
        if not all(size % 2 for size in sizes):
            hift.refuse(f"{name}_kernel_sizes", list(sizes), "odd sizes, which keep the length")
    if any(size < rate for size, rate in zip(config.upsample_kernel_sizes, config.upsample_rates, strict=True)):
        expected = f"sizes of at least the upsample_rates {list(config.upsample_rates)}"
        hift.refuse("upsample_kernel_sizes", list(config.upsample_kernel_sizes), expected)
    if config.sample_rate_hz != MEL_SAMPLE_RATE_HZ:
        hift.refuse("sampling_rate", config.sample_rate_hz, f"{MEL_SAMPLE_RATE_HZ}, the rate of the 300M models")
    return config


def _mel_features(features: Section, sample_rate_hz: int, mel_channels: int) -> MelFeatureConfig:
    return MelFeatureConfig(
        sample_rate_hz=features.integer("sampling_rate", sample_rate_hz),
        fft_size=features.integer("n_fft", 1024),
        hop_samples=features.integer("hop_size", 256),
        window_samples=features.integer("win_size", 1024),
        mel_channels=features.integer("num_mels", mel_channels),
        lowest_hz=features.number("fmin", 0),
        highest_hz=features.number("fmax", 8000),
    )
