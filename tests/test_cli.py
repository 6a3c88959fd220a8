import subprocess
import sys
from pathlib import Path

import pytest

from cosyvoice_web.cli import main


def test_help_loads_no_engine() -> None:
    code = (
        "import sys; from cosyvoice_web.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(sorted({'torch', 'onnxruntime', 'huggingface_hub', 'flask'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    for command in ("download", "doctor", "make-checkpoint", "parity"):
        assert command in done.stdout


def test_the_module_runs_and_its_status_is_the_commands(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cosyvoice_web", "doctor", str(tmp_path / "absent")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no such directory" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [[], ["unknown"], ["make-checkpoint", "somewhere"], ["make-checkpoint", "--size", "huge", "x"], ["parity", "x"]],
)
def test_wrong_usage_is_explained(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_an_error_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parity", str(tmp_path), str(tmp_path / "golden.npz")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("Error: ")
    assert error.count("\n") == 1
