from pathlib import Path

import pytest
import torch

from cosyvoice_web.cli import main
from cosyvoice_web.engines.cosyvoice.config import read_config
from cosyvoice_web.engines.cosyvoice.make_checkpoint import SIZES
from cosyvoice_web.engines.cosyvoice.weights.files import ModelKind, open_model
from cosyvoice_web.engines.cosyvoice.weights.loading import load_networks

OTHER_SIZES = """
llm:
    text_token_size: 51866
    speech_token_size: 300
    text_encoder_input_size: 24
    llm_input_size: 40
    llm_output_size: 48
    text_encoder: {input_size: 24, output_size: 36, attention_heads: 6, linear_units: 50, num_blocks: 1}
    llm: {input_size: 40, output_size: 48, attention_heads: 3, linear_units: 70, num_blocks: 2}
flow:
    vocab_size: 320
    input_size: 20
    encoder: {input_size: 20, output_size: 28, attention_heads: 2, linear_units: 30, num_blocks: 3}
    length_regulator: {channels: 80, sampling_ratios: [1, 1]}
    decoder:
        estimator: {channels: [16, 24, 32], n_blocks: 2, num_mid_blocks: 1, num_heads: 3, attention_head_dim: 5}
hift:
    base_channels: 48
    nb_harmonics: 4
    upsample_rates: [4, 4, 4]
    upsample_kernel_sizes: [8, 8, 8]
    resblock_kernel_sizes: [3, 5]
    resblock_dilation_sizes: [[1, 3], [1, 2]]
    source_resblock_kernel_sizes: [7, 7, 11]
    source_resblock_dilation_sizes: [[1, 3], [1, 3], [1]]
    f0_predictor: {cond_channels: 20}
"""


def test_dimensions_come_from_the_yaml_alone(tmp_path: Path) -> None:
    config_path, directory = tmp_path / "other.yaml", tmp_path / "model"
    config_path.write_text(OTHER_SIZES)
    assert main(["make-checkpoint", "--config", str(config_path), str(directory)]) == 0
    assert (directory / "cosyvoice.yaml").read_text() == OTHER_SIZES
    llm = torch.load(directory / "llm.pt", weights_only=True)
    assert llm["text_encoder_affine_layer.weight"].shape == (40, 36)
    assert llm["llm_decoder.weight"].shape == (301, 48)
    networks = load_networks(open_model(directory))
    config = read_config(config_path)
    with torch.inference_mode():
        scores = networks.language_model.score(networks.language_model.prefix([1, 2, 3]), [4, 5])
        assert scores.shape == (3, 301)
        waveform = networks.vocoder.decode(torch.zeros(1, 6, 80), torch.zeros(1, 6 * config.vocoder.samples_per_frame))
    assert waveform.shape == (1, 6 * 256)


def test_the_same_call_gives_the_same_bytes(recipe_model: Path, tmp_path: Path) -> None:
    assert main(["make-checkpoint", "--size", "tiny", str(tmp_path / "model")]) == 0
    for path in recipe_model.iterdir():
        assert (tmp_path / "model" / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_model_is_never_overwritten_but_a_recipe_may_be(model_copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["make-checkpoint", "--size", "tiny", str(model_copy)]) == 0
    (model_copy / "cosyvoice-web.json").unlink()
    before = (model_copy / "llm.pt").stat().st_mtime_ns
    assert main(["make-checkpoint", "--size", "tiny", str(model_copy)]) == 1
    assert "not empty" in capsys.readouterr().err
    assert (model_copy / "llm.pt").stat().st_mtime_ns == before
    assert main(["make-checkpoint", "--size", "tiny", str(model_copy / "llm.pt")]) == 1


def test_kinds(tmp_path: Path) -> None:
    for kind in ModelKind:
        directory = tmp_path / kind.value
        assert main(["make-checkpoint", "--size", "tiny", "--kind", kind.value, str(directory)]) == 0
        assert open_model(directory).kind is kind


def test_a_bad_description_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(SIZES["tiny"].read_text().replace("num_blocks: 3", "num_blocks: none"))
    assert main(["make-checkpoint", "--config", str(path), str(tmp_path / "model")]) == 1
    assert "num_blocks" in capsys.readouterr().err
    assert not (tmp_path / "model").exists()
