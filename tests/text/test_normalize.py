# ruff: noqa: E501 - tables of texts
import pytest

from cosyvoice_web.text.normalize import normalize, terminated
from cosyvoice_web.text.numerals import english_cardinal, english_year, korean_cardinal

ENGLISH = {
    "In 1905 and in 2024, 1250 of 5000": "In nineteen oh five and in twenty twenty-four, one thousand two hundred fifty of "
    "five thousand",
    "1st, 2nd, 23rd, the 1990s and the '90s": "first, second, twenty-third, the nineteen nineties and the nineties",
    "1/2, 2/3 and 24/7": "one half, two thirds and twenty-four seven",
    "555-1234 or 1-800-555-1234": "five five five, one two three four or one, eight zero zero, five five five, one two three "
    "four",
    "v3.11.2 at 192.168.1.1": "version three point eleven point two at one hundred ninety-two dot one hundred sixty-eight dot "
    "one dot one",
    "GPT-4o, iPhone 15, MP3, COVID-19": "GPT four o, iPhone fifteen, MP three, COVID nineteen",
    "3*4=12, 3+4=7, 7-3=4": "three times four equals twelve, three plus four equals seven, seven minus three equals four",
    "120mmHg, 60km/h, 1.75m": "one hundred twenty millimeters of mercury, sixty kilometers per hour, one point seven five "
    "meters",
    "R&D, AT&T, C# and C++": "R and D, AT and T, C sharp and C plus plus",
    "Louis XIV in Chapter IV": "Louis the fourteenth in Chapter four",
    "2024-03-15 or 3/15/2024": "March fifteenth, twenty twenty-four or March fifteenth, twenty twenty-four",
    "$1, $0.99, £5": "one dollar, ninety-nine cents, five pounds",
    "a 1234567890123 b": "a one two three four five six seven eight nine zero one two three b",
    "007 and #1": "zero zero seven and number one",
}  # fmt: skip
CHINESE = {
    "5~10个人，1/2，3:2": "五到十个人，二分之一，三比二",
    "价格是128.50元，共100万": "价格是一百二十八点五零元，共一百万",
    "￥1,234,567.89": "一百二十三万四千五百六十七点八九元",
    "2024-03-15 20:00-22:00": "二零二四年三月十五日 二十点到二十二点",
    "版本3.11.2": "版本三点一一点二",
    "工号007，房间705": "工号零零七，房间七零五",
    "+86 138 1234 5678": "幺三八幺二三四五六七八",
    "13812345678元": "幺三八幺二三四五六七八元",
    "123456789元": "一亿二千三百四十五万六千七百八十九元",
    "3+5=8，3×5=15，5>3": "三加五等于八，三乘五等于十五，五大于三",
    "他/她": "他，她",
    "他说——好": "他说，好",
    "你好.我是!": "你好。我是！",
    "100+人，±5": "一百以上人，正负五",
    "2个，22个": "两个，二十二个",
}
JAPANESE = {
    "¥1,280と$100": "千二百八十円と百ドル",
    "090-1234-5678": "ゼロキュウゼロのイチニーサンヨンのゴーロクナナハチ",
    "〒100-0001": "イチゼロゼロのゼロゼロゼロイチ",
    "20:00-22:00、10:05": "二十時から二十二時、十時五分",
    "3-5日、東京〜大阪": "三から五日、東京から大阪",
    "0.5%、1/2、5kg": "れい点五パーセント、二分の一、五キログラム",
    "えっと、あのー": "えっと、あのー",
}


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [(text, code, said) for code, table in (("en", ENGLISH), ("zh", CHINESE), ("ja", JAPANESE)) for text, said in table.items()],
)  # fmt: skip
def test_normalize(text: str, language: str, expected: str) -> None:
    assert normalize(text, language).strip() == expected


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("你好", "zh", "你好。"),
        ("你好，", "zh", "你好。"),
        ("你好……", "zh", "你好。"),
        ("你好！", "zh", "你好！"),
        ("“走吧。”", "zh", "“走吧”。"),
        ("（好）", "zh", "（好）。"),
        ("Hello", "en", "Hello."),
        ("Hello... ", "en", "Hello."),
        ('"Hello?"', "en", '"Hello"?'),
        ("at nine A.M.", "en", "at nine A.M."),
        ("です", "ja", "です。"),
    ],
)
def test_terminated(text: str, language: str, expected: str) -> None:
    assert terminated(text, language) == expected


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "zero"), (21, "twenty-one"), (100, "one hundred"), (1_000_001, "one million one"), (999_999, "nine hundred "
     "ninety-nine thousand nine hundred ninety-nine")],
)  # fmt: skip
def test_english_cardinal(number: int, words: str) -> None:
    assert english_cardinal(number) == words


def test_years_and_korean() -> None:
    assert [english_year(year) for year in (1900, 1905, 2000, 2010)] == [
        "nineteen hundred", "nineteen oh five", "two thousand", "twenty ten",
    ]  # fmt: skip
    assert [korean_cardinal(number) for number in (0, 10, 10_000, 123_456)] == [
        "영",
        "십",
        "만",
        "십이만삼천사백오십육",
    ]
