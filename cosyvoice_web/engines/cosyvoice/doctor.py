"""Examines a model directory file by file and says what it can do; a failed load logs the same words."""

from dataclasses import dataclass, replace
from pathlib import Path

from cosyvoice_web.engines.cosyvoice.config import read_config
from cosyvoice_web.engines.cosyvoice.text_table import text_table
from cosyvoice_web.engines.cosyvoice.weights.files import (
    CONFIG,
    LANGUAGE_MODEL,
    MEL_DECODER,
    VOCODER,
    FileCheck,
    ModelFiles,
    open_model,
    survey,
)
from cosyvoice_web.engines.cosyvoice.weights.loading import read_state
from cosyvoice_web.errors import CheckpointError
from cosyvoice_web.speech import SpeechMode


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found in a model directory; `files` is None where it cannot be loaded."""

    checks: tuple[FileCheck, ...]
    files: ModelFiles | None

    @property
    def healthy(self) -> bool:
        """Whether the directory can be loaded."""
        return self.files is not None

    def table(self) -> str:
        """One line per file: name, state, found, expected; then the model's kind and its modes."""
        rows = [(check.name, _state(check), check.found, check.expected) for check in self.checks]
        text = text_table(("file", "state", "found", "expected"), rows)
        if self.files is None:
            return text + "\n\nThis directory cannot be loaded: mend the files marked broken."
        refusals = self.files.refusals()
        modes = [(mode.value, "yes" if mode not in refusals else f"no: {refusals[mode]}") for mode in SpeechMode]
        return f"{text}\n\n{text_table(('kind', self.files.kind.value), modes)}"


def examine(directory: Path) -> Examination:
    """Check every file, the tensors of the weights included; goes on after a broken one."""
    checks = survey(directory)
    is_readable = all(check.error is None for check in checks if check.name == CONFIG) and len(checks) > 1
    if is_readable:
        checks = [_with_tensors(check, directory) for check in checks]
    files: ModelFiles | None = None
    if all(check.error is None for check in checks):
        try:
            files = open_model(directory)
        except CheckpointError as error:
            checks.append(FileCheck(directory.name, error.found, error.expected, error))
    return Examination(tuple(checks), files)


def _with_tensors(check: FileCheck, directory: Path) -> FileCheck:
    if check.name not in (LANGUAGE_MODEL, MEL_DECODER, VOCODER) or check.error is not None:
        return check
    try:
        state = read_state(directory / check.name, read_config(directory / CONFIG))
    except CheckpointError as error:
        return replace(check, found=error.found, expected=error.expected, error=error)
    found = f"{check.found}, {len(state.tensors)} tensors"
    if state.dropped:
        found += f"; not used: {', '.join(f'{name} ({reason})' for name, reason in state.dropped.items())}"
    return replace(check, found=found)


def _state(check: FileCheck) -> str:
    if check.error is None:
        return "absent" if check.found.startswith("no file") else "ok"
    return "broken" if check.error.code != "file_missing" else "missing"
