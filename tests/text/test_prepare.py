# ruff: noqa: E501 - tables of texts
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosyvoice_web.errors import NothingToSpeak, UnsupportedLanguage
from cosyvoice_web.text.characters import is_speakable
from cosyvoice_web.text.prepare import prepare_text
from cosyvoice_web.text.sentences import Sentence

LANGUAGES = frozenset(("zh", "en", "ja"))


def prepare(text: str, language: str = "auto", max_units: int = 80) -> tuple[Sentence, ...]:
    return prepare_text(text, language, LANGUAGES, max_units=max_units)


def spoken(text: str, language: str = "auto") -> str:
    return "".join(sentence.spoken for sentence in prepare(text, language))


def runs(text: str, language: str = "auto") -> list[tuple[str, str]]:
    return [(run.language, run.text) for sentence in prepare(text, language) for run in sentence.runs]


def test_the_sentence_of_the_page() -> None:
    sentences = prepare("你好，欢迎使用。Hello, and welcome. こんにちは。")
    assert [(s.text, s.start, s.end, s.language) for s in sentences] == [
        ("你好，欢迎使用。", 0, 8, "zh"),
        ("Hello, and welcome.", 8, 27, "en"),
        ("こんにちは。", 28, 34, "ja"),
    ]


NOTHING = ["", "   ", "\n\n", "。。。", "! ! !", "...", "……", '"', "❤️", "👍🏽", "👨‍👩‍👧‍👦", "😀 🎉", "\u200b", "\ufeff\u200d\ufe0f", "——", "<b></b>",
           "**", "ー", "$%&", "™", "ℹ️"]  # fmt: skip


@pytest.mark.parametrize("text", NOTHING, ids=ascii)
def test_field_report_A1_B14_nothing_speakable_is_refused(text: str) -> None:
    with pytest.raises(NothingToSpeak):
        prepare(text)


def test_field_report_A1_is_refused_before_a_grammar_is_loaded() -> None:
    code = """
import sys
from cosyvoice_web.errors import NothingToSpeak
from cosyvoice_web.text.prepare import prepare_text
for text in ("。。。", "! ! !", "\\u2764\\ufe0f", "\\u200b", "   "):
    try:
        prepare_text(text, "auto", frozenset(("zh", "en", "ja")))
    except NothingToSpeak:
        continue
    sys.exit("spoken")
print(sorted({"wetext", "kaldifst", "hibari", "numpy"} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_field_report_A22_grammars_need_no_network_and_write_nothing(tmp_path: Path) -> None:
    code = """
import socket, sys
def refuse(*_, **__):
    raise AssertionError("network")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
written = []
def audit(event, arguments):
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        written.append(arguments[0])
sys.dont_write_bytecode = True
sys.addaudithook(audit)
from cosyvoice_web.text.prepare import prepare_text
said = [s.spoken for s in prepare_text("3天。3 days, 5 km. 3日です。", "auto", frozenset(("zh", "en", "ja")))]
assert written == [], written
assert not any(c.isdigit() for c in "".join(said)), said
"""
    environment = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    assert list(tmp_path.iterdir()) == []


SPOKEN = {
    # what EMBEDDED default voice was measured with
    "zh_date": ("2024年3月15日，会议在上午9:30开始，预计有1,250人参加。",
                "二零二四年三月十五日，会议在上午九点三十分开始，预计有一千二百五十人参加。"),
    "zh_money": ("这件衣服原价￥128.50，现在打八折，便宜了20%。", "这件衣服原价一百二十八点五零元，现在打八折，便宜了百分之二十。"),
    "zh_mobile": ("他的电话是13812345678，有事请给他打电话😀！", "他的电话是幺三八幺二三四五六七八，有事请给他打电话！"),
    "zh_polyphones": ("银行行长重新走进了音乐厅，觉得很快乐。", "银行行长重新走进了音乐厅，觉得很快乐。"),
    "zh_temperature": ("今天最低气温-5℃，最高气温12℃，请注意保暖。",
                       "今天最低气温负五摄氏度，最高气温十二摄氏度，请注意保暖。"),
    "en_date": ("On March 15, 2024, at 9:30 a.m., 1,250 people attended.",
                "On March fifteenth, twenty twenty-four, at nine thirty A.M., one thousand two hundred fifty people "
                "attended."),
    "en_money": ("The shirt costs $128.50, but today it is 20% off.",
                 "The shirt costs one hundred twenty-eight dollars and fifty cents, but today it is twenty percent off."),
    "en_street": ("Dr. Smith lives at 123 Main Street, near the river.",
                  "Dr Smith lives at one hundred twenty-three Main Street, near the river."),
    "en_temperature": ("The temperature is -5°C, so please keep warm 😀!",
                       "The temperature is minus five degrees Celsius, so please keep warm!"),
    "en_version": ("The API returns JSON over HTTP, and Python 3.11 parses it.",
                   "The API returns JSON over HTTP, and Python three point one one parses it."),
    "ja_date": ("2024年3月15日の午前9時30分に会議が始まります。", "二千二十四年三月十五日の午前九時三十分に会議が始まります。"),
    "ja_money": ("この服は1,280円ですが、今日は20%引きです。", "この服は千二百八十円ですが、今日は二十パーセント引きです。"),
    "ja_telephone": ("電話番号は03-1234-5678です。", "電話番号はゼロサンのイチニーサンヨンのゴーロクナナハチです。"),
    "ja_temperature": ("今日の最低気温は-5℃で、最高気温は12℃です😀！", "今日の最低気温はマイナス五度で、最高気温は十二度です！"),
    "ja_counters": ("3人の学生がりんごを6個買いました。", "三人の学生がりんごを六個買いました。"),
    "ja_full_width": ("２０２４年は１２月。", "二千二十四年は十二月。"),
    # field reports
    "field_report_A2_ellipsis": ("少爷你听话，你不能出去，让他去吧……", "少爷你听话，你不能出去，让他去吧。"),
    "field_report_A2_no_stop": ("一万年", "一万年。"),
    "field_report_A3": ("各种问题、创作文字", "各种问题，创作文字。"),
    "field_report_A8": ("705A and 121B or E100", "seven oh five A and one twenty-one B or E one hundred."),
    "field_report_A9": ("10 hoch 7 ist natürlich", "ten hoch seven ist natürlich."),
    "field_report_A10_erhua": ("笑容如花儿般绽放", "笑容如花儿般绽放。"),
    "field_report_A10_interjection": ("呃，我记错了，对不起", "呃，我记错了，对不起。"),
    "field_report_A10_interjection_2": ("啊？这也行啊，醉了醉了。", "啊？这也行啊，醉了醉了。"),
    "field_report_A11_capitals": ("欢迎收看HI FOUR T发布会", "欢迎收看hi four T发布会。"),
    "field_report_A11_letter": ("用i是一款", "用i是一款。"),
    "field_report_A12": ("訇訇地响", "訇訇地响。"),
    "field_report_A25": ("1次", "一次。"),
    "field_report_A26_invisible": ("今\u200b天\ufe0f\u202e好\x07。", "今天好。"),
    "field_report_B4": ("Test 1.5", "Test one point five."),
    "field_report_B6": ("No, it wasn’t. I’m sure it doesn’t.", "No, it wasn't.I'm sure it doesn't."),
    "field_report_B7_money": ("$5.3 billion, and $100 after 9:30PM", "five point three billion dollars, and one hundred "
                              "dollars after nine thirty P.M."),
    "field_report_B7_euro": ("1k or €1,000.50 it is", "one thousand or one thousand euros and fifty cents it is."),
    "field_report_B14_tag": ("[pause:1s] hello", "pause:one s hello."),
    "field_report_B15_emphasis": ("You *shouldn't* panic", "You shouldn't panic."),
    "field_report_B15_heading": ("### Example Heading\nHere is a paragraph.", "Example Heading.Here is a paragraph."),
    "field_report_B15_link": ("See [the docs](https://example.com/a_b) now.", "See the docs now."),
    "field_report_special_tokens": ("<|endoftext|>你好<|zh|>。", "endoftext 你好 zh."),
    "field_report_digits": ("x² ① １２", "x squared one, twelve."),
    # signs, codes and addresses
    "address_in_chinese": ("看www.example.com吧", "看www dot example dot com吧。"),
    "email": ("Write to me@example.com.", "Write to me at example dot com."),
    "greek": ("π ≈ 3.14 and α+β", "pi is about three point one four and alpha plus beta."),
    "single_foreign_letter": ("Ж is a letter", "zhe is a letter."),
    "micro": ("It is 5 µm or 5μm wide", "It is five micrometers or five micrometers wide."),
    "mixed_units": ("120mmHg和5ml，速度60km/h", "一百二十毫米汞柱和五毫升，速度六十公里每小时。"),
    "range_zh": ("需要3-5天，20~25℃", "需要三到五天，二十到二十五摄氏度。"),
    "range_ja": ("5〜10人です", "五から十人です。"),
    "range_en": ("It takes 3-5 days and 10–20% more", "It takes three to five days and ten to twenty percent more."),
    "telephone_zh": ("请拨打010-62345678", "请拨打零幺零，六二三四五六七八。"),
    "long_number_zh": ("QQ号123456789", "QQ号一二三四五六七八九。"),
    "html": ("<p>Hello <b>world</b></p><script>x(1)</script>", "Hello world."),
    "entity": ("你好&nbsp;再见", "你好 再见。"),
    "table": ("| a | b |\n|---|---|\n| one | two |", "a, b.one, two."),
    "styled_letters": ("𝐇𝐞𝐥𝐥𝐨 Ｗｏｒｌｄ", "Hello World."),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SPOKEN.values(), ids=SPOKEN.keys())
def test_spoken(text: str, expected: str) -> None:
    assert spoken(text) == expected


GOLDEN = """\
今天天气很好，我们一起去公园散步吧。
火车将于早上八点二十分从北京南站出发，请各位旅客提前检票。
The quick brown fox jumps over the lazy dog near the river bank.
I would like a cup of coffee with milk, but no sugar, thank you.
今日は天気がいいので、公園を散歩しましょう。
電車は朝八時二十分に東京駅を出発します。
曾经有一位长者，他的头发又长又白，还在不断地长。
"""


@pytest.mark.parametrize("text", GOLDEN.splitlines())
def test_text_without_numbers_is_spoken_as_it_is(text: str) -> None:
    assert spoken(text) == text


def test_field_report_A4_every_clause_is_spoken_and_ends_in_a_full_stop() -> None:
    text = "今天好运气，老狼请吃鸡；遇到小白兔，路边买瓶醋；转弯有匹马，看着就很傻；天空飘来五个字，哈哈哈哈哈；"
    said = [sentence.spoken for sentence in prepare(text)]
    assert said == [clause + "。" for clause in text.split("；")[:-1]]


def test_field_report_A5_every_line_of_lyrics_is_a_sentence() -> None:
    lines = [f"风吹过山谷的第{'一二三四五六七八'[i % 8]}个夜晚" for i in range(40)]
    assert [sentence.text for sentence in prepare("\n".join(lines))] == lines


@pytest.mark.parametrize("text", ["我" * 200, "今天我们" * 75, "今天，" * 100, "word " * 85, "x" * 425])
def test_field_report_A5_B8_long_text_without_punctuation_is_spoken_whole(text: str) -> None:
    sentences = prepare(text)
    assert len(sentences) > 1
    letters = [char for sentence in sentences for char in sentence.spoken if char.isalpha()]
    assert letters == [char for char in text if char.isalpha()]


def test_field_report_B5_chinese_is_read_by_chinese_rules() -> None:
    assert runs("使用语音合成引擎") == [("zh", "使用语音合成引擎。")]
    assert runs("こんにちは") == [("ja", "こんにちは。")]


def test_field_report_B26_lone_surrogates_do_not_reach_an_engine() -> None:
    assert spoken("\ud800abc\udfff") == "abc."


@pytest.mark.parametrize(
    ("text", "name"),
    [("안녕하세요", "Korean (ko)"), ("Привет, мир", "Russian (ru)"), ("مرحبا", "Arabic (ar)"), ("สวัสดีครับ", "Thai (th)"),
     ("नमस्ते", "Hindi (hi)"), ("Καλημέρα", "Greek (el)"), ("我哋喺香港", "Cantonese (yue)"), ("Hello 안녕", "Korean (ko)"),
     ("Я", "Russian (ru)")],
)  # fmt: skip
def test_a_language_the_engine_lacks_is_named(text: str, name: str) -> None:
    with pytest.raises(UnsupportedLanguage) as caught:
        prepare(text)
    assert caught.value.language == name
    assert caught.value.available == ("Chinese (zh)", "English (en)", "Japanese (ja)")
    assert caught.value.field == "text"


@pytest.mark.parametrize("language", ["de", "xx", "ko", "chinese"])
def test_an_unknown_language_code_is_the_language_field(language: str) -> None:
    with pytest.raises(UnsupportedLanguage) as caught:
        prepare("你好", language)
    assert caught.value.field == "language"


def test_an_engine_with_korean_reads_korean() -> None:
    said = prepare_text("3월 15일, 1,250명.", "auto", LANGUAGES | {"ko"})
    assert "".join(sentence.spoken for sentence in said) == "삼월 십오일, 천이백오십명."


PIECES = st.sampled_from(
    [*"我你她这是的了在東京気人年点元块个あいうカタのです。，！？；：、…“”「」()<>|*_`~#&@%+-=/.,!?;:'\" \n\t0123456789２①²½℃￥$aBÉü😀ー々™©",
     "\u200b", "\ufe0f", "\u0301", " μ", " π ", "Dr. ", "e.g. ", "U.S. ", "3.14", "1,250", "https://a.com/b?c=1", "me@x.com", "9:30",
     "2024-03-15", "-5℃", "20%", "5kg", "<b>", "</b>", "<script>", "</script>", "<!--", "-->", "&amp;", "&lt;", "```py\n",
     "**", "# ", "- ", "[a](b)", "<|", "|>", "$5.3 billion", "705A", "Hello", "今天", "こんにちは", "天気", "1/2", "C++",
     "03-1234-5678", "Chapter IV"]
)  # fmt: skip
LIMITS = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@LIMITS
@given(
    st.lists(PIECES, max_size=60).map("".join),
    st.sampled_from(("auto", "zh", "en", "ja")),
    st.sampled_from((80, 20, 5)),
)
def test_nothing_is_lost_whatever_is_sent(text: str, language: str, max_units: int) -> None:
    try:
        sentences = prepare(text, language, max_units)
    except NothingToSpeak:
        return
    position = 0
    for sentence in sentences:
        assert position <= sentence.start < sentence.end
        assert text[sentence.start : sentence.end] == sentence.text
        position = sentence.end
        assert sentence.spoken[-1] in "。！？.!?"
        assert all(run.text.strip() and run.language in LANGUAGES for run in sentence.runs)
        assert not any(char.isdigit() or char in "<>|" for char in sentence.spoken)
        assert any(map(is_speakable, sentence.spoken))
    slices = [char for sentence in sentences for char in sentence.text if is_speakable(char)]
    assert slices == [char for char in text if is_speakable(char)]


WORDS = st.sampled_from(
    [
        "花儿",
        "呃",
        "啊",
        "我喜欢",
        "東京駅",
        "天気",
        "こんにちは",
        "カタカナ",
        "café",
        "natürlich",
        "naïve",
        "Hello",
        "well",
        "她",
        "訇訇地",
    ]
)
MARKS_BETWEEN = st.sampled_from(["", " ", "，", "。", "、", "！", ", ", ". ", "? ", "\n", "……", "😀"])


@LIMITS
@given(st.lists(st.tuples(WORDS, MARKS_BETWEEN), min_size=1, max_size=40), st.sampled_from(("auto", "zh", "en", "ja")))
def test_every_letter_is_spoken(words: list[tuple[str, str]], language: str) -> None:
    text = "".join(word + mark for word, mark in words)
    said = [char for sentence in prepare(text, language, 30) for char in sentence.spoken if char.isalpha()]
    assert said == [char for char in text if char.isalpha()]
