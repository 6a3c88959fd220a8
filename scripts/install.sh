#!/bin/sh
# Installs requirements-cpu.txt into a virtual environment: scripts/install.sh VENV. Used by the Makefile and the Dockerfile.
set -eu
cd "$(dirname "$0")/.."
venv=$1
pip() { "$venv/bin/python" -m pip --disable-pip-version-check "$@"; }
install() { pip install --quiet --no-input "$@"; }

# The general index serves torch for Linux with several GB of CUDA packages, the project's own CPU index serves it without;
# the other pinned packages follow in the last step, so nothing but this one file is asked of it.
torch=$(grep '^torch==' requirements-cpu.txt)
if ! pip show --quiet torch 2>/dev/null || [ "torch==$(pip show torch | sed -n 's/^Version: \([^+]*\).*/\1/p')" != "$torch" ]; then
    install --no-deps --retries 2 --timeout 30 --index-url "${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}" "$torch" || {
        echo "Could not get $torch for the CPU. Set TORCH_INDEX to a package index that serves it, or PIP_FIND_LINKS to a folder with its wheel." >&2
        exit 1
    }
fi
install --no-deps --require-hashes -r requirements-voice.txt
install -r requirements-cpu.txt

# torchaudio's wheel for x86-64 brings extension libraries that are linked to CUDA, and imports them if they are there. Every function used
# here is plain PyTorch, and without those libraries it imports and works beside a CPU torch (tests/setup/test_environment.py).
"$venv/bin/python" - <<'PY'
import importlib.util, pathlib
root = pathlib.Path(importlib.util.find_spec("torchaudio").submodule_search_locations[0])
for library in (root / "lib").glob("*.so"):
    library.unlink()
PY
