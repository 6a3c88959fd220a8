"""Golden readings: these change only on purpose, and then with the ear."""

import logging
import re
from collections.abc import Callable

import pytest

from cosyvoice_web.engines.kokoro.english import EnglishReader
from cosyvoice_web.engines.kokoro.phonemes import Phonemizer, folded, segments
from cosyvoice_web.engines.kokoro.vocabulary import vocabulary
from cosyvoice_web.errors import InvalidRequest, NoSpeechProduced
from cosyvoice_web.text.prepare import prepare_text
from cosyvoice_web.text.sentences import Run
from tests.engines.kokoro.conftest import sentence_of

PhonemesOf = Callable[..., str]


@pytest.mark.parametrize(
    ("text", "phonemes"),
    [
        ("你好，世界！", "ni↓xau↓, ʂɨ↘ʨje↘!"),
        # one character, two readings, told apart by the word
        ("银行行长", "i↗nxa↗ŋxa↗ŋꭧa↓ŋ"),
        ("音乐厅，快乐。", "i→nɥe↘tʰi→ŋ, kʰwai↘lɤ↘."),
        ("重新，重要。", "ꭧʰʊ↗ŋɕi→n, ꭧʊ↘ŋjau↘."),
        ("人々", "ɻə↗nɻə↗n"),
        ("“好”（对）……《书》", "“xau↓” (twei↘)… “ʂu→”"),
        ("3天", "sa→ntʰjɛ→n"),
        ("𠮷野家", "ʨi↗je↓ʨja→"),
    ],
)
def test_mandarin(phonemes_of: PhonemesOf, text: str, phonemes: str) -> None:
    assert phonemes_of((text, "zh")) == phonemes


@pytest.mark.parametrize(
    ("text", "phonemes"),
    [
        ("Test 1.5", "tˈɛst wˈʌn pYnt fˈIv"),
        (
            "Do I know what time it is? No. I left my watch.",
            "dˈu ˌI nˈO wˌʌt tˈIm ɪt ɪz? nˈO. ˌI lˈɛft mI wˈɑʧ.",
        ),
        ("No, it wasn't.", "nˈO, ɪt wˈʌzᵊnt."),
        ("I read it, and I will read it.", "ˌI ɹˈɛd ɪt, ænd ˌI wɪl ɹˈid ɪt."),
        ("The API, NASA and STOP.", "ði ˈA pˈi ˈI, nˈæsə ænd stˈɑp."),
        ("JSON, GitHub.", "ʤˈAsᵊn, ɡˈɪthˌʌb."),
        ("café", "kæfˈA"),
        ("x", "ˈɛks"),
    ],
)
def test_english(phonemes_of: PhonemesOf, text: str, phonemes: str) -> None:
    assert phonemes_of((text, "en")) == phonemes


@pytest.mark.parametrize("word", ["wasn't", "I'm", "it's", "doesn't", "they'll"])
def test_typographic_apostrophes_change_nothing(phonemes_of: PhonemesOf, word: str) -> None:
    assert phonemes_of((word.replace("'", "’"), "en")) == phonemes_of((word, "en"))


@pytest.mark.parametrize(
    ("text", "phonemes"),
    [
        ("こんにちは。", "koɲɲiʨiβa."),
        ("今日は、いい天気…そうだね！", "kʲoː βa, ii teŋkʲi… soːda ne!"),
        ("東京駅（新宿）", "toːkʲoː ekʲi (ɕiɲʥɨkɯ)"),
        ("学校", "ɡaʔkoː"),
        ("ｶﾞｷﾞ", "ɡaɡʲi"),
        ("ぁ", "a"),
        ("你", "ʥi"),
    ],
)
def test_japanese(phonemes_of: PhonemesOf, text: str, phonemes: str) -> None:
    assert phonemes_of((text, "ja")) == phonemes


def test_a_sentence_of_three_languages(phonemes_of: PhonemesOf) -> None:
    assert phonemes_of(("我用 ", "zh"), ("Python", "en"), (" 写，", "zh"), ("はい", "ja"), ("。", "zh")) == (
        "wo↓jʊ↘ŋ pˈIθˌɑn ɕje↓, hai."
    )


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("我有iPhone3和の", "zh", [("我有", "zh"), ("iPhone3", "en"), ("和", "zh"), ("の", "ja")]),
        ("3人はOK。", "ja", [("3人は", "ja"), ("OK.", "en")]),
        ("漢字 is kanji", "en", [("漢字 ", "zh"), ("is kanji", "en")]),
        ("α", "zh", [(" alpha ", "en")]),
        ("Жук", "en", [(" zhe  u  ka ", "en")]),
    ],
)
def test_every_script_goes_to_its_reader(text: str, language: str, expected: list[tuple[str, str]]) -> None:
    assert segments(Run(text, language)) == expected


def test_compatibility_forms_are_folded() -> None:
    assert folded("ＡＢＣ，①②ｶﾞ…") == "ABC,12ガ…"


@pytest.mark.parametrize("text", ["。", "！？", "—", "()", "ー"])
def test_marks_alone_are_not_spoken(phonemes_of: PhonemesOf, text: str) -> None:
    with pytest.raises(NoSpeechProduced):
        phonemes_of((text, "zh"))


@pytest.mark.parametrize(("text", "language"), [("这个嗧字", "zh"), ("𪛖", "zh"), ("々", "ja")])
def test_a_character_without_a_reading_is_an_error_that_names_it_by_number(
    phonemes_of: PhonemesOf, text: str, language: str
) -> None:
    with pytest.raises(InvalidRequest, match=r"U\+[0-9A-F]{4,5}:") as caught:
        phonemes_of((text, language))
    assert caught.value.field == "text"
    assert not set(text) & set(str(caught.value))


def test_phonemes_cannot_be_smuggled_in(phonemes_of: PhonemesOf) -> None:
    assert "zzz" not in phonemes_of(("see [this](/zzz/)", "en"))


@pytest.mark.parametrize(
    ("text", "language", "least"),
    [
        ("天" * 1_500, "zh", 1_500 * 5),
        ("今日は天気がいいので公園を散歩しましょう" * 75, "ja", 75 * 35),
        ("the quick brown fox " * 75, "en", 75 * 15),
        ("x" * 300, "en", 300),
        ("7" * 300, "en", 300 * 4),
    ],
)
def test_no_length_is_cut(phonemes_of: PhonemesOf, text: str, language: str, least: int) -> None:
    assert len(phonemes_of((text, language))) >= least


@pytest.mark.parametrize(("unit", "language"), [("天", "zh"), ("いい天気", "ja"), ("fox ", "en")])
def test_twice_the_text_is_twice_the_phonemes(phonemes_of: PhonemesOf, unit: str, language: str) -> None:
    once, twice = (re.sub(r"\s", "", phonemes_of((unit * count, language))) for count in (300, 600))
    assert len(twice) == pytest.approx(2 * len(once), rel=0.01)


@pytest.mark.parametrize(
    "text",
    [
        "2024年3月15日，会议在上午9:30开始，预计有1,250人参加，打8折，便宜20%。",
        "The shirt costs $128.50, but today it is 20% off; e-mail me@example.com, or C++ & C#…",
        "この服は1,280円ですが、今日は20%引きです。「Python」で（書く）～",
        "你好 hello こんにちは ①②③ ½ α “ok” — 😀",
    ],
)
def test_whatever_the_text_room_hands_over_is_in_the_vocabulary(phonemizer: Phonemizer, text: str) -> None:
    for sentence in prepare_text(text, "auto", frozenset(("zh", "en", "ja"))):
        assert set(phonemizer.phonemes(sentence)) <= vocabulary().keys()


def test_the_text_is_not_logged(phonemizer: Phonemizer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        phonemizer.phonemes(sentence_of(("秘密 * 文字 ^", "zh")))
    assert "left out" in caplog.text
    assert "秘密" not in caplog.text


def test_english_is_read_as_by_the_package_itself() -> None:
    from hibari.g2p import G2P

    text = "The quick brown fox will record a record, though zorblax refuses; she's read the refuse bill twice."
    assert EnglishReader().read(text) == (G2P()(text, normalize_text=False), ())
