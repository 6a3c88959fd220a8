"""A sentence to phonemes: every run by the reader of its script, all in one alphabet."""

import logging
import re
import unicodedata
import warnings

from cosyvoice_web.engines.kokoro.english import EnglishReader
from cosyvoice_web.engines.kokoro.japanese import JapaneseReader
from cosyvoice_web.engines.kokoro.mandarin import MandarinReader
from cosyvoice_web.engines.kokoro.vocabulary import MARKS, vocabulary
from cosyvoice_web.engines.onnx import import_onnxruntime
from cosyvoice_web.errors import InvalidRequest, NoSpeechProduced
from cosyvoice_web.text.characters import is_speakable, script
from cosyvoice_web.text.sentences import Run, Sentence

logger = logging.getLogger(__name__)

_PUNCTUATION = {
    "、": ",", "，": ",", "﹐": ",", "。": ".", "．": ".", "｡": ".", "！": "!", "？": "?", "：": ":", "；": ";",
    "（": "(", "）": ")", "「": "“", "」": "”", "『": "“", "』": "”", "《": "“", "》": "”", "〈": "“", "〉": "”",
    "【": "“", "】": "”", "〔": "“", "〕": "”", "«": "“", "»": "”", "„": "“", "～": "—", "〜": "—", "~": "—",
    "–": "—", "―": "—", "⋯": "…", "…": "…", "·": " ", "・": " ",
}  # fmt: skip
_CHINESE_DIGITS = str.maketrans("0123456789", "零一二三四五六七八九")
_SPACE_BEFORE_MARK = re.compile(r"\s+([,.;:!?…)”])")
_SPACE_AFTER_OPENER = re.compile(r"([(“])\s+")
_ELLIPSIS = re.compile(r"\.{2,}|…+")


class Phonemizer:
    """The readers of every language. Fixed after it is built; may be used from any thread."""

    def __init__(self) -> None:
        import_onnxruntime()
        with warnings.catch_warnings():  # the packages import names that newer Pythons deprecate
            warnings.simplefilter("ignore")
            self._mandarin = MandarinReader()
            self._japanese = JapaneseReader(self._mandarin)
            self._english = EnglishReader()
        self._vocabulary = frozenset(vocabulary())

    def phonemes(self, sentence: Sentence) -> str:
        """The sentence in characters of the model's vocabulary, punctuation included. Not empty, never cut.

        Raises:
            InvalidRequest: a letter or Han character for which no reading is known.
            NoSpeechProduced: the sentence holds nothing but marks.
        """
        spoken: list[str] = []
        unread: list[str] = []
        for run in sentence.runs:
            for text, language in segments(run):
                phonemes, missing = self._read(text, language)
                spoken.append(phonemes)
                unread += missing
        if unread:
            names = ", ".join(f"U+{ord(char):04X}" for char in dict.fromkeys("".join(unread)))
            raise InvalidRequest(f"No reading is known for {names}: write it in another way.", "text")
        phonemes = self._tidy(" ".join(spoken))
        if not any(char not in MARKS for char in phonemes):
            raise NoSpeechProduced("The sentence holds nothing that can be spoken.", sentence.text)
        return phonemes

    def _read(self, text: str, language: str) -> tuple[str, tuple[str, ...]]:
        if language == "en":
            return self._english.read(text)
        if language == "ja":
            return self._japanese.read(text)
        spoken: list[str] = []
        unread: list[str] = []
        for part in re.split(r"(…+|\.+|\W)", text.translate(_CHINESE_DIGITS)):
            if any(map(is_speakable, part)):
                phonemes, missing = self._mandarin.read(part)
                spoken.append(phonemes)
                unread += missing
            else:
                spoken.append(part)
        return " ".join(spoken), tuple(unread)

    def _tidy(self, phonemes: str) -> str:
        phonemes = _ELLIPSIS.sub("…", phonemes)
        kept = "".join(char if char in self._vocabulary else " " if char in "-_/" else "" for char in phonemes)
        if dropped := len(phonemes) - len(kept):
            logger.debug("%d marks that the model does not know were left out", dropped)
        return _SPACE_AFTER_OPENER.sub(r"\1", _SPACE_BEFORE_MARK.sub(r"\1", re.sub(r"\s+", " ", kept))).strip()


def segments(run: Run) -> list[tuple[str, str]]:
    """The run in stretches of one script, each with the language whose reader takes it.

    Latin letters are read as English, kana as Japanese, Han characters by the run's own rules; marks, and digits right
    behind Latin letters, stay with what stands before them. A letter of any other script is read by its name.
    """
    own = run.language if run.language in ("zh", "ja") else "en"
    found: list[tuple[str, str]] = []
    for char in folded(run.text):
        kind = script(char)
        if kind == "latin":
            language = "en"
        elif kind == "kana":
            language = "ja"
        elif kind == "han":
            language = "ja" if own == "ja" else "zh"
        elif kind in ("neutral", "mark"):
            language = found[-1][1] if found else own
        elif kind == "digit":
            follows = bool(found) and (found[-1][0][-1:].isalnum() or found[-1][0][-1:] in ".-")
            language = found[-1][1] if follows else own
        else:
            char, language = f" {letter_name(char)} ", "en"
        if found and found[-1][1] == language:
            found[-1] = (found[-1][0] + char, language)
        else:
            found.append((char, language))
    return found


def folded(text: str) -> str:
    """Compatibility forms (full width, circled, half-width kana) as ordinary characters, marks as the model's own."""
    chars = (
        _PUNCTUATION[char] if char in _PUNCTUATION else unicodedata.normalize("NFKC", char)
        for char in unicodedata.normalize("NFC", text)
    )
    return unicodedata.normalize("NFC", "".join(chars))


def letter_name(char: str) -> str:
    """What an English speaker calls a letter of another script: "alpha", "zhe"; the character where it has no name."""
    base = unicodedata.normalize("NFD", char)[0] if script(char) != "hangul" else char
    return unicodedata.name(base, char).split(" WITH ")[0].rsplit(" ", 1)[-1].lower()
