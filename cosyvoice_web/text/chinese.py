"""Chinese as it is read aloud: no digits, no signs; the grammar for most of it, own rules where it fails."""

import re

from cosyvoice_web.text.grammars import write_out
from cosyvoice_web.text.numerals import CHINESE_DIGITS, CHINESE_TELEPHONE_DIGITS, digit_by_digit

_THOUSANDS = re.compile(r"(?<![\d,])\d{1,3}(?:,\d{3})+(?![\d,])")
_MOBILE = re.compile(r"(?<![\d.])(?:\+?86[- ]?)?(1[3-9]\d)[- ]?(\d{4})[- ]?(\d{4})(?![\d.])")
_TELEPHONE = re.compile(
    r"(?<![\d.\-])(?:0\d{2,3}-\d{7,8}(?:-\d{1,6})?|[48]00-?\d{3}-?\d{4}|\d{2,4}-\d{3,4}-\d{4})(?![\d\-])"
)
_LABELLED = re.compile(
    r"(?P<label>(?:电话|電話|手机|手機|热线|熱線|号码|號碼|编号|編號|工号|学号|卡号|账号|帐号|单号|邮编|验证码|密码|QQ|微信|房间|房間|航班)"
    r"(?:号|号码|號)?(?:是|为|為|：|:)?[ ]?)(?P<digits>\d{3,})(?![\d.,:])"
)
_LONG = re.compile(r"(?<![\d.,:/-])(?:\d{9,}|0\d+)(?![\d.,:/-]*\d)")
_TIME_RANGE = re.compile(r"(?<=\d:\d\d)[ ]?[-–—~〜～][ ]?(?=\d{1,2}:\d\d)")
_MEASURED = re.compile(r"[ ]?(?:元|块|人|个|米|公里|吨|亿|万|美元|欧元|日元|円|年|次|%)")
_MAGNITUDE_WORDS = re.compile(r"(?:US\$|\$)[ ]?(\d+(?:\.\d+)?)(万|亿|萬|億)")
_UNITS = {
    "mmHg": "毫米汞柱", "GHz": "吉赫兹", "MHz": "兆赫兹", "kHz": "千赫兹", "Hz": "赫兹", "km/h": "公里每小时",
    "m/s": "米每秒", "km²": "平方公里", "km2": "平方公里", "cm²": "平方厘米", "cm2": "平方厘米", "m²": "平方米",
    "m2": "平方米", "m³": "立方米", "m3": "立方米", "μm": "微米", "µm": "微米", "μg": "微克", "µg": "微克",
    "nm": "纳米", "GB": "吉字节", "MB": "兆字节", "TB": "太字节", "kWh": "千瓦时", "kW": "千瓦", "mAh": "毫安时",
    "kcal": "千卡", "hPa": "百帕", "kPa": "千帕", "Pa": "帕", "dB": "分贝", "V": "伏", "W": "瓦",
}  # fmt: skip
_UNIT = re.compile(rf"(?<=\d)[ ]?({'|'.join(sorted(_UNITS, key=len, reverse=True))})(?![A-Za-z0-9])")
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"°[ ]?C"), "℃"),
    (re.compile(r"°[ ]?F"), "℉"),
    (re.compile(r"(?<=\d)[ ]?℉"), "华氏度"),
    (re.compile(r"(?<=\d)[ ]?‰"), "千分比"),
    (re.compile(r"(?<=\d)[ ]?[–—~〜～][ ]?(?=[-+]?\d)"), "到"),
    (re.compile(r"[~～≈][ ]?(?=\d)"), "约"),
    (re.compile(r"±[ ]?(?=\d)"), "正负"),
    (re.compile(r"(?<=[\w)])[ ]?[×*][ ]?(?=[\w(])"), "乘"),
    (re.compile(r"(?<=[\w)])[ ]?÷[ ]?(?=[\w(])"), "除以"),
    (re.compile(r"(?<=[\w)])[ ]?≈[ ]?"), "约等于"),
    (re.compile(r"(?<=[\w)])[ ]?≠[ ]?"), "不等于"),
    (re.compile(r"(?<=[\w)])[ ]?(?:≥|>=)[ ]?"), "大于等于"),
    (re.compile(r"(?<=[\w)])[ ]?(?:≤|<=)[ ]?"), "小于等于"),
    (re.compile(r"(?<=[\w)])[ ]?>[ ]?(?=[\w(-])"), "大于"),
    (re.compile(r"(?<=[\w)])[ ]?<[ ]?(?=[\w(-])"), "小于"),
    (re.compile(r"(?<=\d)[ ]?-[ ]?(?=\d+(?:\.\d+)?[ ]?=)"), "减"),
    (re.compile(r"(?<=[\w)])[ ]?=[ ]?(?=[\w(-])"), "等于"),
    (re.compile(r"(?<=[\w)])[ ]\+[ ](?=[\w(])"), "加"),
    (re.compile(r"(?<=\d)\+(?!\d)"), "以上"),
    (re.compile(r"(?<=\d)[ ]?½"), "又二分之一"),
    (re.compile(r"½"), "二分之一"),
    (re.compile(r"(?<=\d)[ ]?¼"), "又四分之一"),
    (re.compile(r"¼"), "四分之一"),
    (re.compile(r"(?<=\d)[ ]?¾"), "又四分之三"),
    (re.compile(r"¾"), "四分之三"),
    (re.compile(r"²"), "的平方"),
    (re.compile(r"³"), "的立方"),
    (re.compile(r"\^[ ]?(\d+)"), r"的\1次方"),
    (re.compile(r"[ ]?&[ ]?"), "和"),
    (re.compile(r"(?<=\w)/(?=[^\d\s])"), "，"),
)
_AFTER: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"℃|°C"), "摄氏度"),
    (re.compile(r"°"), "度"),
    (re.compile(r"%"), "百分比"),
    (re.compile(r"(?<=[\w）)])\+(?=[\w（(])"), "加"),
    (re.compile(r"@"), "艾特"),
)


def read_chinese(text: str) -> str:
    """Every number and sign in words; every Han character and letter stays."""
    if not re.search(r"[^\w\s，。！？；：、,.!?;:…“”‘’\"'「」《》（）()—-]|[\d²³½¼¾]", text):
        return text
    text = _THOUSANDS.sub(lambda match: match.group().replace(",", ""), text)
    text = _MOBILE.sub(lambda match: "".join(map(_telephone, match.groups())), text)
    text = _TELEPHONE.sub(lambda match: _telephone(match.group()).replace("-", "，"), text)
    text = _LABELLED.sub(lambda match: match["label"] + digit_by_digit(match["digits"], CHINESE_DIGITS), text)
    text = _LONG.sub(_long_number, text)
    text = _TIME_RANGE.sub("到", text)
    text = _MAGNITUDE_WORDS.sub(r"\1\2美元", text)
    text = _UNIT.sub(lambda match: _UNITS[match[1]], text)
    for pattern, words in _RULES:
        text = pattern.sub(words, text)
    text = write_out(text, "zh", CHINESE_DIGITS)
    for pattern, words in _AFTER:
        text = pattern.sub(words, text)
    return text


def _telephone(text: str) -> str:
    return digit_by_digit(text, CHINESE_TELEPHONE_DIGITS)


def _long_number(match: re.Match[str]) -> str:
    digits = match.group()
    if digits[0] != "0" and len(digits) <= 16 and _MEASURED.match(match.string, match.end()):
        return digits
    return digit_by_digit(digits, CHINESE_DIGITS)
