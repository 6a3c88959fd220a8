"""English as it is read aloud: no digits, no signs."""

import re

from cosyvoice_web.text.addresses import ADDRESS_PATTERN, spoken_address
from cosyvoice_web.text.grammars import english_normalizer
from cosyvoice_web.text.numerals import (
    ENGLISH_DIGITS,
    LONGEST_CARDINAL,
    as_ordinal,
    digit_by_digit,
    english_cardinal,
    english_code,
    english_year,
)

_QUOTES = str.maketrans(dict.fromkeys("’‘‛′", "'") | dict.fromkeys("“”„‟«»", '"') | {"μ": "µ", "：": ":", "％": "%"})
_SHOUTED = frozenset((
    "all", "and", "are", "at", "be", "but", "by", "can", "do", "eight", "end", "five", "for", "four", "from", "get",
    "go", "good", "has", "have", "he", "hello", "her", "here", "hi", "his", "how", "if", "more", "my", "new", "nine",
    "no", "not", "now", "of", "off", "on", "one", "our", "out", "seven", "she", "six", "stop", "ten", "that", "the",
    "they", "this", "three", "to", "two", "up", "was", "we", "what", "who", "why", "will", "with", "yes", "you",
    "your", "zero",
))  # fmt: skip
"""Common words in capitals are words, not letters to spell ("HI FOUR T")."""

_UNITS = {
    "m": "meter", "L": "liter", "l": "liter", "mL": "milliliter", "V": "volt", "W": "watt", "g": "gram", "Pa": "pascal",
    "hPa": "hectopascal", "kPa": "kilopascal", "kcal": "kilocalorie", "cal": "calorie", "dB": "decibel",
}  # fmt: skip
_FIXED_UNITS = {
    "mmHg": "millimeters of mercury", "m/s": "meters per second", "m²": "square meters", "km²": "square kilometers",
    "cm²": "square centimeters", "m³": "cubic meters", "cm³": "cubic centimeters", "m2": "square meters",
    "km2": "square kilometers", "m3": "cubic meters",
}  # fmt: skip
_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_UNIT = re.compile(
    rf"(?<![\w.])({_NUMBER})[ ]?({'|'.join(sorted([*_UNITS, *_FIXED_UNITS], key=len, reverse=True))})(?![\w/²³])"
)
_MAJOR_MINOR = {"$": ("dollar", "cent"), "€": ("euro", "cent"), "£": ("pound", "pence")}
_MAGNITUDE = r"(?!\s?(?:hundred|thousand|million|billion|trillion|[kKmMbB])\b)"
_MONEY = re.compile(rf"(?:US|us)?([$€£])[ ]?({_NUMBER})(?![\d,.]*\d){_MAGNITUDE}")
_PHONE = re.compile(r"(?<![\w.\-])\+?(?:\d{1,3}[-. ])?(?:\(\d{3}\)[ ]?|\d{3}[-. ])\d{3}[-.]\d{4}(?![\w\-]|\.\d)")
_PERCENT_RANGE = re.compile(r"(?<=\d)%?[ ]?[–~-][ ]?(?=\$?\d+(?:\.\d+)?%)")
_DASH_RANGE = re.compile(r"(?<=\d)[ ]?[–~][ ]?(?=\$?\d)")
_CLOCK_HOUR = re.compile(r"(?<![\w:.])(\d{1,2})[ ]?([aApP])\.?[mM]\b\.?(?=(.?))")
_SHORT_THOUSAND = re.compile(rf"(?<![\w.])({_NUMBER})k\b")
_DECADE = re.compile(r"(?<!\w)'?(\d0|[12]\d\d0)s\b")
_ORDINAL = re.compile(r"(?<![\w.,])(\d{1,3}(?:,\d{3})+|\d{1,12})(?:st|nd|rd|th)\b", re.IGNORECASE)
_SIGNED = re.compile(r"(?<![\w)])-(?=[$€£]?\d)")
_CODE = re.compile(r"(?<![A-Za-z])([A-Za-z]+)[-.]?(\d+)(?!\w*[.,]\d)|(?<![\w.,])(\d+)(?=[A-Za-z])")
_VERSION = re.compile(r"\d+(?:\.\d+){2,}")
_PLAIN = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|\.\d+|\d+")
_NEEDS_READING = re.compile(r"[\d#&%@+*/<=>~^|_\\$€£¥°‰²³µ½¼¾±×÷≈≠≤≥√∞→•…]|\w\.|\b(?:[IVXLC]{2,}|V|X)\b")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_Rules = tuple[tuple[re.Pattern[str], str], ...]
_FIRST_RULES: _Rules = (
    (re.compile(r"\b24/7\b"), "twenty-four seven"),
    (re.compile(r"\bkm/h\b"), "kilometers per hour"),
    (re.compile(r"\bC#"), "C sharp"),
    (re.compile(r"\bC\+\+"), "C plus plus"),
    (re.compile(r"(?<=\d)[ ]?(?=[½¼¾])"), " and "),
    (re.compile(r"(?<=\w)[ ]\*[ ](?=\w)"), " times "),
    (re.compile(r"(?<=\d)[ ]?[×xX*][ ]?(?=\d)"), " times "),
    (re.compile(r"(?<=\d)[ ]?-[ ]?(?=\d+[ ]?=)"), " minus "),
    (re.compile(r"(?<=[\d)])[ ]?/[ ]?(?=\d+[ ]?=)"), " divided by "),
)
_LAST_RULES: _Rules = (
    (re.compile(r"\bv(?=\d)"), "version "),
    (re.compile(r"~[ ]?(?=[$€£]?\d)"), "about "),
    (re.compile(r"(?<=[\w)])[ ]?≈[ ]?"), " is about "),
    (re.compile(r"[ ]?≠[ ]?"), " is not equal to "),
    (re.compile(r"[ ]?≤[ ]?"), " is at most "),
    (re.compile(r"[ ]?≥[ ]?"), " is at least "),
    (re.compile(r"√[ ]?"), " the square root of "),
    (re.compile(r"∞"), " infinity "),
    (re.compile(r"(?<=\w)[ ]?\+(?=[\s.,;:!?)]|$)"), " plus "),
    (re.compile(r"(?<=\w)[ ]?\+[ ]?(?=\w)"), " plus "),
    (re.compile(r"[ ]?&[ ]?"), " and "),
    (re.compile(r"(?<![\w&])#(?=\d)"), "number "),
    (re.compile(r"#"), " "),
    (re.compile(r"[ ]?‰"), " per mille"),
    (re.compile(r"[ ]?%"), " percent"),
    (re.compile(r"[ ]?@[ ]?"), " at "),
    (re.compile(r"…"), "..."),
)


def read_english(text: str) -> str:
    """Every number, sign and address in words; every letter stays, diacritics included."""
    text = ADDRESS_PATTERN.sub(lambda match: spoken_address(match.group()), text.translate(_QUOTES))
    text = re.sub(r"(?<![\w&])[A-Z]{2,}(?![\w&])", _unshouted, text)
    if not _NEEDS_READING.search(text):
        return text
    text = _PHONE.sub(_telephone, text)
    text = _PERCENT_RANGE.sub(" to ", text)
    text = _DASH_RANGE.sub(" to ", text)
    text = _CLOCK_HOUR.sub(_hour, text)
    text = _UNIT.sub(_unit, text)
    for pattern, words in _FIRST_RULES:
        text = pattern.sub(words, text)
    lead, tail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    text = lead + english_normalizer()(text) + tail
    for pattern, words in _LAST_RULES:
        text = pattern.sub(words, text)
    return _numbers(text)


def _numbers(text: str) -> str:
    text = _MONEY.sub(_money, text)
    text = _SIGNED.sub("minus ", text)
    text = _DECADE.sub(_decade, text)
    text = _ORDINAL.sub(lambda match: as_ordinal(_whole(match[1].replace(",", ""))), text)
    text = _SHORT_THOUSAND.sub(r"\1 thousand", text)
    text = _VERSION.sub(_version, text)
    text = _CODE.sub(_code, text)
    return _PLAIN.sub(lambda match: _plain(match.group()), text)


def _unshouted(word: re.Match[str]) -> str:
    return word.group().lower() if word.group().lower() in _SHOUTED else word.group()


def _telephone(match: re.Match[str]) -> str:
    groups = re.findall(r"\d+", match.group())
    plus = "plus " if match.group().startswith("+") else ""
    return plus + ", ".join(digit_by_digit(group, ENGLISH_DIGITS, " ") for group in groups)


def _hour(match: re.Match[str]) -> str:
    if not 1 <= int(match[1]) <= 24:
        return match.group()
    return f"{english_cardinal(int(match[1]))} {match[2].upper()}.M" + ("" if match[3] == "." else ".")


def _unit(match: re.Match[str]) -> str:
    number, unit = match[1], match[2]
    return f"{number} {_FIXED_UNITS.get(unit) or _UNITS[unit] + ('' if number == '1' else 's')}"


def _money(match: re.Match[str]) -> str:
    major, minor = _MAJOR_MINOR[match[1]]
    whole, _, fraction = match[2].replace(",", "").partition(".")
    if len(fraction) > 2:
        return f"{_plain(match[2])} {major}s"
    words = []
    cents = int(fraction.ljust(2, "0")) if fraction else 0
    if int(whole) or not cents:
        words.append(f"{_whole(whole)} {major}{'' if int(whole) == 1 else 's'}")
    if cents:
        words.append(f"{english_cardinal(cents)} {minor}{'' if cents == 1 or minor == 'pence' else 's'}")
    return " and ".join(words)


def _decade(match: re.Match[str]) -> str:
    digits = match[1]
    words = english_cardinal(int(digits)) if len(digits) == 2 else english_year(int(digits))
    return words[:-1] + "ies" if words.endswith("y") else words + "s"


def _code(match: re.Match[str]) -> str:
    if match[3]:
        return english_code(match[3]) + " "
    tail = " " if match.string[match.end() : match.end() + 1].isalpha() else ""
    return f"{match[1]} {english_code(match[2])}{tail}"


def _version(match: re.Match[str]) -> str:
    parts = match.group().split(".")
    return (" dot " if len(parts) == 4 else " point ").join(map(_whole, parts))


def _whole(digits: str) -> str:
    if len(digits) > LONGEST_CARDINAL or (len(digits) > 1 and digits[0] == "0"):
        return digit_by_digit(digits, ENGLISH_DIGITS, " ")
    return english_cardinal(int(digits))


def _plain(number: str) -> str:
    whole, _, fraction = number.partition(".")
    if fraction:
        head = _whole(whole.replace(",", "")) if whole else ""
        return f"{head} point {digit_by_digit(fraction, ENGLISH_DIGITS, ' ')}".strip()
    if "," in whole:
        return _whole(whole.replace(",", ""))
    if len(whole) >= 10:
        return digit_by_digit(whole, ENGLISH_DIGITS, " ")
    return english_year(int(whole)) if _YEAR.fullmatch(whole) else _whole(whole)
