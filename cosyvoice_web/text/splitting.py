"""Cuts a cleaned text into the pieces that are spoken one by one: one pass, for all languages."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

from cosyvoice_web.text import characters, speech_marks
from cosyvoice_web.text.addresses import ADDRESS
from cosyvoice_web.text.characters import CLOSERS, OPENERS, is_cjk, is_speakable

SHORT_UNITS = 4.0
"""A piece below this is spoken with a neighbour: engines are unsteady on very short texts."""
FIRST_SHORT_UNITS = 2.0
"""The first piece may be this short, so that audio starts early."""
FIRST_LONG_UNITS = 36.0
"""A first piece above this is cut at an early comma, for the same reason."""

_SCAN = re.compile(
    rf"(?P<skip>{ADDRESS})|(?P<newline>[ ]*\n[\n ]*)"
    r"|(?P<mark>[。！？；｡!?;…．.]+)|(?P<quote>\")"
)
_ALWAYS = frozenset("。！？；｡…")
_TITLES = frozenset((
    "mr", "mrs", "ms", "dr", "prof", "st", "mt", "ft", "gen", "gov", "sen", "rep", "capt", "lt", "col", "sgt", "cmdr",
    "rev", "hon", "pres", "supt", "vs", "fig", "figs", "eq", "vol", "pp", "approx", "ca", "cf", "viz", "nos", "eds",
    "e.g", "i.e",
))  # fmt: skip
"""A full stop after these never ends a sentence."""
_MAY_END = frozenset((
    "etc", "inc", "ltd", "co", "corp", "jr", "sr", "al", "a.m", "p.m", "est", "dept", "ave", "blvd", "rd", "jan",
    "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "mon", "tue", "tues", "wed", "thu",
    "thurs", "fri", "sat", "sun", "no",
))  # fmt: skip
"""A full stop after these ends a sentence only when a capital letter follows."""
_COMMAS = frozenset("，、；：")
_SPACED_COMMAS = frozenset(",:;)]—–")


class Piece(NamedTuple):
    """[start, end) of the cleaned text."""

    start: int
    end: int


def split(text: str, max_units: float) -> list[Piece]:
    """Pieces that tile the text, each with something to speak and at most `max_units` long. Linear time.

    Boundaries are 。！？；…!?; a full stop and a newline, but not inside a number, an abbreviation or an address;
    closing quotation marks stay with their sentence. Longer pieces are cut at commas, else
    at spaces, else between characters. A pair of held speech marks stays in one piece if it can.
    """
    prefix = [0.0, *accumulate(map(characters.units, text))]
    speakable = [0, *accumulate(map(is_speakable, text))]
    text = speech_marks.with_whole_pairs(text, max_units)
    pieces = _without_mute(speakable, zip([0, *(ends := _boundaries(text))], [*ends, len(text)], strict=True))
    cut = [part for piece in pieces for part in _cut_long(text, prefix, piece, max_units)]
    cut = _without_mute(speakable, cut)
    return _merge_short(prefix, _early_first(text, prefix, cut), max_units) if cut else []


def _without_mute(speakable: list[int], pieces: Iterable[tuple[int, int]]) -> list[Piece]:
    """Pieces of marks only belong to what is said before them, the first ones to what is said after."""
    kept: list[Piece] = []
    for start, end in pieces:
        start = start if kept else 0
        if speakable[end] > speakable[start]:
            kept.append(Piece(start, end))
        elif kept:
            kept[-1] = Piece(kept[-1].start, end)
    return kept


def _boundaries(text: str) -> list[int]:
    ends: list[int] = []
    position = sentence_start = 0
    quote_open = False
    while match := _SCAN.search(text, position):
        start, position = match.span()
        kind = match.lastgroup
        if kind == "quote":
            quote_open = not quote_open
        elif kind == "newline" or (kind == "mark" and _ends_sentence(text, start, position, sentence_start)):
            while kind == "mark" and (after := text[position : position + 1]) and after in CLOSERS:
                if after == '"':
                    if not quote_open:
                        break
                    quote_open = False
                position += 1
            ends.append(position)
            sentence_start = position
            if kind == "newline":
                quote_open = False
    return ends


def _ends_sentence(text: str, start: int, end: int, sentence_start: int) -> bool:
    mark = text[start:end]
    if not _ALWAYS.isdisjoint(mark):
        return not (mark == "…" and text[end : end + 1].isascii() and text[end : end + 1].isalnum())
    after_closers = end
    while after_closers < len(text) and after_closers < end + 4 and text[after_closers] in CLOSERS:
        after_closers += 1
    follower = text[after_closers : after_closers + 1]
    if follower and not follower.isspace():
        if mark == "." and text[max(start - 1, 0) : start].isdigit():  # "1.首先": the number of a list
            return False
        return is_cjk(follower) or follower in OPENERS or (mark in ("!", "?") and follower.isupper())
    if mark != ".":
        return True
    return _full_stop_ends(text, start, after_closers, sentence_start)


def _full_stop_ends(text: str, start: int, end: int, sentence_start: int) -> bool:
    """Whether the single full stop at `start`, with a blank or nothing after it, ends its sentence."""
    lead = text[max(start - 12, sentence_start) : start]
    word = re.split(r"[^\w.]", lead)[-1]
    window = text[end : end + 8]
    follower = window.lstrip(" ")[:1]
    if not follower or follower == "\n":
        return True
    lowered = word.lower()
    if word.isdigit() and len(word) <= 3 and text[sentence_start:start].strip() == word:
        return False  # "1. First": the number of a list
    if lowered in _TITLES or (lowered == "no" and follower.isdigit()):
        return False
    if lowered in _MAY_END:
        return not (follower.islower() or follower.isdigit())
    if len(word) == 1 and word.isupper() and word != "I":
        return False  # initials
    return not re.fullmatch(r"(?:[A-Za-z]\.)+[A-Za-z]", word)  # U.S.


def _cut_long(text: str, prefix: list[float], piece: Piece, max_units: float) -> list[Piece]:
    parts: list[Piece] = []
    start, end = piece
    short = min(SHORT_UNITS, max_units / 4)
    while (remaining := prefix[end] - prefix[start]) > max_units:
        most = bisect_right(prefix, prefix[start] + min(max_units, remaining - short), start, end) - 1
        least = max(bisect_left(prefix, prefix[start] + 0.35 * max_units, start, end), start + 1)
        cut = _soft_cut(text, least, most) or _hard_cut(text, start, max(most, start + 1), end)
        while cut < end and text[cut] == " ":
            cut += 1
        if cut >= end:
            break
        parts.append(Piece(start, cut))
        start = cut
    parts.append(Piece(start, end))
    return parts


def _soft_cut(text: str, least: int, most: int) -> int | None:
    """The best place in [least, most]: after a comma, else after a space, else where the script changes."""
    for i in range(most, least - 1, -1):
        if text[i - 1] in _COMMAS or (text[i - 1] in _SPACED_COMMAS and text[i : i + 1] in (" ", "")):
            return i
    space = text.rfind(" ", least - 1, most)
    if space >= 0:
        return space + 1
    for i in range(most, max(least, most - 40) - 1, -1):
        if characters.script(text[i]) not in (characters.script(text[i - 1]), "mark", "neutral"):
            return i
    for i in range(most, least - 1, -1):
        if characters.script(text[i]) != "mark":
            return i
    return None


def _hard_cut(text: str, start: int, most: int, end: int) -> int:
    """At `most`, or else at the nearest place before or behind it that parts no mark from its letter."""
    before = next((i for i in range(most, start, -1) if characters.script(text[i]) != "mark"), None)
    return before or next((i for i in range(most, end) if characters.script(text[i]) != "mark"), end)


def _early_first(text: str, prefix: list[float], pieces: list[Piece]) -> list[Piece]:
    start, end = pieces[0]
    if prefix[end] - prefix[start] <= FIRST_LONG_UNITS:
        return pieces
    low = bisect_left(prefix, prefix[start] + 6, start, end)
    high = bisect_right(prefix, prefix[start] + FIRST_LONG_UNITS, start, end) - 1
    for i in range(low + 1, high + 1):
        comma = text[i - 1] in _COMMAS or (text[i - 1] in ",:;" and text[i : i + 1] == " ")
        if comma and prefix[end] - prefix[i] >= SHORT_UNITS and any(map(is_speakable, text[i : i + 200])):
            return [Piece(start, i), Piece(i, end), *pieces[1:]]
    return pieces


def _merge_short(prefix: list[float], pieces: list[Piece], max_units: float) -> list[Piece]:
    def size(start: int, end: int) -> float:
        return prefix[end] - prefix[start]

    merged: list[Piece] = []
    for start, end in pieces:
        if merged:
            last = merged[-1]
            wanted = min(FIRST_SHORT_UNITS if len(merged) == 1 else SHORT_UNITS, max_units / 4)
            is_short = size(*last) < wanted or (len(merged) > 1 and size(start, end) < SHORT_UNITS)
            if is_short and size(last.start, end) <= max_units:
                merged[-1] = Piece(last.start, end)
                continue
        merged.append(Piece(start, end))
    return merged
