"""Japanese as it is read aloud: no digits, no signs; the grammar for most of it, own rules where it fails."""

import re

from cosyvoice_web.text.grammars import write_out
from cosyvoice_web.text.numerals import JAPANESE_DIGITS, digit_by_digit

_THOUSANDS = re.compile(r"(?<![\d,])\d{1,3}(?:,\d{3})+(?![\d,])")
_TELEPHONE = re.compile(
    r"(?<![\d.\-])(?:\+?\d{1,4}-\d{1,4}-\d{3,4}-\d{4}|\d{2,4}-\d{3,4}-\d{4}|0\d{2,4}-\d{2,4}-\d{3,4}|0\d{1,3}-\d{6,8})(?![\d\-])"
)
_LONG = re.compile(r"(?<![\d.,:/-])(?:\d{10,}|0\d+)(?![\d.,:/-]*\d)")
_TIME_RANGE = re.compile(r"(?<=\d:\d\d)[ ]?[-–—~〜～][ ]?(?=\d{1,2}:\d\d)")
_POSTAL = re.compile(r"(?<![\d.\-])\d{3}-\d{4}(?![\d\-])")
_UNITS = {
    "mmHg": "ミリメートル水銀柱", "GHz": "ギガヘルツ", "MHz": "メガヘルツ", "kHz": "キロヘルツ", "Hz": "ヘルツ",
    "GB": "ギガバイト", "MB": "メガバイト", "TB": "テラバイト", "km/h": "キロメートル毎時", "m/s": "メートル毎秒",
    "km²": "平方キロメートル",
    "km2": "平方キロメートル", "m²": "平方メートル", "m2": "平方メートル", "m³": "立方メートル", "m3": "立方メートル",
    "μm": "マイクロメートル", "µm": "マイクロメートル", "ml": "ミリリットル", "kW": "キロワット",
    "W": "ワット", "V": "ボルト",
    "hPa": "ヘクトパスカル", "kcal": "キロカロリー", "mL": "ミリリットル",
}  # fmt: skip
_UNIT = re.compile(rf"(?<=\d)[ ]?({'|'.join(sorted(_UNITS, key=len, reverse=True))})(?![A-Za-z0-9])")
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?<=\d)[ ]?(?:℃|°[ ]?C)"), "度"),
    (re.compile(r"(?<=\d)[ ]?(?:℉|°[ ]?F)"), "華氏度"),
    (re.compile(r"(?<=\d)[ ]?°"), "度"),
    (re.compile(r"(?<=\d)[ ]?[–—~〜～][ ]?(?=\d)"), "から"),
    (re.compile(r"(?<![\d\-/])(\d{1,4})-(\d{1,4})(?=[^\d\-/=])"), r"\1から\2"),
    (re.compile(r"[~〜～≈][ ]?(?=\d)"), "約"),
    (re.compile(r"±[ ]?(?=\d)"), "プラスマイナス"),
    (re.compile(r"(?<=[\w)])[ ]?[×*][ ]?(?=[\w(])"), "かける"),
    (re.compile(r"(?<=[\w)])[ ]?÷[ ]?(?=[\w(])"), "わる"),
    (re.compile(r"(?<=[\w)])[ ]?\+[ ]?(?=[\w(])"), "たす"),
    (re.compile(r"(?<=\d)[ ]?-[ ]?(?=\d+(?:\.\d+)?[ ]?=)"), "ひく"),
    (re.compile(r"(?<=[\w)])[ ]?=[ ]?(?=[\w(-])"), "は"),
    (re.compile(r"(?<=\d)\+(?!\d)"), "以上"),
    (re.compile(r"(?<=[一-鿿])[〜～](?=[一-鿿])"), "から"),
    (re.compile(r"(?<=\w)/(?=[^\d\s])"), "、"),
    (re.compile(r"(?<=\d)[ ]?½"), "と二分の一"),
    (re.compile(r"½"), "二分の一"),
    (re.compile(r"(?<=\d)[ ]?¼"), "と四分の一"),
    (re.compile(r"¼"), "四分の一"),
    (re.compile(r"(?<=\d)[ ]?¾"), "と四分の三"),
    (re.compile(r"¾"), "四分の三"),
    (re.compile(r"²"), "の二乗"),
    (re.compile(r"³"), "の三乗"),
    (re.compile(r"[ ]?&[ ]?"), "アンド"),
    (re.compile(r"@"), "アット"),
)
_AFTER: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"[℃°]"), "度"),
    (re.compile(r"%"), "パーセント"),
    (re.compile(r"〇(?=点)"), "れい"),
)


def read_japanese(text: str) -> str:
    """Every number and sign in words; every kana, Han character and letter stays."""
    if not re.search(r"[^\w\s、。！？，；：,.!?;:…“”‘’\"'「」『』（）()・—-]|[\d²³½¼¾]", text):
        return text
    text = _THOUSANDS.sub(lambda match: match.group().replace(",", ""), text)
    text = _TELEPHONE.sub(_telephone, text)
    text = _POSTAL.sub(_telephone, text)
    text = _TIME_RANGE.sub("から", text)
    text = _LONG.sub(lambda match: digit_by_digit(match.group(), JAPANESE_DIGITS), text)
    text = _UNIT.sub(lambda match: _UNITS[match[1]], text)
    for pattern, words in _RULES:
        text = pattern.sub(words, text)
    text = write_out(text, "ja", JAPANESE_DIGITS)
    for pattern, words in _AFTER:
        text = pattern.sub(words, text)
    return text


def _telephone(match: re.Match[str]) -> str:
    groups = match.group().lstrip("+").split("-")
    return "の".join(digit_by_digit(group, JAPANESE_DIGITS) for group in groups)
