"""Keeps the table of who may import whom true (docs/architecture.md)."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "cosyvoice_web"

# room -> rooms of ours that it may import; a room is a folder, or a module directly below the package
MAY_IMPORT = {
    "__init__": set(),
    "errors": set(),
    "speech": {"errors"},
    "settings": {"errors"},
    "text": {"errors"},
    "audio": {"errors", "speech"},
    "engines": {"errors", "speech", "settings", "text"},
    "service": {"errors", "speech", "settings", "text", "audio"},
    "web": {"errors", "speech", "settings", "service"},
    "cli": {"errors", "speech", "settings", "text", "audio", "engines", "service", "web"},
    "__main__": {"cli"},
}
HEAVY = {"torch", "torchaudio", "onnxruntime", "flask", "flask_limiter", "werkzeug", "gunicorn"}
MAY_IMPORT_HEAVY = {
    "engines": {"torch", "torchaudio", "onnxruntime"},
    "web": {"flask", "flask_limiter", "werkzeug"},
    "cli": {"torch"},
}


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the room, write the full name"
            assert node.module is not None
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_the_rooms_it_may(path: Path) -> None:
    room = room_of(path)
    for name in imports_of(path):
        top, _, rest = name.partition(".")
        if top == "cosyvoice_web" and rest and not rest.startswith("__version__"):
            target = rest.split(".")[0]
            assert target == room or target in MAY_IMPORT[room], f"{path} imports {name}"
        elif top in HEAVY:
            assert top in MAY_IMPORT_HEAVY.get(room, set()), f"{path} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_stays_below_the_size_ceiling(path: Path) -> None:
    assert path.read_text(encoding="utf-8").count("\n") <= 400


def test_the_web_room_loads_no_engine() -> None:
    code = (
        "import cosyvoice_web.web.factory, sys; print(sorted({'torch', 'onnxruntime', 'jieba'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
