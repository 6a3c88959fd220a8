"""From what callers paste to plain characters that can be split and read."""

import re
import unicodedata
from functools import cache

from cosyvoice_web.text import speech_marks
from cosyvoice_web.text.characters import MARKS
from cosyvoice_web.text.mapped import MappedText
from cosyvoice_web.text.markup import without_markup

_REMOVED = "\x00"
_REMOVED_RUN = re.compile("\x00+")
_SPECIAL_TOKEN_MARK = re.compile(r"<\||\|>")
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])[’‘ʼ＇′´`‛](?=[^\W\d_])")
_LINE_BREAKS = "\r\x0b\x0c\x85\u2028\u2029"
_HYPHENS = "\u2010\u2011\u2212\ufe63\uff0d"
_MARKS_KEPT = 4
_TOO_MANY_MARKS = re.compile(f"(?<=[{MARKS}]{{{_MARKS_KEPT}}})[{MARKS}]+")
_REPEATED = re.compile(r"([^\w\n])\1{3,}")
_COMPOSABLE = re.compile(f"[^{MARKS}\u1160-\u11ff]?[{MARKS}\u1160-\u11ff]+")


def clean(text: str, *, keep_speech_marks: bool = False) -> MappedText:
    """Unicode NFC; invisible characters, emoji, marks of special tokens and markup gone; line breaks are newlines.

    Every letter and digit that a reader of the text would see is still there. With `keep_speech_marks` so are those
    marks, as `speech_marks` holds them. Linear time.
    """
    mapped = MappedText.of(text)
    mapped = mapped.with_text(text.translate({ord(char): _folded(char) for char in set(text)}))
    mapped = mapped.replaced(_REMOVED_RUN, lambda _: "")
    mapped = mapped.replaced(_TOO_MANY_MARKS, lambda _: "").replaced(_COMPOSABLE, _composed)
    mapped = mapped.with_text(_SPECIAL_TOKEN_MARK.sub("  ", mapped.text))
    mapped = mapped.with_text(_APOSTROPHE.sub("'", mapped.text))
    mapped = speech_marks.held(mapped) if keep_speech_marks else speech_marks.removed(mapped)
    mapped = without_markup(mapped).replaced(_REPEATED, lambda match: match.group()[: 1 if match[1] == " " else 3])
    return speech_marks.paired(mapped)


@cache
def _folded(char: str) -> str:
    """One character for one; NUL where it is to be removed."""
    if " " <= char <= "~" or char == "\n":
        return char
    if char in _LINE_BREAKS:
        return "\n"
    if char in _HYPHENS:
        return "-"
    category = unicodedata.category(char)
    if char == "\t" or category == "Zs":
        return " "
    if category in ("Cc", "Cf", "Cs", "Me") or "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef":
        return _REMOVED
    if category in ("Co", "Cn") or char in "ℹ™®":
        return " "
    if category == "So" and char not in "°©":
        return char if unicodedata.normalize("NFKC", char) != char else " "
    if category == "Sk" and char != "´":
        return " "
    composed = unicodedata.normalize("NFC", char)
    return composed if len(composed) == 1 else char


def _composed(cluster: re.Match[str]) -> str | None:
    composed = unicodedata.normalize("NFC", cluster.group())
    return composed if len(composed) <= len(cluster.group()) else None
