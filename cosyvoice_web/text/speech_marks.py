"""Marks in a text that say how to speak it: <strong>word</strong>, <laughter>phrase</laughter>, [laughter], [breath].

For a model that was trained with them they are held, each as one private character that no later step reads, and
written out again at the end; a pair is never divided between two sentences. For every other model they are removed.

Source: the instruct examples in the README of CosyVoice.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from cosyvoice_web.text.characters import is_speakable, units
from cosyvoice_web.text.mapped import MappedText

_CLOSING = {"\ue000": "\ue001", "\ue002": "\ue003"}
_OPENING = {closing: opening for opening, closing in _CLOSING.items()}
_HELD = {
    "<strong>": "\ue000",
    "</strong>": "\ue001",
    "<laughter>": "\ue002",
    "</laughter>": "\ue003",
    "[laughter]": "\ue004",
    "[breath]": "\ue005",
}
_SPELT = str.maketrans({held: mark for mark, held in _HELD.items()})
HELD_RANGE = "\ue000-\ue005"
"""Inside of a character class of regular expressions. Cleaning takes these characters out of callers' texts first."""
_HELD_CHARACTER = re.compile(f"([{HELD_RANGE}])")
_TRAILING = re.compile(f"[{HELD_RANGE} ]*$")
_WRITTEN = re.compile(r"</?(?:strong|laughter)>|\[(?:laughter|breath)\](?!\()", re.IGNORECASE)  # [x](y) is a link
_INSIDE = "\u0301"
"""Stands for what may not be parted from the character before it, as a combining mark."""


def held(mapped: MappedText) -> MappedText:
    """Every mark as one private character."""
    return mapped.replaced(_WRITTEN, lambda mark: _HELD[mark.group().lower()])


def removed(mapped: MappedText) -> MappedText:
    """The text without marks; words that only a mark kept apart stay apart."""

    def blank(mark: re.Match[str]) -> str:
        around = mark.string[mark.start() - 1 : mark.start()] + mark.string[mark.end() : mark.end() + 1]
        return " " if mark.group()[0] == "[" and len(around) == 2 and around.isascii() and around.isalnum() else ""

    return mapped.replaced(_WRITTEN, blank)


def paired(mapped: MappedText) -> MappedText:
    """Held marks that open nothing, close nothing or hold no word are dropped. Linear time."""
    return mapped.edited((position, position + 1, "") for position in sorted(_useless(mapped.text)))


def with_whole_pairs(text: str, max_units: float) -> str:
    """A text of the same length in which no place to cut can be found within a pair of held marks that fits."""
    masked: list[str] = []
    position = 0
    for start, end in sorted(_pairs(text)):
        if start >= position and sum(map(units, text[start:end])) <= max_units:
            masked += (text[position : start + 1], _INSIDE * (end - start - 1))
            position = end
    return "".join((*masked, text[position:]))


def completed(pieces: Iterable[str]) -> Iterator[str]:
    """Pieces of one text; a pair that is too long for one of them is closed at its end and opened again in the next."""
    opened: list[str] = []
    for piece in pieces:
        text = "".join(opened) + piece
        for char in piece:
            if char in _CLOSING:
                opened.append(char)
            elif char in _OPENING:
                opened.pop()
        text += "".join(_CLOSING[char] for char in reversed(opened))
        useless = _useless(text)
        yield "".join(char for position, char in enumerate(text) if position not in useless)


def between(text: str, change: Callable[[str], str]) -> str:
    """Change what stands between held marks."""
    return "".join(
        part if _HELD_CHARACTER.match(part) else change(part) for part in _HELD_CHARACTER.split(text) if part
    )


def before_last(text: str, change: Callable[[str], str]) -> str:
    """Change what stands before the held marks at the end; the last character of the result goes behind them."""
    match = _TRAILING.search(text)
    marks = match.group().replace(" ", "") if match else ""
    changed = change(text[: match.start()] if marks and match else text)
    return changed[:-1] + marks + changed[-1:]


def spelt(text: str) -> str:
    """Held marks as a model was trained to read them."""
    return text.translate(_SPELT)


def _pairs(text: str) -> Iterator[tuple[int, int]]:
    """[start, end) of what opens and closes; ends in order. Pairs that cross count as unclosed where they do."""
    opened: list[int] = []
    counts = dict.fromkeys(_CLOSING, 0)
    for match in _HELD_CHARACTER.finditer(text):
        char = match.group()
        if char in _CLOSING:
            opened.append(match.start())
            counts[char] += 1
        elif char in _OPENING and counts[_OPENING[char]]:
            while True:
                start = opened.pop()
                counts[text[start]] -= 1
                if text[start] == _OPENING[char]:
                    break
            yield start, match.end()


def _useless(text: str) -> set[int]:
    useless = {match.start() for match in _HELD_CHARACTER.finditer(text) if match.group() in {*_CLOSING, *_OPENING}}
    if useless:
        last_word, last_words = -1, []
        for position, char in enumerate(text):
            last_word = position if is_speakable(char) else last_word
            last_words.append(last_word)
        for start, end in _pairs(text):
            if last_words[end - 1] > start:
                useless -= {start, end - 1}
    return useless
