"""The page that says which test keeps which trouble away names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "field-reports.md").read_text(encoding="utf-8")
SOURCES = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}


def test_every_test_that_the_page_names_exists() -> None:
    defined = set(re.findall(r"^def (test_\w+)\(", "\n".join(SOURCES.values()), re.MULTILINE))
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 40
    assert named - defined == set()


def test_every_test_id_that_the_page_names_exists() -> None:
    named = re.findall(r"`(tests/\S+\.py)` \(ids? `(\w+)`\)", PAGE)
    assert len(named) >= 7
    for file, test_id in named:
        assert test_id in SOURCES[ROOT / file], (file, test_id)


def test_every_file_that_the_page_names_exists() -> None:
    for path in re.findall(r"`((?:docs|tests)/\S+\.(?:md|py))`", PAGE):
        assert (ROOT / path).is_file(), path
