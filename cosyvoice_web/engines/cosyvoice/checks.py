"""One line of a list of checks."""

from dataclasses import dataclass
from enum import Enum


class Outcome(Enum):
    """Of one check; a skipped one is neither for nor against the model."""

    PASSED = "pass"
    FAILED = "FAIL"
    SKIPPED = "skip"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the list."""

    name: str
    outcome: Outcome
    found: str
    expected: str = ""

    def line(self) -> str:
        """For a terminal."""
        expected = f" (expected: {self.expected})" if self.expected and self.outcome is Outcome.FAILED else ""
        return f"{self.outcome.value}  {self.name}: {self.found}{expected}"


def judged(name: str, passed: bool, found: str, expected: str) -> Check:
    """A check that was made."""
    return Check(name, Outcome.PASSED if passed else Outcome.FAILED, found, expected)
