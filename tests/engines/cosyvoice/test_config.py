from dataclasses import replace
from pathlib import Path

import pytest

from cosyvoice_web.engines.cosyvoice.config import CosyVoiceConfig, read_config
from cosyvoice_web.engines.cosyvoice.make_checkpoint import SIZES
from cosyvoice_web.errors import CheckpointError, FileTruncated, ShapeMismatch, WrongModelFamily
from tests.engines.cosyvoice.golden_files import GOLDEN_DIR

MINIMAL = "llm: {}\nflow: {}\nhift: {}\n"


def read(tmp_path: Path, text: str) -> CosyVoiceConfig:
    path = tmp_path / "cosyvoice.yaml"
    path.write_text(text, encoding="utf-8")
    return replace(read_config(path), path="")


def edited(tmp_path: Path, before: str, after: str) -> CosyVoiceConfig:
    text = (GOLDEN_DIR / "official-cosyvoice.yaml").read_text(encoding="utf-8")
    assert before in text
    return read(tmp_path, text.replace(before, after, 1))


def published() -> CosyVoiceConfig:
    return replace(read_config(GOLDEN_DIR / "official-cosyvoice.yaml"), path="")


def test_the_published_numbers() -> None:
    config = published()
    lm, flow, hift = config.language_model, config.mel_decoder, config.vocoder
    assert (lm.text_token_count, lm.speech_token_count, lm.end_of_speech_token) == (51866, 4096, 4096)
    assert (lm.decoder.layer_count, lm.decoder.head_dim, lm.decoder.feed_forward_dim) == (14, 64, 4096)
    assert (lm.text_encoder.input_layer, lm.decoder.input_layer) == ("linear", "linear_legacy")
    assert (lm.text_encoder.attention_chunk_tokens, flow.token_encoder.attention_chunk_tokens) == (1, 0)
    assert flow.velocity_net.channels == (256, 256)
    assert (flow.token_rate_hz, flow.mel_frames(60), flow.mel_frames(25)) == (50, 103, 43)
    assert (hift.samples_per_frame, hift.source_strides, hift.channels(2)) == (256, (8, 1), 128)
    assert config.mel_features.highest_hz == 8000


@pytest.mark.parametrize("size", ["tiny", "full"])
def test_our_own_yaml_says_the_same_as_the_golden_one(size: str) -> None:
    ours, golden = read_config(SIZES[size]), read_config(GOLDEN_DIR / f"{size}.yaml")
    assert replace(ours, path="") == replace(golden, path="")


def test_a_file_that_leaves_everything_out_is_the_published_model(tmp_path: Path) -> None:
    assert read(tmp_path, MINIMAL) == published()


def test_an_older_file_without_sampling_and_with_another_tokenizer_loads(tmp_path: Path) -> None:
    text = (GOLDEN_DIR / "official-cosyvoice.yaml").read_text(encoding="utf-8")
    start, end = text.index("    sampling: !name"), text.index("flow: !new")
    text = text[:start] + text[end:]
    text = text.replace("!name:whisper.tokenizer.get_tokenizer", "!name:somewhere.else.tokenizer")
    assert read(tmp_path, text) == published()


def test_the_25_hz_recipe(tmp_path: Path) -> None:
    config = edited(tmp_path, "input_frame_rate: 50", "input_frame_rate: 25")
    assert config.mel_decoder.mel_frames(25) == 86
    assert edited(tmp_path, "text_token_size: 51866", "text_token_size: 60515").language_model.text_token_count == 60515
    assert edited(tmp_path, "[1, 1, 1, 1]", "[1, 1]").mel_decoder.length_regulator.sampling_ratios == (1, 1)


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("# fixed params", "qwen_pretrain_path: ''", "qwen_pretrain_path"),
        ("cosyvoice.flow.flow.MaskedDiffWithXvec", "cosyvoice.flow.flow.CausalMaskedDiffWithXvec", "CosyVoice2"),
        ("cosyvoice.llm.llm.TransformerLM", "cosyvoice.llm.llm.Qwen2LM", "Qwen2LM"),
        ("cosyvoice.hifigan.generator.HiFTGenerator", "cosyvoice.hifigan.generator.CausalHiFTGenerator", "Causal"),
        ("cosyvoice.flow.decoder.ConditionalDecoder", "cosyvoice.flow.DiT.dit.DiT", "DiT"),
        ("flow: !new", "flux: !new", "no section flow"),
        ("sample_rate: 22050", "sample_rate: 24000", "24000"),
        ("'rel_pos_espnet'", "'abs_pos'", "abs_pos"),
        ("use_cnn_module: False", "use_cnn_module: True", "use_cnn_module"),
        ("act_fn: 'gelu'", "act_fn: 'snake'", "act_fn"),
        ("solver: 'euler'", "solver: 'midpoint'", "solver"),
        ("input_layer: 'linear_legacy'", "input_layer: 'conv2d'", "conv2d"),
    ],
)
def test_another_family_is_refused_by_name(tmp_path: Path, before: str, after: str, named: str) -> None:
    with pytest.raises(WrongModelFamily, match=named) as caught:
        edited(tmp_path, before, after)
    assert caught.value.path == str(tmp_path / "cosyvoice.yaml")


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("num_blocks: 14", "num_blocks: many", "llm.llm.num_blocks"),
        ("num_blocks: 14", "num_blocks: 2.5", "llm.llm.num_blocks"),
        ("num_blocks: 14", "num_blocks: 0", "llm.llm.num_blocks"),
        ("num_blocks: 14", "num_blocks: .nan", "llm.llm.num_blocks"),
        ("num_blocks: 14", "num_blocks: !ref <absent>", "llm.llm.num_blocks"),
        ("num_blocks: 14", "num_blocks: true", "llm.llm.num_blocks"),
        ("attention_heads: 16", "attention_heads: 15", "attention_heads"),
        ("channels: [256, 256]", "channels: [256, 250]", "channels"),
        ("channels: [256, 256]", "channels: 256", "channels"),
        ("upsample_rates: [8, 8]", "upsample_rates: [8, 8, 2]", "upsample_kernel_sizes"),
        ("vocab_size: 4096", "vocab_size: 1024", "vocab_size"),
        ("in_channels: 320", "in_channels: 240", "in_channels"),
        ("encoder: !new:cosyvoice.transformer.encoder.ConformerEncoder", "encoder: 5 #", "text_encoder"),
    ],
)
def test_numbers_that_cannot_be_are_named(tmp_path: Path, before: str, after: str, named: str) -> None:
    with pytest.raises((ShapeMismatch, FileTruncated)) as caught:
        edited(tmp_path, before, after)
    if isinstance(caught.value, ShapeMismatch):
        assert named in str(caught.value)


def test_yaml_1_1_reads_a_small_number_as_text(tmp_path: Path) -> None:
    assert edited(tmp_path, "nsf_sigma: 0.003", "nsf_sigma: 3e-3").vocoder.noise_deviation == 0.003


@pytest.mark.parametrize(
    ("entry", "replacement", "named"),
    [
        ("n_fft: 16", "n_fft: 15", "hift.istft_params.n_fft"),
        ("upsample_kernel_sizes: [16, 16]", "upsample_kernel_sizes: [4, 16]", "hift.upsample_kernel_sizes"),
        ("resblock_kernel_sizes: [3, 7, 11]", "resblock_kernel_sizes: [4, 7, 11]", "hift.resblock_kernel_sizes"),
        ("source_resblock_kernel_sizes: [7, 11]", "source_resblock_kernel_sizes: [7, 10]", "source_resblock_kernel"),
    ],
)
def test_sizes_that_could_never_speak_are_refused_by_name(
    tmp_path: Path, entry: str, replacement: str, named: str
) -> None:
    text = SIZES["tiny"].read_text(encoding="utf-8")
    assert entry in text
    (tmp_path / "cosyvoice.yaml").write_text(text.replace(entry, replacement), encoding="utf-8")
    with pytest.raises(CheckpointError, match=named):
        read_config(tmp_path / "cosyvoice.yaml")


def test_prompts_have_the_mel_channels_of_the_flow_where_nothing_else_is_said(tmp_path: Path) -> None:
    text = MINIMAL.replace("flow: {}", "flow: {output_size: 64}").replace("hift: {}", "hift: {in_channels: 64}")
    assert read(tmp_path, text).mel_features.mel_channels == 64
