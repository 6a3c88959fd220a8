"""Text to the token ids of the Whisper multilingual vocabulary."""

import base64
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import tiktoken

RANKS_PATH: Final = Path(__file__).parent / "data" / "whisper_multilingual.tiktoken"
WORD_PATTERN: Final = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""

VOCABULARY_SIZE: Final = 51_866
"""Ids of the published vocabulary: those of text first, then the special ones, whose marks text cannot spell."""

LANGUAGE_MARKS: Final[Mapping[str, int]] = MappingProxyType(
    {"en": 50_259, "zh": 50_260, "ko": 50_264, "ja": 50_266, "yue": 50_358}
)
"""Special ids that name the language of what follows, for the languages that the models speak."""


class TextTokenizer:
    """Splits text into words and these into the merged byte sequences of the vocabulary; lossless.

    No text can yield a special id: the encoder knows no special tokens, so `<|zh|>` is read as the characters it is
    written with. Thread-safe.

    Source: openai-whisper, whisper/tokenizer.py `get_encoding("multilingual", num_languages=100)`.
    Differs: special tokens come only through `language`, never through text; the reference takes all from text.
    """

    def __init__(self) -> None:
        ranks: dict[bytes, int] = {}
        for line in RANKS_PATH.read_bytes().splitlines():
            token, rank = line.split()
            ranks[base64.b64decode(token)] = int(rank)
        self._encoding = tiktoken.Encoding(
            name="whisper_multilingual", pat_str=WORD_PATTERN, mergeable_ranks=ranks, special_tokens={}
        )

    def encode(self, text: str, *, language: str | None = None) -> list[int]:
        """Token ids of `text`, after the mark of `language` (a key of `LANGUAGE_MARKS`) if one is given."""
        mark = [] if language is None else [LANGUAGE_MARKS[language]]
        return mark + self._encoding.encode_ordinary(text)

    def decode(self, ids: list[int]) -> str:
        """The text that ids without special ones stand for; bytes that are no UTF-8 become U+FFFD."""
        return self._encoding.decode(ids)
