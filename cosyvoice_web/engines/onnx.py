"""The one place that imports onnxruntime."""

import os
import threading
from typing import Any

_SWITCH = "ORT_DISABLE_TELEMETRY"
_lock = threading.Lock()


def import_onnxruntime() -> Any:
    """Import onnxruntime with its telemetry off.

    Its official builds decide at import whether to report to their maker; left on, they write a database to the home
    folder and a file to the temporary folder, and open connections. The environment is as before afterwards. Call this
    before importing any package that imports onnxruntime by itself.
    """
    with _lock:
        before = os.environ.get(_SWITCH)
        os.environ[_SWITCH] = "1"
        try:
            import onnxruntime
        finally:
            if before is None:
                del os.environ[_SWITCH]
            else:
                os.environ[_SWITCH] = before
    return onnxruntime
