"""What a character is: its script, whether it can be spoken, how long it takes to say."""

import unicodedata
from functools import cache

HAN = "\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb\uffa1-\uffdc"
LATIN = "A-Za-zªºÀ-ÖØ-öø-ʯᴀ-ᴥḀ-ỿＡ-Ｚａ-ｚﬀ-ﬆ"
MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u3099\u309a\ufe20-\ufe2f"
"""Inside of character classes of regular expressions."""

LETTER_SILENT_ALONE = frozenset("ーｰ〱〲〳〴〵ºªℹ")
"""Letters by their Unicode category that nobody can say alone."""

CLOSERS = "\"'”’」』）)]】》〉〗｝}〕»›"
OPENERS = "“‘「『（([【《〈〖｛{〔«‹¿¡"


@cache
def script(char: str) -> str:
    """One of "han", "kana", "hangul", "latin", "digit", "mark", "neutral"; else the script's name, as "CYRILLIC".

    Compatibility forms (full width, circled, mathematical) have the script of the character they stand for.
    """
    category = unicodedata.category(char)
    if category[0] == "M":
        return "mark"
    folded = unicodedata.normalize("NFKC", char)
    if folded != char and category in ("Lu", "Ll", "Lo", "Lm", "No", "So") and folded[0].isalnum():
        return script(folded[0])
    if category[0] not in "LN" or (category == "Lm" and "\u02b0" <= char <= "\u02ff"):
        return "neutral"
    if category[0] == "N" and char != "〇":
        return "digit"
    for name, low_high in _RANGES:
        if any(low <= char <= high for low, high in low_high):
            return name
    return unicodedata.name(char, "UNKNOWN").split()[0]


@cache
def is_speakable(char: str) -> bool:
    """True for letters and numbers: what must never be lost from a text."""
    return unicodedata.category(char)[0] in "LN" and char not in LETTER_SILENT_ALONE and script(char) != "neutral"


@cache
def is_cjk(char: str) -> bool:
    """Scripts that are written without spaces."""
    return script(char) in ("han", "kana") or char in "、。「」『』《》【】（），！？：；“”"


@cache
def units(char: str) -> float:
    """About how many syllables a character takes to say: a Han character, a kana, a digit 1; a Latin letter 0.4."""
    kind = script(char)
    if kind in ("han", "kana", "hangul", "digit"):
        return 1.0
    if kind == "latin":
        return 0.4
    if kind == "mark":
        return 0.0
    if kind == "neutral":
        return 0.5 if unicodedata.category(char) in ("Sm", "Sc", "So") or char in "%&@#/" else 0.05
    return 0.6


def _pairs(ranges: str) -> list[tuple[str, str]]:
    pairs, i = [], 0
    while i < len(ranges):
        if ranges[i + 1 : i + 2] == "-":
            pairs.append((ranges[i], ranges[i + 2]))
            i += 3
        else:
            pairs.append((ranges[i], ranges[i]))
            i += 1
    return pairs


_RANGES = tuple(
    (name, _pairs(ranges)) for name, ranges in (("latin", LATIN), ("han", HAN), ("kana", KANA), ("hangul", HANGUL))
)
