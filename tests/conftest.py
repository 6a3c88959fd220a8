"""What no test may leave behind: changed environment variables, files in the temporary folder, running threads."""

import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

THREAD_GRACE_SECONDS = 5.0
OWN_VARIABLES = ("PORT", "HOST")
IGNORED_VARIABLES = {"PYTEST_CURRENT_TEST"}


@pytest.fixture(scope="session", autouse=True)
def _own_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing of the caller's settings reaches a test, and the temporary folder is the session's own."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith("COSYVOICE_") or name in OWN_VARIABLES:
                patch.delenv(name)
        folder = tmp_path_factory.mktemp("temporary")
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", str(folder))
        yield


@pytest.fixture(autouse=True)
def _no_changed_environment(_own_environment: None) -> Iterator[None]:
    def seen() -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if name not in IGNORED_VARIABLES}

    before = seen()
    yield
    assert seen() == before, "the test changed environment variables"


@pytest.fixture(autouse=True)
def _no_left_files(_own_environment: None) -> Iterator[None]:
    folder = Path(tempfile.gettempdir())
    before = set(folder.iterdir())
    yield
    assert set(folder.iterdir()) - before == set(), "the test left files in the temporary folder"


@pytest.fixture(autouse=True)
def _no_left_threads() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + THREAD_GRACE_SECONDS
    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        thread.join(max(0.0, deadline - time.monotonic()))
    assert [thread.name for thread in left if thread.is_alive()] == [], "the test left threads running"
