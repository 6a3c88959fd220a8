"""Mandarin: Han characters to phonemes, word by word, so that words decide how their characters are read."""

import logging
from importlib.resources import files
from typing import Any

from cosyvoice_web.engines.kokoro.pinyin import syllable_phonemes
from cosyvoice_web.engines.kokoro.word_table import WordTable

_VARIANTS = str.maketrans({"𠮷": "吉", "𠮟": "叱"})
"""Characters of names that the reading dictionary lacks, as the ones they are variants of."""


class MandarinReader:
    """Words by jieba, readings by pypinyin. Fixed after it is built; may be used from any thread."""

    def __init__(self) -> None:
        import jieba
        from pypinyin import Style, lazy_pinyin

        jieba.setLogLevel(logging.ERROR)
        self._tokenizer: Any = jieba.Tokenizer()
        table = WordTable((files("jieba") / "dict.txt").read_bytes())
        self._tokenizer.FREQ, self._tokenizer.total = table, table.total
        self._tokenizer.initialized = True  # jieba would build its own and write it to a shared folder
        self._style = Style.TONE3
        self._lazy_pinyin: Any = lazy_pinyin

    def read(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Phonemes of Han characters, a space between words, and the characters that have no reading."""
        unread: list[str] = []

        def word_phonemes(word: str) -> str:
            syllables = self._lazy_pinyin(word, style=self._style, neutral_tone_with_five=True, errors=list)
            phonemes = []
            for syllable in syllables:
                phonemes.append(syllable_phonemes(syllable))
                if not phonemes[-1]:
                    unread.append(syllable.rstrip("12345"))
            return "".join(phonemes)

        words = [word_phonemes(word) for word in self._tokenizer.cut(_without_repeat_marks(text.translate(_VARIANTS)))]
        return " ".join(filter(None, words)), tuple(unread)


def _without_repeat_marks(text: str) -> str:
    """々 stands for the character before it."""
    chars: list[str] = []
    for char in text:
        chars.append(chars[-1] if char == "々" and chars else char)
    return "".join(chars)
