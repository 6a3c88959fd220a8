"""A recipe model of the tiny size, made once; and copies of it that a test may break."""

import shutil
from pathlib import Path

import pytest

from cosyvoice_web.engines.cosyvoice.make_checkpoint import SIZES, make_checkpoint


@pytest.fixture(scope="session")
def recipe_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Treat as read-only."""
    directory = tmp_path_factory.mktemp("recipe") / "model"
    make_checkpoint(SIZES["tiny"], directory)
    return directory


@pytest.fixture
def model_copy(recipe_model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recipe_model, tmp_path / "model"))
