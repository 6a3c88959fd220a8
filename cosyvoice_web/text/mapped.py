"""Text that remembers where each of its characters came from."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

Edit = tuple[int, int, str]
"""Replace [start, end) by a text that is not longer; in characters of the text that is edited."""


@dataclass(frozen=True, slots=True)
class MappedText:
    """A cleaned text; `starts[i]` is the offset, in the caller's text, of what character i was made from."""

    text: str
    starts: list[int]

    @classmethod
    def of(cls, text: str) -> "MappedText":
        """The caller's own text."""
        return cls(text, list(range(len(text))))

    def edited(self, edits: Iterable[Edit]) -> "MappedText":
        """Apply edits given in order and without overlap. Linear time."""
        text_parts: list[str] = []
        starts: list[int] = []
        position = 0
        for start, end, replacement in edits:
            text_parts += (self.text[position:start], replacement)
            starts += self.starts[position:start]
            starts += (self.starts[min(start + i, end - 1)] for i in range(len(replacement)))
            position = end
        if not text_parts:
            return self
        text_parts.append(self.text[position:])
        starts += self.starts[position:]
        return MappedText("".join(text_parts), starts)

    def replaced(self, pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str | None]) -> "MappedText":
        """Edit every match; None keeps it."""
        return self.edited(
            (match.start(), match.end(), new)
            for match in pattern.finditer(self.text)
            if (new := replacement(match)) is not None
        )

    def with_text(self, text: str) -> "MappedText":
        """The same characters in another form, one for one."""
        if len(text) != len(self.text):
            raise ValueError(f"expected {len(self.text)} characters, got {len(text)}")
        return MappedText(text, self.starts)
