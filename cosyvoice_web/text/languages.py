"""Which language each part of a sentence is in.

Letters decide by their script. A Han character belongs to Japanese or Chinese by its sentence: kana, characters
that only one of the two writes, then the neighbouring sentences. Digits go with the words around them.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from cosyvoice_web.errors import UnsupportedLanguage
from cosyvoice_web.text import characters
from cosyvoice_web.text.addresses import ADDRESS
from cosyvoice_web.text.characters import HAN, HANGUL, KANA, LATIN, MARKS, OPENERS
from cosyvoice_web.text.language_names import SCRIPT_LANGUAGES, language_name

AUTO = "auto"

UNIT_SYMBOLS = (
    "km/h|km²|km2|km|kg|kHz|kWh|kW|cm²|cm2|cm³|cm3|cm|mm²|mm|mmHg|mg|ml|mL|mAh|ms|m/s|m²|m2|m³|m3|m|g|L|GB|GHz|MB|MHz|Mbps|Gbps|Hz|KB|TB"
    "|nm|μm|µm|μg|µg|kPa|hPa|Pa|kcal|cal|dB|W|V|°C|°F|℃|℉"
)
_NUMBER = (
    r"(?:(?:US\$|HK\$|NT\$|[$€£¥￥₩₹＄])[ ]?)?(?:(?<![A-Za-z0-9)])[-+])?\d+(?:[.,:/．：，／]\d+|[ ]?[-–~〜～][ ]?\d+)*"
    rf"(?:[ ]?(?:{'|'.join(sorted(UNIT_SYMBOLS.split('|'), key=len, reverse=True))})(?![A-Za-z0-9]))?"
)
_TOKEN = re.compile(
    rf"(?P<address>{ADDRESS})|(?P<number>{_NUMBER}|\d+(?:[.,:/]\d+)*)|(?P<han>[{HAN}]+)|(?P<kana>[{KANA}]+)"
    rf"|(?P<hangul>[{HANGUL}]+)"
    rf"|(?P<latin>[{LATIN}](?:[{LATIN}{MARKS}]|[0-9]|['’&+./_-](?=[{LATIN}0-9]))*(?:\+\+|\#(?!\w))?)"
    rf"|(?P<other>[^\W\d_][{MARKS}]*)|(?P<neutral>[\s\S])"
)
_MAGNITUDES = frozenset((
    "hundred", "thousand", "million", "billion", "trillion", "percent", "dollars", "euros", "pounds", "degrees",
    "times", "years", "months", "weeks", "days", "hours", "minutes", "seconds", "people", "am", "pm",
))  # fmt: skip
_CHINESE_HINTS = re.compile("[我這们們沒么麼很]|今天|明天|昨天|可以|知道|因[为為]|所以|如果|不是|就是|是一")
_CANTONESE = frozenset("嘅喺咗冇佢哋啲嚟嗰咁噉嘢嗌攞瞓")
_CJK = frozenset(("zh", "yue", "ja"))
_LATIN_WEIGHT = 0.4
"""Latin words weigh less when the main language is chosen: English names in a Chinese sentence leave it Chinese."""


@dataclass(slots=True)
class Token:
    """A stretch of one kind; `language` is filled in step by step."""

    text: str
    kind: str
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence cut into (text, language) runs, and its main language."""

    runs: tuple[tuple[str, str], ...]
    language: str


def requested_language(language: str, languages: frozenset[str]) -> str | None:
    """The language a caller asks for, None for "auto" or nothing. Region and script subtags are ignored.

    Raises:
        UnsupportedLanguage: it is none of `languages`; the field is "language".
    """
    code = language.strip().lower().replace("_", "-")
    if code in ("", AUTO):
        return None
    primary = code.split("-")[0]
    primary = {"cmn": "zh"}.get(primary, primary)
    if code in languages:
        return code
    if primary not in languages:
        raise UnsupportedLanguage(language_name(primary), _names(languages), "language")
    return primary


def read_languages(sentences: Sequence[str], requested: str | None, languages: frozenset[str]) -> list[Reading]:
    """Cut every sentence into runs of one language.

    Raises:
        UnsupportedLanguage: words in a language outside `languages`; the field is "text".
    """
    tokenized = [_tokens(sentence) for sentence in sentences]
    _refuse_foreign_words(tokenized, languages)
    han = _fill_from_neighbours([_han_evidence(tokens, requested) for tokens in tokenized])
    fallback = _first_available((requested, "zh", "en", *sorted(languages)), languages)
    ambiguous = _first_available((requested if requested in _CJK else None, "zh", "ja"), languages)
    for tokens, language in zip(tokenized, han, strict=True):
        _assign_words(tokens, language or ambiguous, languages)
    readings: list[Reading] = []
    for tokens, language in zip(tokenized, _fill_from_neighbours(list(map(_main_language, tokenized))), strict=True):
        main = language or fallback
        _assign_numbers(tokens, main)
        readings.append(Reading(_runs(tokens, main), main))
    return readings


def _tokens(sentence: str) -> list[Token]:
    tokens: list[Token] = []
    for match in _TOKEN.finditer(sentence):
        text, kind = match.group(), match.lastgroup or "neutral"
        if kind == "address":
            kind = "latin"
        elif kind == "other":
            kind = characters.script(text[0])
        elif kind == "neutral" and characters.script(text) == "latin":
            kind = "latin"
        elif kind == "neutral" and characters.script(text) in ("han", "digit"):
            kind = characters.script(text)
        elif kind == "neutral" and tokens and characters.script(text) == "mark":
            kind = tokens[-1].kind
        if kind == "digit":
            kind = "number"
        if tokens and tokens[-1].kind == kind and (kind != "number" or characters.script(text[0]) == "mark"):
            tokens[-1].text += text
        else:
            tokens.append(Token(text, kind))
    return tokens


def _refuse_foreign_words(tokenized: Iterable[list[Token]], languages: frozenset[str]) -> None:
    has_known = False
    lone: str | None = None
    for tokens in tokenized:
        for token in tokens:
            if token.kind in ("han", "kana", "latin", "number") or (token.kind == "hangul" and "ko" in languages):
                has_known = True
            elif token.kind not in ("neutral", "mark"):
                letters = sum(character.isalpha() for character in token.text)
                if letters >= (3 if token.kind == "GREEK" else 2):
                    raise UnsupportedLanguage(_foreign_name(token), _names(languages))
                if token.kind != "GREEK":
                    lone = _foreign_name(token)
    if lone and not has_known:
        raise UnsupportedLanguage(lone, _names(languages))


def _foreign_name(token: Token) -> str:
    if token.kind == "hangul":
        return language_name("ko")
    if token.kind == "CYRILLIC" and set(token.text.lower()) & set("іїєґ"):
        return language_name("uk")
    code = SCRIPT_LANGUAGES.get(token.kind)
    return language_name(code) if code else f"{token.kind.title()} script"


def _han_evidence(tokens: list[Token], requested: str | None) -> str | None:
    """The language of a sentence's Han characters where the sentence itself tells, else None."""
    han = "".join(token.text for token in tokens if token.kind == "han")
    if not han:
        return None
    if any(token.kind == "kana" for token in tokens):
        return "ja"
    if len(_CANTONESE & set(han)) >= 2 or requested == "yue":
        return "yue"
    if any(map(_only_chinese, han)):
        return "zh"
    if requested == "ja":
        return "ja"
    if any(map(_only_japanese, han)):
        return "ja"
    if requested == "zh" or _CHINESE_HINTS.search(han):
        return "zh"
    return None


@cache
def _in_charset(char: str, encoding: str) -> bool:
    try:
        char.encode(encoding)
    except UnicodeError:
        return False
    return True


@cache
def _only_chinese(char: str) -> bool:
    """Written in Chinese and not in Japanese, by the national character sets: simplified forms, 你, 她, 吗."""
    return not _in_charset(char, "cp932") and (_in_charset(char, "gb2312") or _in_charset(char, "big5"))


@cache
def _only_japanese(char: str) -> bool:
    """Written in Japanese and not in Chinese, by the national character sets: 気, 駅, 円."""
    return _in_charset(char, "cp932") and not (_in_charset(char, "gb2312") or _in_charset(char, "big5"))


def _fill_from_neighbours(values: list[str | None]) -> list[str | None]:
    """Empty places take the value before them, the first ones the value after them."""
    filled: list[str | None] = []
    for value in values:
        filled.append(value or (filled[-1] if filled else None))
    first = next((value for value in filled if value), None)
    return [value or first for value in filled]


def _assign_words(tokens: list[Token], han: str, languages: frozenset[str]) -> None:
    mixed = any(token.kind == "kana" for token in tokens)
    chunk = "ja"
    for index, token in enumerate(tokens):
        if token.kind in ("neutral", "mark", "number"):
            continue
        if token.kind == "han":
            chunk = _han_chunk(tokens, index, chunk) if mixed else han
            token.language = _available(chunk, languages)
        elif token.kind in ("kana", "hangul", "latin"):
            language = {"kana": "ja", "hangul": "ko", "latin": "en"}[token.kind]
            lone_syllable = token.kind == "hangul" and "ko" not in languages
            token.language = _available("en" if lone_syllable else language, languages)
        else:  # a Greek or a single foreign letter is read by its name
            token.language = _first_available(("en", "zh", *sorted(languages)), languages)


def _han_chunk(tokens: list[Token], index: int, previous: str) -> str:
    """The language of one stretch of Han characters in a sentence with kana."""
    text = tokens[index].text
    if any(map(_only_chinese, text)):
        return "zh"
    touches_kana = index + 1 < len(tokens) and tokens[index + 1].kind == "kana"
    return "ja" if touches_kana or any(map(_only_japanese, text)) else previous


def _available(language: str, languages: frozenset[str]) -> str:
    if language not in languages:
        raise UnsupportedLanguage(language_name(language), _names(languages))
    return language


def _first_available(wanted: Iterable[str | None], languages: frozenset[str]) -> str:
    return next((language for language in wanted if language and language in languages), "zh")


def _main_language(tokens: list[Token]) -> str | None:
    weights: dict[str, float] = {}
    for token in tokens:
        if token.language:
            size = sum(map(characters.units, token.text))
            if token.kind == "latin":
                size *= _LATIN_WEIGHT
            weights[token.language] = weights.get(token.language, 0.0) + size
    return max(weights, key=lambda language: weights[language]) if weights else None


def _assign_numbers(tokens: list[Token], main: str) -> None:
    words = [index for index, token in enumerate(tokens) if token.language and token.kind != "number"]
    position = 0
    for index, token in enumerate(tokens):
        if token.kind != "number":
            continue
        while position < len(words) and words[position] < index:
            position += 1
        left = words[position - 1] if position else None
        right = words[position] if position < len(words) else None
        token.language = _number_language(tokens, index, left, right, main)


def _number_language(tokens: list[Token], index: int, left: int | None, right: int | None, main: str) -> str:
    before = tokens[left].language if left is not None else None
    after = tokens[right].language if right is not None else None
    if right is not None and after:
        gap = "".join(token.text for token in tokens[index + 1 : right])
        word = tokens[right].text.lower()
        if not gap.strip() and ((after in _CJK and not gap) or word in _MAGNITUDES):
            return after
    if left == index - 1 and before in _CJK:
        return str(before)
    if before and after and before != after:
        return main
    return before or after or main


def _runs(tokens: list[Token], main: str) -> tuple[tuple[str, str], ...]:
    """Join neighbours of one language; marks stay with the word before them, opening ones go to the word after."""
    runs: list[list[str]] = []
    pending = ""
    for token in tokens:
        if token.language is None:
            for char in token.text:
                if runs and not pending and char not in OPENERS:
                    runs[-1][0] += char
                else:
                    pending += char
            continue
        if runs and runs[-1][1] == token.language:
            runs[-1][0] += pending + token.text
        else:
            runs.append([pending + token.text, token.language])
        pending = ""
    if pending:
        if runs:
            runs[-1][0] += pending
        else:
            runs.append([pending, main])
    return tuple((text, language) for text, language in runs)


def _names(languages: Iterable[str]) -> list[str]:
    return sorted(map(language_name, languages))


def unicode_letter_name(char: str) -> str:
    """What a single letter is called: "alpha" for α, "zhe" for Ж; "" when Unicode does not name it."""
    name = unicodedata.name(char, "").split(" WITH ")[0]
    return name.split()[-1].lower() if name else ""
