from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch

from cosyvoice_web.cli import main
from cosyvoice_web.engines.cosyvoice.make_checkpoint import SIZES, make_checkpoint
from cosyvoice_web.engines.cosyvoice.parity import INPUTS, TOLERANCE, compare
from cosyvoice_web.engines.cosyvoice.quantization import Precision
from cosyvoice_web.errors import FileMissing, FileTruncated
from tests.engines.cosyvoice.golden_files import GOLDEN_DIR


@pytest.mark.parametrize("golden", ["tiny", "frontend"])
def test_every_array_of_the_reference_is_equal(
    recipe_model: Path, golden: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = GOLDEN_DIR / f"{golden}.npz"
    assert main(["parity", str(recipe_model), str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    with np.load(path) as archive:
        for name in set(archive.files) - INPUTS:
            assert any(line.split()[0] == name and "pass" in line for line in lines), name
    if golden == "frontend":
        assert any(line.startswith("tokenizer") for line in lines)
        assert any(line.startswith("nucleus_sets") for line in lines)


@pytest.mark.parametrize("size", ["uneven", "25hz"])
def test_every_array_is_equal_at_sizes_nothing_was_written_for(size: str, tmp_path: Path) -> None:
    make_checkpoint(GOLDEN_DIR / f"{size}.yaml", tmp_path / "model")
    comparison = compare(tmp_path / "model", GOLDEN_DIR / f"{size}.npz")
    assert comparison.passed, comparison.table()
    assert len(comparison.arrays) >= 14


@pytest.mark.slow
def test_every_array_of_the_published_size_is_equal(tmp_path: Path) -> None:
    make_checkpoint(SIZES["full"], tmp_path / "model")
    assert main(["parity", str(tmp_path / "model"), str(GOLDEN_DIR / "full.npz")]) == 0


def test_int8_is_off_by_no_more_than_each_stage_may_be(recipe_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parity", str(recipe_model), str(GOLDEN_DIR / "tiny.npz"), "--precision", "int8"]) == 0
    assert "rms error / std" in capsys.readouterr().out
    errors = {a.name: a.error for a in compare(recipe_model, GOLDEN_DIR / "tiny.npz", Precision.INT8).arrays}
    for name in ("logp_sft", "mel_sft", "estimator_out"):  # it is int8 that has been compared
        assert (errors[name] or 0.0) > 10 * TOLERANCE


@pytest.mark.slow
def test_int8_of_the_published_size_is_off_by_no_more_than_each_stage_may_be(tmp_path: Path) -> None:
    make_checkpoint(SIZES["full"], tmp_path / "model")
    assert main(["parity", str(tmp_path / "model"), str(GOLDEN_DIR / "full.npz"), "--precision", "int8"]) == 0


def altered(tmp_path: Path, **changes: npt.NDArray[np.generic] | None) -> Path:
    with np.load(GOLDEN_DIR / "tiny.npz") as archive:
        arrays = {name: archive[name] for name in archive.files} | changes
    np.savez(tmp_path / "golden.npz", **{name: array for name, array in arrays.items() if array is not None})
    return tmp_path / "golden.npz"


def test_another_value_an_unknown_array_and_a_missing_input_fail_by_name(recipe_model: Path, tmp_path: Path) -> None:
    with np.load(GOLDEN_DIR / "tiny.npz") as archive:
        logp, mel, f0 = archive["logp_sft"], archive["mel_short"], archive["hift_f0"]
    logp[3, 7] += 1.2e-4 * np.abs(logp).max()
    mel[0, 0, 0] = np.nan
    path = altered(
        tmp_path, logp_sft=logp, mel_short=mel, novelty=np.ones(3, np.float32), source_f0=None, text_encoded=f0
    )
    failed = {array.name: array for array in compare(recipe_model, path).arrays if not array.passed}
    assert failed.keys() == {"logp_sft", "mel_short", "novelty", "source_no_noise_zero_phase", "text_encoded"}
    assert failed["logp_sft"].error == pytest.approx(1.2e-4, rel=0.05)
    assert "source_f0" in failed["source_no_noise_zero_phase"].note
    assert "shape" in failed["text_encoded"].note


def test_other_weights_fail_and_the_exit_status_says_so(model_copy: Path) -> None:
    tensors = torch.load(model_copy / "flow.pt", weights_only=True)
    tensors["encoder_proj.bias"] += 0.01
    torch.save(tensors, model_copy / "flow.pt")
    failed = {array.name for array in compare(model_copy, GOLDEN_DIR / "tiny.npz").arrays if not array.passed}
    assert "flow_encoded" in failed
    assert not failed & {"text_encoded", "estimator_out", "hift_audio"}
    assert main(["parity", str(model_copy), str(GOLDEN_DIR / "tiny.npz")]) == 1


def test_a_golden_file_that_is_none(recipe_model: Path, tmp_path: Path) -> None:
    with pytest.raises(FileMissing):
        compare(recipe_model, tmp_path / "absent.npz")
    (tmp_path / "text.npz").write_text("text")
    with pytest.raises(FileTruncated):
        compare(recipe_model, tmp_path / "text.npz")
    np.savez(tmp_path / "empty.npz")
    assert not compare(recipe_model, tmp_path / "empty.npz").passed
