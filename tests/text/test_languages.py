import pytest

from cosyvoice_web.errors import UnsupportedLanguage
from cosyvoice_web.text.languages import read_languages, requested_language

LANGUAGES = frozenset(("zh", "en", "ja"))


def read(*sentences: str, requested: str | None = None) -> list[list[tuple[str, str]]]:
    return [list(reading.runs) for reading in read_languages(sentences, requested, LANGUAGES)]


RUNS = {
    "three_languages": ("我喜欢こんにちは这个词", [("我喜欢", "zh"), ("こんにちは", "ja"), ("这个词", "zh")]),
    "kana_makes_it_japanese": ("東京の天気", [("東京の天気", "ja")]),
    "simplified": ("东京的天气", [("东京的天气", "zh")]),
    "shinjitai": ("東京駅", [("東京駅", "ja")]),
    "traditional": ("臺灣的歷史很長", [("臺灣的歷史很長", "zh")]),
    "ambiguous": ("人工知能", [("人工知能", "zh")]),
    "english_in_chinese": ("我用 Python 写代码。", [("我用 ", "zh"), ("Python ", "en"), ("写代码。", "zh")]),
    "english_in_japanese": ("彼はPythonで書く", [("彼は", "ja"), ("Python", "en"), ("で書く", "ja")]),
    "diacritics": ("natürlich café", [("natürlich café", "en")]),
    "digits_with_chinese": ("房间12在3楼", [("房间12在3楼", "zh")]),
    "digits_with_english": ("room 12 on floor 3", [("room 12 on floor 3", "en")]),
    "model_name": ("新的GPT-4o发布了", [("新的", "zh"), ("GPT-4o", "en"), ("发布了", "zh")]),
    "units_stay_chinese": ("喝5ml的水", [("喝5ml的水", "zh")]),
    "million": ("他有3 million dollars呢", [("他有", "zh"), ("3 million dollars", "en"), ("呢", "zh")]),
    "opening_marks_go_forward": ("他说“OK”吧", [("他说", "zh"), ("“OK”", "en"), ("吧", "zh")]),
    "address": ("看https://a.cn/x吧", [("看", "zh"), ("https://a.cn/x", "en"), ("吧", "zh")]),
}  # fmt: skip


@pytest.mark.parametrize(("sentence", "expected"), RUNS.values(), ids=RUNS.keys())
def test_runs(sentence: str, expected: list[tuple[str, str]]) -> None:
    assert read(sentence) == [expected]


def test_ambiguous_characters_take_the_language_of_their_neighbours() -> None:
    assert read("今日は晴れ。", "東京。") == [[("今日は晴れ。", "ja")], [("東京。", "ja")]]
    assert read("我们走吧。", "東京。")[1] == [("東京。", "zh")]
    assert read("東京。", "今日は晴れ。")[0] == [("東京。", "ja")]


def test_the_requested_language_decides_for_ambiguous_characters() -> None:
    assert read("東京", requested="ja") == [[("東京", "ja")]]
    assert read("今日は晴れ。", "東京。", requested="zh")[1] == [("東京。", "zh")]
    assert read("123", requested="en") == [[("123", "en")]]


@pytest.mark.parametrize(
    ("sentence", "requested", "language"),
    [
        ("你好世界", "ja", "zh"),
        ("東京駅", "zh", "ja"),
        ("こんにちは", "zh", "ja"),
        ("你好", "en", "zh"),
        ("hello", "zh", "en"),
    ],
)
def test_the_requested_language_never_makes_text_vanish(sentence: str, requested: str, language: str) -> None:
    assert read(sentence, requested=requested) == [[(sentence, language)]]


def test_the_main_language_is_chinese_when_english_names_are_in_it() -> None:
    (reading,) = read_languages(["他的 iPhone 没电了，Wi-Fi 也断了。"], None, LANGUAGES)
    assert reading.language == "zh"


@pytest.mark.parametrize(
    ("code", "expected"), [("auto", None), ("", None), ("zh-CN", "zh"), ("EN_us", "en"), ("ja", "ja"), ("cmn", "zh")]
)
def test_language_codes(code: str, expected: str | None) -> None:
    assert requested_language(code, LANGUAGES) == expected


def test_cantonese_goes_to_the_engine_that_speaks_it() -> None:
    (reading,) = read_languages(["我哋喺香港"], None, LANGUAGES | {"yue"})
    assert reading.language == "yue"
    with pytest.raises(UnsupportedLanguage):
        read_languages(["我哋喺香港"], None, LANGUAGES)
