"""From a caller's text to the sentences that an engine speaks."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Run:
    """Normalised text in one language ("zh", "en", "ja", ...), ready for that language's reading rules."""

    text: str
    language: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """The unit sent to an engine.

    `text` is the caller's own slice [start, end) in characters of the input; `runs` is what will be spoken, in order;
    `language` is the main language of the sentence.
    """

    text: str
    start: int
    end: int
    language: str
    runs: tuple[Run, ...]

    @property
    def spoken(self) -> str:
        """The normalised text of all runs."""
        return "".join(run.text for run in self.runs)
