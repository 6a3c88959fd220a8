"""Has a recogniser read back what a model has spoken."""

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

from cosyvoice_web.engines.cosyvoice.checks import Check, Outcome, judged
from cosyvoice_web.speech import Samples

MOST_ERRORS = 0.25
"""Characters (words for English) that a small recogniser may mishear in all sentences of one language."""
READ_BACK_LANGUAGES = ("zh", "en", "ja")


@dataclass(frozen=True, slots=True)
class Spoken:
    """`text`: as written out for speaking; `seams`: where the pieces of a stream meet, in samples."""

    language: str
    text: str
    samples: Samples
    seams: tuple[int, ...]


def write(spoken: dict[str, Spoken], folder: Path, sample_rate_hz: int) -> dict[str, Path]:
    """Leave what was spoken in WAV files; returns where each is."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / (re.sub(r"[^-\w]", "_", name) + ".wav") for name in spoken}
    for name, path in paths.items():
        soundfile.write(path, np.clip(spoken[name].samples, -1.0, 1.0), sample_rate_hz, subtype="PCM_16")
    return paths


def read_back(spoken: dict[str, Spoken], paths: dict[str, Path], recogniser: Sequence[str]) -> Iterator[Check]:
    """One check a language; see benchmarks/recogniser.py for what goes to and fro."""
    if not recogniser:
        yield Check("read back", Outcome.SKIPPED, "no recogniser: see --recogniser")
        return
    items = [
        {"language": said.language, "path": str(paths[name]), "text": said.text}
        for name, said in spoken.items()
        if said.language in READ_BACK_LANGUAGES
    ]
    try:
        done = subprocess.run(  # noqa: S603 - the operator's own command
            list(recogniser), input=json.dumps(items), capture_output=True, text=True, check=True
        )
        heard = json.loads(done.stdout)
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        yield Check("read back", Outcome.FAILED, f"the recogniser failed: {error}")
        return
    for language in sorted({item["language"] for item in heard}):
        rows = [item for item in heard if item["language"] == language]
        rate = sum(row["errors"] for row in rows) / sum(row["length"] for row in rows)
        worst = max(rows, key=lambda row: row["errors"] / row["length"])
        found = f"{rate:.0%} misheard; the worst of {len(rows)}: {worst['heard']}"
        yield judged(f"read back {language}", rate <= MOST_ERRORS, found, f"at most {MOST_ERRORS:.0%}")
