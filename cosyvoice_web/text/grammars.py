"""The weighted finite-state grammars that write numbers, dates and units as words.

They ship inside their package, are read from there, and write nothing. Source: WeTextProcessing, through `wetext`.
"""

import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

from cosyvoice_web.text.characters import is_speakable, script
from cosyvoice_web.text.numerals import digit_by_digit

_WINDOW = re.compile(
    r"[^，、。！？；\n“”「」『』《》（）()\d]{0,4}\d(?:[^，、。！？；\n“”「」『』《》（）()\d]{0,8}\d)*[^，、。！？；\n“”「」『』《》（）()\d]{0,5}"
)
"""Digits with the few characters around that decide how they are read; grammars cost time by the character."""

_lock = threading.Lock()


@cache
def _normalizer(language: str) -> Any:
    from wetext import Normalizer  # type: ignore[import-untyped]  # loads every grammar, about a second

    return Normalizer(lang=language, operator="tn")


def write_out(text: str, language: str, digits: Mapping[str, str]) -> str:
    """The text with its numbers as words; `language` is "zh" or "ja".

    Only the surroundings of digits go through the grammar. Where it leaves a digit or drops a character, `digits`
    are read one by one instead.
    """
    return _WINDOW.sub(lambda window: _window(window.group(), language, digits), text)


def _window(window: str, language: str, digits: Mapping[str, str]) -> str:
    core = window.strip()
    lead, tail = window[: len(window) - len(window.lstrip())], window[len(window.rstrip()) :]
    words = _written_out(core, language)
    if _lost(core, words):
        words = core
    return lead + digit_by_digit(words, digits) + tail


@lru_cache(maxsize=4096)
def _written_out(text: str, language: str) -> str:
    normalizer = _normalizer(language)
    with _lock:
        return str(normalizer.normalize(text))


def _lost(before: str, after: str) -> bool:
    """True when a rewrite dropped a Han character or a kana."""
    kept = Counter(after)
    return any(
        kept[char] < count
        for char, count in Counter(before).items()
        if is_speakable(char) and script(char) in ("han", "kana", "hangul")
    )


@cache
def english_normalizer() -> Callable[[str], str]:
    """The reading by hibari of dates, times, units and abbreviations; plain numbers stay digits."""
    from hibari.g2p.normalize import normalize

    return lambda text: str(normalize(text))
