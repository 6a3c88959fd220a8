"""From an official directory to a lite one: what it holds, what it sounds like, and what can go wrong on the way."""

import multiprocessing
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from cosyvoice_web.cli import main
from cosyvoice_web.engines.cosyvoice.convert import convert
from cosyvoice_web.engines.cosyvoice.engine import CosyVoiceEngine
from cosyvoice_web.engines.cosyvoice.parity import compare
from cosyvoice_web.engines.cosyvoice.quantization import Precision
from cosyvoice_web.engines.cosyvoice.weights.files import open_model
from cosyvoice_web.engines.cosyvoice.weights.lite_files import MANIFEST
from cosyvoice_web.errors import CheckpointError, ConfigurationError, FileTruncated, ShapeMismatch
from cosyvoice_web.speech import Manner, Samples
from tests.engines.cosyvoice.golden_files import GOLDEN_DIR
from tests.engines.cosyvoice.speaking import HELLO, joined, load, voice


@pytest.fixture(scope="module")
def lite_model(recipe_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Treat as read-only."""
    out = tmp_path_factory.mktemp("converted") / "lite"
    convert(recipe_model, out)
    return out


def spoken(directory: Path) -> Samples:
    with closing(load(directory)) as engine:
        return joined(engine.prepare(Manner(voice(engine))).speak(HELLO, speed=1.0, seed=1))


def test_it_is_a_third_of_the_size_and_says_what_the_source_said(recipe_model: Path, lite_model: Path) -> None:
    def weights(directory: Path, pattern: str) -> int:
        return sum(path.stat().st_size for path in directory.glob(pattern))

    assert weights(lite_model, "*.safetensors") < 0.4 * weights(recipe_model, "[lfh]*.pt")
    official, lite = open_model(recipe_model), open_model(lite_model)
    assert lite.is_lite
    assert not official.is_lite
    assert lite.kind is official.kind
    assert lite.config == replace(official.config, path=lite.config.path)
    assert lite.forced_tokens_per_text_token == official.forced_tokens_per_text_token
    assert list(lite.voices) == list(official.voices)
    assert lite.refusals() == official.refusals()


def test_golden_values_are_met_as_int8_meets_them(lite_model: Path) -> None:
    comparison = compare(lite_model, GOLDEN_DIR / "tiny.npz", Precision.INT8)
    assert comparison.passed, comparison.table()


def test_it_speaks_like_int8_of_the_source(recipe_model: Path, lite_model: Path) -> None:
    official, lite = spoken(recipe_model), spoken(lite_model)
    assert len(lite) == len(official)
    assert np.abs(lite).max() > 0.05


def test_float32_is_refused_with_what_to_do(lite_model: Path) -> None:
    with pytest.raises(CheckpointError, match="COSYVOICE_PRECISION"):
        CosyVoiceEngine.load(lite_model, 1, Precision.FLOAT32)


def test_a_second_conversion_finds_it_done(
    recipe_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "lite"
    assert main(["convert", str(recipe_model), str(out)]) == 0
    assert "converted" in capsys.readouterr().out
    written = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    assert main(["convert", str(recipe_model), str(out)]) == 0
    assert "before" in capsys.readouterr().out
    assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == written


def test_of_another_source_it_is_refused_and_kept(recipe_model: Path, model_copy: Path, tmp_path: Path) -> None:
    convert(recipe_model, tmp_path / "lite")
    tensors = torch.load(model_copy / "flow.pt", weights_only=True)
    tensors["encoder_proj.bias"] += 0.01
    torch.save(tensors, model_copy / "flow.pt")
    with pytest.raises(ConfigurationError, match="another model"):
        convert(model_copy, tmp_path / "lite")
    assert convert(recipe_model, tmp_path / "lite").was_there


def test_what_is_no_lite_directory_is_not_overwritten(recipe_model: Path, lite_model: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "directory").mkdir()
    (tmp_path / "directory" / "file").write_text("mine")
    for place in ("file", "directory"):
        with pytest.raises(ConfigurationError, match="exists"):
            convert(recipe_model, tmp_path / place)
    with pytest.raises(ConfigurationError, match="lite directory already"):
        convert(lite_model, tmp_path / "again")
    assert (tmp_path / "file").read_text() == (tmp_path / "directory" / "file").read_text() == "mine"


def test_a_place_that_cannot_be_written_is_named(recipe_model: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        convert(recipe_model, tmp_path / "file" / "lite")


STOPS = [f"{kind} {name}" for kind in ("before", "after") for name in ("llm.pt", "flow.pt", "hift.pt")] + [
    "before copy",
    "before manifest",
    "before rename",
    "after rename",
]

KILLED = """
import os, signal, sys
from pathlib import Path
from cosyvoice_web.engines.cosyvoice import convert as module
stop, source, out = sys.argv[1:]
def die(moment):
    if moment == stop:
        os.kill(os.getpid(), signal.SIGKILL)
write, mark, replace = module.write_weights, module.write_marker, Path.replace
official = {"llm.safetensors": "llm.pt", "flow.safetensors": "flow.pt", "hift.safetensors": "hift.pt"}
def dying_write(path, kept):
    die("before " + official[path.name]); write(path, kept); die("after " + official[path.name])
def dying_mark(*arguments):
    die("before copy"); mark(*arguments); die("before manifest")
def dying_replace(self, target):
    is_last = Path(target) == Path(out)
    if is_last: die("before rename")
    done = replace(self, target)
    if is_last: die("after rename")
    return done
module.write_weights, module.write_marker, Path.replace = dying_write, dying_mark, dying_replace
module.convert(Path(source), Path(out))
"""


def test_killed_at_any_point_it_is_whole_or_not_there_and_the_next_one_goes_on(
    recipe_model: Path, tmp_path: Path
) -> None:
    assert len(STOPS) == 10
    for stop in STOPS:
        out = tmp_path / stop / "lite"
        process = subprocess.run([sys.executable, "-c", KILLED, stop, str(recipe_model), str(out)], check=False)
        assert process.returncode == -signal.SIGKILL, stop
        if stop != "after rename":
            assert not out.exists(), stop
        convert(recipe_model, out)
        assert open_model(out).is_lite
        assert sorted(path.name for path in out.parent.iterdir()) == [".lite.lock", "lite"], stop


def test_two_processes_that_convert_at_once_leave_one_whole_directory(recipe_model: Path, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=convert, args=(recipe_model, tmp_path / "lite")) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert compare(tmp_path / "lite", GOLDEN_DIR / "tiny.npz", Precision.INT8).passed


@pytest.mark.parametrize("name", ["llm.safetensors", "hift.safetensors", MANIFEST])
def test_a_damaged_file_is_named(recipe_model: Path, tmp_path: Path, name: str) -> None:
    convert(recipe_model, tmp_path / "lite")
    path = tmp_path / "lite" / name
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileTruncated, match=name):
        load(tmp_path / "lite")
    assert main(["doctor", str(tmp_path / "lite")]) == 1


def test_weights_of_another_conversion_are_refused(recipe_model: Path, tmp_path: Path) -> None:
    convert(recipe_model, tmp_path / "lite")
    description = tmp_path / "lite" / "cosyvoice.yaml"
    changed = description.read_text().replace("num_blocks: 2", "num_blocks: 1")
    assert changed != description.read_text()
    description.write_text(changed)
    with pytest.raises(ShapeMismatch, match="another model"):
        load(tmp_path / "lite")
