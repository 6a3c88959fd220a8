"""Reads a HyperPyYAML model description as data.

Such files name Python classes in their tags (`!new:package.Class`, `!name:`, `!apply:`) and refer to other entries
(`!ref <name>`). Here a tag is only remembered as a string: nothing that a file names is imported, built or called.
"""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from cosyvoice_web.errors import FileMissing, FileTruncated

MAX_BYTES = 1 << 20
_REFERENCE = re.compile(r"<([^<>]+)>")
_OPERATORS: Mapping[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


@dataclass(frozen=True, slots=True)
class Tagged:
    """A node with a tag that plain YAML does not know: `tag` without the "!", and what stands below it."""

    tag: str
    value: object

    @property
    def class_name(self) -> str:
        """Last part of the dotted name in the tag: "TransformerLM" for `!new:cosyvoice.llm.llm.TransformerLM`."""
        return self.tag.rpartition(":")[2].rpartition(".")[2]


class _DataLoader(yaml.SafeLoader):
    """SafeLoader that keeps unknown tags as `Tagged` nodes."""


def _keep_tag(loader: _DataLoader, suffix: str, node: yaml.Node) -> Tagged:
    value: object
    if isinstance(node, yaml.MappingNode):
        value = loader.construct_mapping(node, deep=True)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = node.value
    return Tagged(suffix.removeprefix("!"), value)


_DataLoader.add_multi_constructor("", _keep_tag)  # every tag that SafeLoader has no constructor for


def load_yaml_data(path: Path) -> dict[str, object]:
    """Top-level mapping of a model description; tagged nodes come as `Tagged`, references unresolved.

    Raises:
        FileMissing: there is no such file.
        FileTruncated: it is too large, is not text, or is not a YAML mapping.
    """
    expected = "a YAML mapping that describes the model"
    if not path.is_file():
        raise FileMissing(str(path), "no file", expected)
    if path.stat().st_size > MAX_BYTES:
        raise FileTruncated(str(path), f"{path.stat().st_size} bytes", f"{expected} of at most {MAX_BYTES} bytes")
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=_DataLoader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError, TypeError) as reason:
        where = getattr(reason, "problem_mark", None)
        found = f"text that is not YAML (line {where.line + 1})" if where else "a file that is not YAML text"
        raise FileTruncated(str(path), found, expected) from reason
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise FileTruncated(str(path), f"a YAML {type(data).__name__}", expected)
    return data


def resolve(value: object, root: Mapping[str, object], *, depth: int = 16) -> object:
    """Follow `!ref`: to a number, a text or the node it names; simple arithmetic on numbers is worked out.

    What cannot be followed (an unknown name, a cycle, an expression that is not arithmetic) stays a `Tagged` node.
    """
    if not (isinstance(value, Tagged) and value.tag == "ref" and isinstance(value.value, str)) or depth == 0:
        return value
    text = value.value.strip()
    if whole := _REFERENCE.fullmatch(text):
        found = _look_up(whole[1], root)
        return value if found is None else resolve(found, root, depth=depth - 1)

    def number(match: re.Match[str]) -> str:
        part = resolve(Tagged("ref", match[0]), root, depth=depth - 1)
        if isinstance(part, bool) or not isinstance(part, int | float):
            raise ValueError(match[0])  # noqa: TRY004 - one class for everything that cannot be worked out
        return f"({part!r})"

    try:
        return _arithmetic(ast.parse(_REFERENCE.sub(number, text), mode="eval").body)
    except (ValueError, SyntaxError, ArithmeticError, RecursionError):
        return value


def _look_up(name: str, root: Mapping[str, object]) -> object:
    """`a`, `a.b` or `a[b]` in the file; None where there is no such entry."""
    node: object = root
    for step in re.split(r"[.\[\]]+", name.rstrip("]")):
        below = node.value if isinstance(node, Tagged) else node
        if isinstance(below, Mapping):
            node = below.get(step)
        elif isinstance(below, list) and step.isdigit() and int(step) < len(below):
            node = below[int(step)]
        else:
            return None
    return node


def _arithmetic(node: ast.AST) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_arithmetic(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_arithmetic(node.left), _arithmetic(node.right))
    raise ValueError(ast.dump(node))
