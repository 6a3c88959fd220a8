"""Numbers as words where the grammars have no answer: digit by digit, and English and Korean cardinals."""

import re
from collections.abc import Mapping

CHINESE_DIGITS = dict(zip("0123456789", "零一二三四五六七八九", strict=True))
CHINESE_TELEPHONE_DIGITS = CHINESE_DIGITS | {"1": "幺"}
JAPANESE_DIGITS = dict(
    zip("0123456789", ("ゼロ", "イチ", "ニー", "サン", "ヨン", "ゴー", "ロク", "ナナ", "ハチ", "キュウ"), strict=True)
)
ENGLISH_DIGITS = dict(
    zip("0123456789", ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"), strict=True)
)
KOREAN_DIGITS = dict(zip("0123456789", "영일이삼사오육칠팔구", strict=True))

_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()  # noqa: SIM905
_TENS = "ten twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
_SCALES = ("", " thousand", " million", " billion", " trillion")
_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth"}
_ORDINALS |= {"twelve": "twelfth"}
LONGEST_CARDINAL = 15
"""Digits of the longest whole number that is read as one number; longer ones are read digit by digit."""


def digit_by_digit(text: str, digits: Mapping[str, str], separator: str = "") -> str:
    """Every digit as its own word; other characters stay."""
    return separator.join(digits.get(char, char) for char in text)


def english_cardinal(number: int) -> str:
    """1250 -> "one thousand two hundred fifty"; at most LONGEST_CARDINAL digits."""
    groups = []
    for scale in _SCALES:
        number, group = divmod(number, 1000)
        if group:
            groups.append(_below_thousand(group) + scale)
    return " ".join(reversed(groups)) or "zero"


def as_ordinal(cardinal: str) -> str:
    """The ordinal of a cardinal in words."""
    head, last = re.fullmatch(r"(.*[ -])?([a-z]+)", cardinal).groups("")  # type: ignore[union-attr]
    ordinal = _ORDINALS.get(last) or (last[:-1] + "ieth" if last.endswith("y") else last + "th")
    return str(head) + str(ordinal)


def english_year(number: int) -> str:
    """1905 -> "nineteen oh five", 2000 -> "two thousand", 2024 -> "twenty twenty-four"; 1000 to 9999."""
    century, rest = divmod(number, 100)
    if century % 10 == 0 and rest < 10:
        return english_cardinal(number)
    tail = "hundred" if rest == 0 else f"oh {english_cardinal(rest)}" if rest < 10 else english_cardinal(rest)
    return f"{english_cardinal(century)} {tail}"


def english_code(digits: str) -> str:
    """Digits of a model or room number: 705 -> "seven oh five", 121 -> "one twenty-one", 100 -> "one hundred"."""
    if len(digits) == 3 and digits[0] != "0" and digits[1:] != "00":
        rest = f"oh {ENGLISH_DIGITS[digits[2]]}" if digits[1] == "0" else english_cardinal(int(digits[1:]))
        return f"{ENGLISH_DIGITS[digits[0]]} {rest}"
    if len(digits) == 4 and digits[0] != "0":
        return english_year(int(digits))
    if len(digits) > 4 or (digits[0] == "0" and len(digits) > 1):
        return digit_by_digit(digits, ENGLISH_DIGITS, " ")
    return english_cardinal(int(digits))


def korean_cardinal(number: int) -> str:
    """Sino-Korean: 1250 -> "천이백오십"; at most LONGEST_CARDINAL digits."""
    if number == 0:
        return KOREAN_DIGITS["0"]
    words, scales = "", ("", "만", "억", "조")
    for scale in scales:
        number, group = divmod(number, 10_000)
        if group:
            small = "".join(
                ("" if digit == "1" and unit else KOREAN_DIGITS[digit]) + unit
                for digit, unit in zip(f"{group:04d}", ("천", "백", "십", ""), strict=True)
                if digit != "0"
            )
            words = ("" if small == "일" and scale == "만" else small) + scale + words
    return words


def _below_thousand(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    words = [f"{ENGLISH_DIGITS[str(hundreds)]} hundred"] if hundreds else []
    if rest >= 20:
        tens, ones = divmod(rest, 10)
        words.append(_TENS[tens - 1] + (f"-{ENGLISH_DIGITS[str(ones)]}" if ones else ""))
    elif rest >= 10:
        words.append(_TEENS[rest - 10])
    elif rest:
        words.append(ENGLISH_DIGITS[str(rest)])
    return " ".join(words)
