"""A recipe model of the tiny size, made once; and copies of it that a test may break."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from cosyvoice_web.engines.cosyvoice.engine import CosyVoiceEngine
from cosyvoice_web.engines.cosyvoice.make_checkpoint import SIZES, make_checkpoint
from cosyvoice_web.engines.cosyvoice.weights.files import MARKER
from tests.engines.cosyvoice.speaking import FORCED, load


@pytest.fixture(scope="session")
def recipe_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Treat as read-only."""
    directory = tmp_path_factory.mktemp("recipe") / "model"
    make_checkpoint(SIZES["tiny"], directory)
    return directory


@pytest.fixture
def model_copy(recipe_model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recipe_model, tmp_path / "model"))


@pytest.fixture(scope="module")
def engine(recipe_model: Path) -> CosyVoiceEngine:
    return load(recipe_model)


@pytest.fixture(scope="module")
def variants(recipe_model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, CosyVoiceEngine]:
    """Engines on the same weights: of other kinds, without a forced length, without a way to hear recordings."""
    root = tmp_path_factory.mktemp("variants")

    def variant(name: str, marker: dict[str, object]) -> Path:
        directory = Path(shutil.copytree(recipe_model, root / name))
        (directory / MARKER).write_text(json.dumps(marker))
        return directory

    base = variant("base", {"kind": "base", "forced_tokens_per_text_token": FORCED})
    torch.save({}, base / "spk2info.pt")
    deaf = variant("deaf", {"forced_tokens_per_text_token": FORCED})
    (deaf / "campplus.onnx").unlink()
    return {
        "instruct": load(variant("instruct", {"kind": "instruct", "forced_tokens_per_text_token": FORCED})),
        "trained": load(variant("trained", {})),
        "base": load(base),
        "deaf": load(deaf),
    }
