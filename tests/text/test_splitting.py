from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosyvoice_web.text.characters import is_speakable, units
from cosyvoice_web.text.splitting import SHORT_UNITS, split


def parts(text: str, max_units: float = 80) -> list[str]:
    return [text[start:end] for start, end in split(text, max_units)]


SENTENCES = [
    ["今天天气很好。", "我们去公园吧！", "你觉得怎么样？", "我准备好了；", "那就马上出发……", "不要再等了。"],
    ["This is fine. ", "What about that? ", "Nothing at all!"],
    ["The value is 3.14 and 1,250.75 in total. ", "That was everything."],
    ["Dr. Smith met Mrs. Jones vs. Mr. Brown. ", "They talked for hours."],
    ["Fruit, e.g. apples, i.e. food, is good. ", "Everybody likes fruit."],
    ["The U.S. Army came at 9:30 a.m. on Monday. ", "It left again later."],
    ["It began at 9:30 a.m. ", "The rest is history."],
    ["We sell apples, pears, etc. ", "They are very cheap."],
    ["We sell apples etc. and also pears. ", "They are very cheap."],
    ["Do I know what time it is? ", "No. I left my watch."],
    ["No. 5 is the best of them. ", "Number six is worse."],
    ["J. K. Rowling wrote it herself. ", "And nobody else but I. ", "He read every book."],
    ["See https://example.com/a.b?c=1. ", "Then come back again."],
    ["See www.example.com/?q=a!b now. ", "Write to a.b@example.com please."],
    ["他说：“我们走吧。”", "她没有回答他的话。"],
    ["「こんにちは。」", "と彼は言いました。"],
    ['He said "Let us go now." ', '"Not without me." ', "And so they stayed."],
    ["第一行没有标点\n", "第二行也没有标点\n", "第三行还是没有"],
    ["1. Open the first file\n", "2. Close the second file"],
    ["1.首先打开那个文件。", "2.然后再关闭它。"],
    ["今天是星期一.", "明天是星期二."],
    ["What a day!!! ", "Is that really so?! ", "It certainly is."],
]


@pytest.mark.parametrize("sentences", SENTENCES, ids=lambda sentences: ascii(sentences[0]))
def test_sentence_boundaries(sentences: list[str]) -> None:
    assert [part.strip() for part in parts("".join(sentences))] == [sentence.strip() for sentence in sentences]


def test_a_long_sentence_is_cut_at_a_comma_first() -> None:
    text = "我们今天要一起去公园里散步，" * 10
    assert all(part.endswith("，") for part in parts(text))


def test_a_long_sentence_without_commas_is_cut_at_a_space() -> None:
    assert all(part.endswith("word ") for part in parts("word " * 400))


def test_a_comma_inside_a_number_is_no_place_to_cut() -> None:
    assert any("1,250,000" in part for part in parts("a" * 90 + " 1,250,000 " + "b" * 90, 40))


def test_a_long_first_sentence_is_cut_early_for_early_audio() -> None:
    first, *_ = parts("今天的天气预报说，傍晚会有一场很大的雷阵雨，请大家出门的时候一定要记得带上一把雨伞。")
    assert first == "今天的天气预报说，"


def test_short_sentences_are_spoken_together() -> None:
    assert parts("今天是个好日子。好。是。我们现在就出发吧。") == ["今天是个好日子。", "好。是。我们现在就出发吧。"]


@given(
    st.lists(st.sampled_from([*'我あ가aé1，。, .!\n"”-', "word", "3.14", "Dr. "]), min_size=1, max_size=200).map(
        "".join
    ),
    st.sampled_from((5.0, 20.0, 80.0)),
)
def test_pieces_tile_the_text_and_keep_the_limit(text: str, max_units: float) -> None:
    pieces = split(text, max_units)
    if not any(map(is_speakable, text)):
        assert pieces == []
        return
    assert pieces[0].start == 0
    assert pieces[-1].end == len(text)
    assert all(before.end == after.start for before, after in pairwise(pieces))
    for start, end in pieces:
        speakable = [char for char in text[start:end] if is_speakable(char)]
        assert speakable
        assert sum(map(units, speakable)) <= max_units + 1


def test_no_tail_is_left_alone() -> None:
    for length in range(81, 165):
        assert all(sum(map(units, part)) >= SHORT_UNITS for part in parts("我" * length))
