import os
import subprocess
import sys
from pathlib import Path

CHECK = """
import os
before = dict(os.environ)
from cosyvoice_web.engines.onnx import import_onnxruntime
runtime = import_onnxruntime()
assert os.environ == before
assert import_onnxruntime() is runtime
"""


def test_onnxruntime_reports_to_nobody_and_writes_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-c", CHECK], check=True, env=environment)
    assert list(tmp_path.iterdir()) == []
