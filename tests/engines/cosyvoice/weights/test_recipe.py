import hashlib
import json

import pytest

from cosyvoice_web.engines.cosyvoice.config import read_config
from cosyvoice_web.engines.cosyvoice.make_checkpoint import SIZES
from cosyvoice_web.engines.cosyvoice.weights.official_shapes import official_shapes
from cosyvoice_web.engines.cosyvoice.weights.recipe import recipe_tensor
from tests.engines.cosyvoice.golden_files import GOLDEN_DIR


@pytest.mark.parametrize("size", ["tiny", "full"])
def test_shapes_from_the_yaml_alone_are_the_official_ones(size: str) -> None:
    golden = json.loads((GOLDEN_DIR / f"{size}.keys.json").read_text())["keys"]
    ours = official_shapes(read_config(SIZES[size]))
    assert {module: {key: list(shape) for key, shape in keys.items()} for module, keys in ours.items()} == golden


@pytest.mark.parametrize("size", ["tiny", "full"])
@pytest.mark.parametrize("module", ["llm", "flow", "hift"])
def test_recipe_bytes_are_those_of_the_golden_files(size: str, module: str) -> None:
    content = json.loads((GOLDEN_DIR / f"{size}.keys.json").read_text())
    first = content["sha256_of_first_sorted_key"][module]
    tensor = recipe_tensor(module, first["first_key"], content["keys"][module][first["first_key"]])
    assert hashlib.sha256(tensor.numpy().tobytes()).hexdigest() == first["sha256"]
