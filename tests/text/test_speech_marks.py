# ruff: noqa: E501 - tables of texts
import re
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosyvoice_web.errors import NothingToSpeak
from cosyvoice_web.text.characters import is_speakable, units
from cosyvoice_web.text.prepare import prepare_text

LANGUAGES = frozenset(("zh", "en", "ja", "ko", "yue"))
MARK = re.compile(r"</?(?:strong|laughter)>|\[(?:laughter|breath)\]")
PAIR = re.compile(r"<(strong|laughter)>(?:(?!</?\1>).)*\w(?:(?!</?\1>).)*</\1>", re.DOTALL)


def spoken(text: str, *, keep: bool, max_units: int = 80) -> list[str]:
    return [s.spoken for s in prepare_text(text, "auto", LANGUAGES, max_units=max_units, keep_speech_marks=keep)]


EXAMPLES = {
    "published_strong": ("他展现了非凡的<strong>勇气</strong>与<strong>智慧</strong>。", "他展现了非凡的<strong>勇气</strong>与<strong>智慧</strong>。",
                         "他展现了非凡的勇气与智慧。"),
    "in_english": ("I <strong>love</strong> you[breath] so much.", "I <strong>love</strong> you[breath] so much.",
                   "I love you so much."),
    "a_full_stop_comes_last": ("他也被逗笑了[laughter]", "他也被逗笑了[laughter]。", "他也被逗笑了。"),
    "and_moves_behind_marks": ("<laughter>真的吗？</laughter>", "<laughter>真的吗</laughter>？", "真的吗？"),
    "first": ("[breath]今天很好。", "[breath]今天很好。", "今天很好。"),
    "numbers_inside": ("一共<strong>3</strong>天，<laughter>20%</laughter>！", "一共<strong>三</strong>天，<laughter>百分之二十</laughter>！",
                       "一共三天，百分之二十！"),
    "two_languages": ("你好<laughter>my friend</laughter>", "你好<laughter>my friend</laughter>.", "你好my friend."),
    "nested": ("<laughter>哈<strong>哈</strong></laughter>好", "<laughter>哈<strong>哈</strong></laughter>好。", "哈哈好。"),
    "capitals": ("<STRONG>好</STRONG>[Breath]的", "<strong>好</strong>[breath]的。", "好的。"),
    "not_closed": ("<laughter>哈哈", "哈哈。", "哈哈。"),
    "not_opened": ("哈哈</strong>好", "哈哈好。", "哈哈好。"),
    "crossing": ("<laughter>哈<strong>哈</laughter>好</strong>的", "<laughter>哈哈</laughter>好的。", "哈哈好的。"),
    "empty": ("<strong></strong>好<laughter>，</laughter>的", "好，的。", "好，的。"),
    "other_brackets_are_text": ("[cough] hello", "cough hello.", "cough hello."),
    "a_link_is_a_link": ("see [breath](https://e.com) now", "see breath now.", "see breath now."),
    "in_a_comment": ("<!-- <strong> -->好</strong>", "好。", "好。"),
    "in_markdown": ("**<strong>好</strong>** *[laughter]*的", "<strong>好</strong> [laughter]的。", "好 的。"),
    "only_kept_apart_by_it": ("hello[laughter]world", "hello[laughter]world.", "hello world."),
    "private_characters_are_no_marks": ("a\ue004b &#xE004; c", "a b c.", "a b c."),
}  # fmt: skip


@pytest.mark.parametrize(("text", "kept", "removed"), EXAMPLES.values(), ids=EXAMPLES.keys())
def test_marks_are_kept_or_removed(text: str, kept: str, removed: str) -> None:
    assert spoken(text, keep=True) == [kept]
    assert spoken(text, keep=False) == [removed]


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("text", ["[laughter]", "[breath] [laughter]!", "<laughter></laughter>", "<strong>。</strong>"])
def test_marks_alone_are_nothing_to_speak(text: str, keep: bool) -> None:
    with pytest.raises(NothingToSpeak):
        spoken(text, keep=keep)


def test_a_pair_over_two_sentences_stays_whole_where_it_fits() -> None:
    text = "今天是个好天气。<laughter>哈哈哈哈哈。真的是太好笑了！</laughter>我们明天再说吧。"
    kept = spoken(text, keep=True)
    assert len(kept) == 2
    assert "<laughter>哈哈哈哈哈。真的是太好笑了！</laughter>" in kept[1]
    assert len(spoken(text, keep=False)) == 4


def test_a_pair_that_is_too_long_is_closed_and_opened_again_in_every_sentence() -> None:
    clauses = [f"今天天气第{number}次这么好" for number in "一二三四五六七八九"]
    kept = spoken("好的，<laughter>" + "。".join(clauses) + "。</laughter>就这样吧。", keep=True)
    assert kept[0] == f"好的，<laughter>{clauses[0]}</laughter>。"
    assert kept[1:-1] == [f"<laughter>{clause}</laughter>。" for clause in clauses[1:]]
    assert kept[-1] == "就这样吧。"


def test_a_long_sentence_is_cut_before_a_pair_and_not_in_it() -> None:
    text = "我" * 30 + "<strong>" + "你" * 20 + "</strong>" + "他" * 30
    kept = spoken(text, keep=True, max_units=40)
    assert kept == ["我" * 30 + "。", "<strong>" + "你" * 20 + "</strong>。", "他" * 30 + "。"]


def test_a_mark_on_a_line_of_its_own_belongs_to_the_line_before() -> None:
    assert spoken("今天很好。\n[laughter]\n明天也是。", keep=True) == ["今天很好[laughter]。", "明天也是。"]


PIECES = st.sampled_from(
    ["<strong>", "</strong>", "<laughter>", "</laughter>", "[laughter]", "[breath]", *"我你好，。！？ \n.,!\"'aé1»", "word", "3.14",
     "<b>", "[a](b)", "**", "&lt;", "今天天气很好"]
)  # fmt: skip


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PIECES, max_size=60).map("".join), st.sampled_from((80, 20, 5)))
def test_every_sentence_holds_whole_marks_and_whole_pairs(text: str, max_units: int) -> None:
    try:
        kept = prepare_text(text, "auto", LANGUAGES, max_units=max_units, keep_speech_marks=True)
    except NothingToSpeak:
        with pytest.raises(NothingToSpeak):
            spoken(text, keep=False, max_units=max_units)
        return
    assert [c for s in kept for c in s.text if is_speakable(c)] == [c for c in text if is_speakable(c)]
    for one, other in pairwise(kept):
        assert one.end <= other.start
    for sentence in kept:
        bare = sentence.spoken
        while (fewer := PAIR.sub(lambda pair: re.sub(r"^<\w+>|</\w+>$", "", pair.group()), bare)) != bare:
            bare = fewer
        bare = re.sub(r"\[(?:laughter|breath)\]", "", bare)
        assert not set(bare) & set("<>[]")
        assert sentence.spoken[-1] in "。！？.!?"
        assert sum(map(units, bare)) <= 4 * max_units


@settings(max_examples=100, deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_without_marks_both_ways_agree(text: str) -> None:
    text = MARK.sub("", text)
    answers = []
    for keep in (False, True):
        try:
            answers.append(spoken(text, keep=keep))
        except NothingToSpeak:
            answers.append([])
    assert answers[0] == answers[1]


def test_hostile_nesting_takes_linear_time() -> None:
    text = "<strong><laughter>" * 3000 + "好" + "</strong>" * 3000 + "[breath]" * 3000
    assert spoken(text, keep=True)
