"""One section of a model's yaml: typed reading, with errors that name the file, the entry and what is allowed."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from cosyvoice_web.engines.cosyvoice.yaml_data import Tagged, load_yaml_data, resolve
from cosyvoice_web.errors import ShapeMismatch, WrongModelFamily

FAMILY = "a CosyVoice-300M model (CosyVoice 1: 300M, 300M-SFT or 300M-Instruct)"
_CLASSES = {
    "llm": "TransformerLM",
    "flow": "MaskedDiffWithXvec",
    "hift": "HiFTGenerator",
    "llm.text_encoder": "ConformerEncoder",
    "llm.llm": "TransformerEncoder",
    "flow.encoder": "ConformerEncoder",
    "flow.length_regulator": "InterpolateRegulator",
    "flow.decoder": "ConditionalCFM",
    "flow.decoder.estimator": "ConditionalDecoder",
    "hift.f0_predictor": "ConvRNNF0Predictor",
}
"""Class that the tag of a section may name; a section without a tag is taken as it is."""


def open_sections(path: Path) -> tuple["Section", "Section", "Section", "Section", "Section"]:
    """The sections llm, flow, hift, feat_extractor and the top level of a model's yaml.

    Raises:
        FileMissing, FileTruncated: see `load_yaml_data`.
        WrongModelFamily: the file describes another model.
    """
    data = load_yaml_data(path)
    if "qwen_pretrain_path" in data:
        raise WrongModelFamily(str(path), "an entry qwen_pretrain_path (CosyVoice2 or CosyVoice3)", FAMILY)
    if lost := [name for name in ("llm", "flow", "hift") if name not in data]:
        raise WrongModelFamily(str(path), f"no section {' and no section '.join(lost)}", FAMILY)
    top = Section(path, "", data, data)
    return (*(top.section(name) for name in ("llm", "flow", "hift", "feat_extractor")), top)  # type: ignore[return-value]


class Section:
    """A mapping of the file; every reader takes the entry's name and the value of the published models."""

    def __init__(self, path: Path, name: str, values: Mapping[str, object], root: Mapping[str, object]) -> None:
        self._path = str(path)
        self._name = name
        self._values = values
        self._root = root

    def section(self, name: str) -> "Section":
        """A section below this one; empty, so that every entry takes its default, when the file has none.

        Raises:
            WrongModelFamily: its tag names a class of another model.
            ShapeMismatch: the entry is no mapping.
        """
        where = self._where(name)
        value = resolve(self._values.get(name), self._root)
        if isinstance(value, Tagged):
            expected = _CLASSES.get(where)
            if value.tag.startswith("new:") and expected is not None and value.class_name != expected:
                family = "CosyVoice2 or CosyVoice3: " if _is_later_family(value.class_name) else ""
                raise WrongModelFamily(self._path, f"{where} is {family}{value.class_name}", f"{expected} of {FAMILY}")
            value = value.value
        if value is None or value == "":
            value = {}
        if not isinstance(value, Mapping):
            raise ShapeMismatch(self._path, f"{where} is {value!r:.60}", "a mapping")
        return Section(Path(self._path), where, value, self._root)

    def content(self) -> "Section":
        """The mapping that this section wraps as `content`, or itself where it wraps none."""
        return self.section("content") if "content" in self._values else self

    def integer(self, name: str, default: int, *, at_least: int = 1) -> int:
        """A whole number, `at_least` or more."""
        number = self.number(name, default)
        if number != int(number) or number < at_least:
            self._wrong(name, number, f"a whole number of at least {at_least}")
        return int(number)

    def number(self, name: str, default: float) -> float:
        """A finite number; YAML 1.1 reads 1e-06 as text, so text that is a number counts."""
        return self._number(name, self._value(name, default))

    def integers(self, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """A list of positive whole numbers."""
        return self._integers(name, self._value(name, default))

    def integer_rows(self, name: str, default: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
        """A list of lists of positive whole numbers."""
        rows = self._value(name, default)
        if not isinstance(rows, list | tuple) or not rows:
            self._wrong(name, rows, "a list of lists of whole numbers")
        return tuple(self._integers(name, resolve(row, self._root)) for row in rows)

    def choice(self, name: str, default: str, *allowed: str) -> str:
        """A word out of `allowed`; with none given, only the default.

        Raises:
            WrongModelFamily: another word, which names a layer that this family does not have.
        """
        value = self._value(name, default)
        if value not in (allowed or (default,)):
            self.refuse(name, value, " or ".join(allowed or (default,)))
        return str(value)

    def boolean(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self._value(name, default)
        if not isinstance(value, bool):
            self._wrong(name, value, "true or false")
        return value

    def flag(self, name: str, expected: bool) -> None:
        """Check a switch of the architecture that this family never turns."""
        value = self._value(name, expected)
        if value is not expected:
            self.refuse(name, value, str(expected).lower())

    def refuse(self, name: str, value: object, expected: str) -> NoReturn:
        """Raise WrongModelFamily for one entry."""
        raise WrongModelFamily(self._path, f"{self._where(name)}: {value!r:.60}", f"{expected}, in {FAMILY}")

    def agree(self, name: str, value: int, other_name: str, other: int, unit: str = "") -> None:
        """Check that two numbers of the file are equal."""
        if value != other:
            found = f"{self._where(name)} of {value} {unit}".rstrip()
            raise ShapeMismatch(self._path, found, f"{other} {unit}".rstrip() + f", as {other_name}")

    def divides(self, name: str, divisor: int, other_name: str, value: int) -> None:
        """Check that one number of the file divides another."""
        if value % divisor:
            raise ShapeMismatch(
                self._path, f"{self._where(other_name)} of {value}", f"a multiple of {name} = {divisor}"
            )

    def _value(self, name: str, default: object) -> object:
        value = resolve(self._values.get(name), self._root)
        return default if value is None else value

    def _number(self, name: str, value: object) -> float:
        number = math.nan
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            try:
                number = float(value)
            except (ValueError, OverflowError):
                number = math.nan
        if not math.isfinite(number):
            self._wrong(name, value.value if isinstance(value, Tagged) else value, "a number")
        return number

    def _integers(self, name: str, values: object) -> tuple[int, ...]:
        if not isinstance(values, list | tuple) or not values:
            self._wrong(name, values, "a list of whole numbers")
        numbers = tuple(self._number(name, resolve(value, self._root)) for value in values)
        if any(number != int(number) or number < 1 for number in numbers):
            self._wrong(name, values, "a list of whole numbers of at least 1")
        return tuple(int(number) for number in numbers)

    def _wrong(self, name: str, value: object, expected: str) -> NoReturn:
        raise ShapeMismatch(self._path, f"{self._where(name)}: {value!r:.60}", expected)

    def _where(self, name: str) -> str:
        return f"{self._name}.{name}" if self._name else name


def _is_later_family(class_name: str) -> bool:
    return any(part in class_name for part in ("Qwen", "CosyVoice2", "CosyVoice3", "Causal", "DiT"))
