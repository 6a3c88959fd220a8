"""From a run in one language to the words that its reader says. May rewrite, never drops a letter or a digit."""

import re
import unicodedata
from functools import cache

from cosyvoice_web.text import characters
from cosyvoice_web.text.addresses import ADDRESS_PATTERN, spoken_address
from cosyvoice_web.text.chinese import read_chinese
from cosyvoice_web.text.english import read_english
from cosyvoice_web.text.japanese import read_japanese
from cosyvoice_web.text.korean import read_korean
from cosyvoice_web.text.languages import unicode_letter_name

WIDE = frozenset(("zh", "yue", "ja"))
"""Languages with full-width punctuation."""

TERMINALS = "。！？.!?"
_LINE_BREAK = re.compile(r"[ ]*\n[\s]*")
_SPACES = re.compile(r"[ \t\n]+")
_SPACE_BEFORE_MARK = re.compile(r"[ ]+(?=[,.;:!?，。；：！？、])")
_ENUMERATED = re.compile(r"[\u2460-\u24ff\u2776-\u2793\u3251-\u325f\u32b1-\u32bf]")
_VULGAR = re.compile(r"(?<=\d)(?=[\u2150-\u215f])")
_WIDE_MARKS = {"!": "！", "?": "？", ";": "；", ":": "：", ",": "，", "(": "（", ")": "）"}
_WIDE_MARK = re.compile(r"[!?;:,()][ ]?")
_WIDE_STOP = re.compile(r"(?<![A-Za-z0-9.])\.(?![A-Za-z0-9.])")
_NARROW = str.maketrans(
    {
        "！": "! ",
        "？": "? ",
        "；": "; ",
        "：": ": ",
        "，": ", ",
        "。": ". ",
        "、": ", ",
        "（": "(",
        "）": ")",
        "【": "(",
        "】": ")",
    }
    | {
        "「": '"',
        "」": '"',
        "『": '"',
        "』": '"',
        "《": '"',
        "》": '"',
        "〈": '"',
        "〉": '"',
        "～": "~",
        "·": " ",
        "・": " ",
    }
)
_KEPT_WIDE = frozenset("，。！？；：、“”‘’「」『』《》〈〉（）【】…·・'\"-—〜～ ")
_KEPT_NARROW = frozenset(",.!?;:'\"()-—… ")
_DASH = re.compile(r"[ ]?(?:[—–―─]+|--+)[ ]?")
_TRAILING = re.compile(r"[\s,，、:：;；\-—–~～〜…·・/&+*=]+$")


def normalize(text: str, language: str) -> str:
    """What is spoken for one run: no digits, no signs but punctuation in the language's own forms.

    Blanks at the ends of the run stay, one at most. `language` is "zh", "yue", "ja", "ko" or "en"; others are read with
    the English rules.
    """
    text = _foreign_letters(_compatibility_folded(_joined_lines(text, language)))
    if language in ("zh", "yue"):
        text = read_chinese(_addresses(text))
    elif language == "ja":
        text = read_japanese(_addresses(text))
    elif language == "ko":
        text = read_korean(_addresses(text))
    else:
        text = read_english(text.translate(_NARROW))
    text = _wide_marks(text, language) if language in WIDE else text.translate(_NARROW)
    kept = _KEPT_WIDE if language in WIDE else _KEPT_NARROW
    text = "".join(char if char in kept or _is_word_character(char) else " " for char in text)
    return _SPACE_BEFORE_MARK.sub("", _SPACES.sub(" ", text))


def terminated(text: str, language: str) -> str:
    """The last run of a sentence with a full stop, an exclamation or a question mark as its last character."""
    stop = "。" if language in WIDE else "."
    body = text.rstrip()
    core = body.rstrip(characters.CLOSERS + " ")
    closers = body[len(core) :].replace(" ", "")
    if core and core[-1] in TERMINALS:
        stop = core[-1]
        core = core.rstrip("." if stop == "." else "").rstrip() or core
    core = _TRAILING.sub("", core)
    if core and core[-1] in TERMINALS:
        return core + closers if not closers else core[:-1] + closers + core[-1]
    return core + closers + stop


def _joined_lines(text: str, language: str) -> str:
    """Line breaks inside a sentence become pauses."""

    def pause(match: re.Match[str]) -> str:
        before = match.string[: match.start()][-1:]
        if not before or not match.string[match.end() :].strip():
            return " "
        stop = "。" if language in WIDE else ". "
        return stop if before.isalnum() or before in characters.CLOSERS else " "

    return _LINE_BREAK.sub(pause, text)


def _compatibility_folded(text: str) -> str:
    """Full-width, circled and styled letters and digits in their plain forms; marks stay as they are."""
    if text.isascii():
        return text
    text = _ENUMERATED.sub(lambda match: f" {_plain_form(match.group()).strip('().')}, ", text)
    text = _VULGAR.sub(" ", text)
    folded = {ord(char): _plain_form(char) for char in set(text) if not char.isascii()}
    text = text.translate(folded)
    text = re.sub(r"(?<=\d)[：](?=\d)", ":", text)
    return re.sub(r"(?<=\d)[．](?=\d)", ".", text)


@cache
def _plain_form(char: str) -> str:
    if char in "²³½¼¾℃℉…µ":
        return char
    if char in "％＃＆＠＋－＊／＝＜＞＄￥￡｜＾＿～":
        return "~" if char == "～" else "￥" if char == "￥" else unicodedata.normalize("NFKC", char)
    category = unicodedata.category(char)
    if category == "Nd":
        return str(unicodedata.decimal(char))
    value = (
        unicodedata.numeric(char, -1.0) if category == "No" and unicodedata.normalize("NFKC", char) == char else -1.0
    )
    if value >= 0 and value == int(value):
        return str(int(value))
    if category[0] in "LNM" or category == "So":
        return unicodedata.normalize("NFKC", char).replace("\u2044", "/")
    return char


def _foreign_letters(text: str) -> str:
    """Greek and single letters of other scripts become their names, apart from µ in a unit."""

    def name(match: re.Match[str]) -> str:
        char = match.group()
        if characters.script(char) in ("han", "kana", "hangul", "latin", "digit", "mark", "neutral") or char in "µ":
            return char
        return f" {unicode_letter_name(char)} "

    text = re.sub(r"(?<=\d)([ ]?)μ(?=[a-zA-Z])", r"\1µ", text)
    return re.sub(r"[^\W\d_]", name, text) if not text.isascii() else text


def _addresses(text: str) -> str:
    return ADDRESS_PATTERN.sub(lambda match: spoken_address(match.group()), text)


def _wide_marks(text: str, language: str) -> str:
    text = _WIDE_STOP.sub("。", _WIDE_MARK.sub(lambda match: _WIDE_MARKS[match.group()[0]], text))
    text = text.replace("|", "，")
    if language == "ja":
        return _DASH.sub("、", text.replace("，", "、"))
    return _DASH.sub("，", text.replace("、", "，"))


@cache
def _is_word_character(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNM"
