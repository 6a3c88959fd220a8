"""Punctuation that the models know.

After ！ ？ or ； inside a sentence the 300M models tend to stop speaking, because their training texts lack these
marks. A full stop in their place is safe; the mark at the end keeps its tone.

Source: what the models' authors answer in https://github.com/FunAudioLLM/CosyVoice/issues/289.
"""

import re

_MARKS = re.compile(r"[！？；!?;]+[。.]*")


def with_stops(text: str) -> str:
    """Every exclamation mark, question mark and semicolon as a full stop: for a text that more is said after."""
    return _MARKS.sub(lambda mark: "." if mark.group()[0].isascii() else "。", text)


def with_stops_between(text: str) -> str:
    """The same for all that is followed by a word: for a text that ends what is said."""
    last_word = max((position for position, char in enumerate(text) if char.isalnum()), default=0)
    return with_stops(text[:last_word]) + text[last_word:]
