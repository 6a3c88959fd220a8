"""No word of the page is missing in a language, and none is left over."""

import re
from pathlib import Path

import pytest
from werkzeug.datastructures import LanguageAccept

from cosyvoice_web import errors
from cosyvoice_web.speech import AudioFormat
from cosyvoice_web.web.strings import EXAMPLES, LANGUAGES, STRINGS, choose_language, strings_in

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").glob("*.html"))
MODULES = sorted((ROOT / "static" / "js").glob("*.js"))
CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
PLACE = re.compile(r"\{(\w+)\}")
STATE_KINDS = {"checking", "loading", "warming", "ready", "failed", "degraded", "closing", "unreachable"}


def used_keys() -> set[str]:
    """Every key that a template or a module names, the built ones (`"format." ~ suffix`) spelt out."""
    keys: set[str] = set()
    for path in TEMPLATES:
        text = path.read_text(encoding="utf-8")
        keys |= {key for _, key in re.findall(r"""strings\[(["'])([\w.]+)\1\]""", text)}
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        keys |= {key for key in re.findall(r'"([a-z]+(?:\.[a-z_]+)+)"', text) if key.split(".")[0] in PREFIXES}
    keys |= {f"format.{audio_format.suffix}" for audio_format in AudioFormat}
    keys |= {f"examples.{name}" for name in EXAMPLES}
    keys |= {f"state.{kind}" for kind in STATE_KINDS}
    keys |= {f"gender.{gender}" for gender in ("female", "male")}
    keys |= {f"error.{code}" for code in error_codes()}
    return keys


def error_codes() -> set[str]:
    """The codes of everything that can be answered to a request for speech."""

    def below(family: type[errors.CosyVoiceWebError]) -> set[type[errors.CosyVoiceWebError]]:
        return {family}.union(*(below(child) for child in family.__subclasses__()))

    families = (errors.RequestError, errors.CapacityError, errors.AvailabilityError, errors.SynthesisError)
    return {kind.code for family in families for kind in below(family)} - {errors.CosyVoiceWebError.code}


PREFIXES = {key.split(".")[0] for key in STRINGS}


def test_every_key_in_use_is_in_the_table_and_every_key_of_the_table_is_in_use() -> None:
    assert used_keys() == set(STRINGS)


@pytest.mark.parametrize("key", STRINGS)
def test_a_string_is_there_in_every_language_with_the_same_places(key: str) -> None:
    words = STRINGS[key]
    assert len(words) == len(LANGUAGES)
    assert all(word == word.strip() and word for word in words)
    assert len({frozenset(PLACE.findall(word)) for word in words}) == 1


@pytest.mark.parametrize("path", [*TEMPLATES, *MODULES], ids=lambda path: path.name)
def test_no_words_stand_outside_the_table(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not CJK.search(text)
    if path.suffix == ".html":
        text = re.sub(r"\{#.*?#\}|\{\{.*?\}\}|\{%.*?%\}|<!.*?>", "", text, flags=re.DOTALL)
        between = re.sub(r"<[^>]*>", " ", text, flags=re.DOTALL)
        assert not re.search(r"[A-Za-z]{2,}", between), "words between tags"
        assert not re.search(r"""\b(?:placeholder|title|aria-label|alt)=["'][^"']*[A-Za-z]{2,}""", text)


def test_chinese_is_not_english_left_over() -> None:
    same = {key for key, (english, chinese) in STRINGS.items() if english == chinese}
    assert same == {"page.title", "voice.option", "examples.zh", "examples.en", "examples.ja"}


@pytest.mark.parametrize(
    ("wanted", "accepted", "language"),
    [
        (None, "", "en"),
        (None, "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        (None, "en-GB,en;q=0.9,zh;q=0.8", "en"),
        (None, "fr-FR,fr;q=0.9", "en"),
        (None, "fr,zh-TW;q=0.5,en;q=0.4", "zh"),
        ("zh", "en", "zh"),
        ("zh-Hant_TW", "en", "zh"),
        ("EN", "zh", "en"),
        ("fr", "zh", "zh"),
        ("<script>", "", "en"),
        ("", "zh", "zh"),
    ],
)
def test_the_language_is_chosen_by_name_then_by_browser(wanted: str | None, accepted: str, language: str) -> None:
    pairs = []
    for entry in filter(None, accepted.split(",")):
        tag, _, quality = entry.partition(";q=")
        pairs.append((tag, float(quality or 1)))
    assert choose_language(wanted, LanguageAccept(pairs)) == language


def test_an_unknown_interface_language_is_an_error() -> None:
    with pytest.raises(KeyError):
        strings_in("fr")
