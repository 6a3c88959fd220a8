"""Korean numbers in words (Sino-Korean)."""

import re

from cosyvoice_web.text.numerals import KOREAN_DIGITS, LONGEST_CARDINAL, digit_by_digit, korean_cardinal

_TELEPHONE = re.compile(r"(?<![\d.\-])0\d{1,2}-\d{3,4}-\d{4}(?![\d\-])")
_THOUSANDS = re.compile(r"(?<![\d,])\d{1,3}(?:,\d{3})+(?![\d,])")
_NUMBER = re.compile(r"(\d+)(?:\.(\d+))?")
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?<=\d)[ ]?[~〜～–-][ ]?(?=\d)"), "에서 "),
    (re.compile(r"(?<![\w)])-(?=\d)"), "마이너스 "),
    (re.compile(r"[ ]?%"), "퍼센트"),
    (re.compile(r"[ ]?(?:℃|°[ ]?C|°)"), "도"),
    (re.compile(r"₩[ ]?(\d[\d.]*)"), r"\1원"),
    (re.compile(r"\$[ ]?(\d[\d.]*)"), r"\1달러"),
    (re.compile(r"(?<=\d)[ ]?km(?![A-Za-z])"), "킬로미터"),
    (re.compile(r"(?<=\d)[ ]?kg(?![A-Za-z])"), "킬로그램"),
    (re.compile(r"(?<=\d)[ ]?cm(?![A-Za-z])"), "센티미터"),
    (re.compile(r"(?<=\d)[ ]?m(?![A-Za-z])"), "미터"),
    (re.compile(r"(?<=\d):(?=\d\d)"), "시 "),
    (re.compile(r"²"), " 제곱"),
    (re.compile(r"³"), " 세제곱"),
    (re.compile(r"½"), " 이분의 일"),
    (re.compile(r"¼"), " 사분의 일"),
    (re.compile(r"¾"), " 사분의 삼"),
)


def read_korean(text: str) -> str:
    """Every digit in words; every Hangul syllable and letter stays."""
    text = _TELEPHONE.sub(lambda match: digit_by_digit(match.group(), KOREAN_DIGITS).replace("-", ", "), text)
    text = _THOUSANDS.sub(lambda match: match.group().replace(",", ""), text)
    for pattern, words in _RULES:
        text = pattern.sub(words, text)
    return _NUMBER.sub(_number, text)


def _number(match: re.Match[str]) -> str:
    whole, fraction = match.groups()
    if len(whole) > LONGEST_CARDINAL or (len(whole) > 1 and whole[0] == "0"):
        words = digit_by_digit(whole, KOREAN_DIGITS)
    else:
        words = korean_cardinal(int(whole))
    return words + ("점 " + digit_by_digit(fraction, KOREAN_DIGITS) if fraction else "")
