"""Writes small ONNX files without the onnx package, and checks that one is complete.

Source: the protobuf wire format and onnx.proto (ModelProto, GraphProto, NodeProto, TensorProto).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

IR_VERSION, OPSET_VERSION = 8, 17
_FLOAT, _INT32, _INT64 = 1, 6, 7  # TensorProto.DataType
_ELEMENT_TYPES = {np.dtype(np.float32): _FLOAT, np.dtype(np.int32): _INT32, np.dtype(np.int64): _INT64}
_ATTRIBUTE_INT, _ATTRIBUTE_INTS = 2, 7  # AttributeProto.AttributeType

Dimensions = Sequence[int | str]


@dataclass(frozen=True, slots=True)
class Value:
    """An input or output of the graph; a dimension given as a word is free."""

    name: str
    element_type: npt.DTypeLike
    dimensions: Dimensions


@dataclass(frozen=True, slots=True)
class Node:
    """One operator; attributes are whole numbers or lists of them."""

    operator: str
    inputs: Sequence[str]
    output: str
    attributes: Mapping[str, int | Sequence[int]]


def write_onnx(
    path: Path,
    nodes: Sequence[Node],
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    constants: Mapping[str, npt.NDArray[np.generic]],
) -> None:
    """Write a model of the default operator set."""
    graph = b"".join(_message(1, _node(node)) for node in nodes) + _text(2, path.stem)
    graph += b"".join(_message(5, _tensor(name, array)) for name, array in constants.items())
    graph += b"".join(_message(11, _value(value)) for value in inputs)
    graph += b"".join(_message(12, _value(value)) for value in outputs)
    opset = _text(1, "") + _number(2, OPSET_VERSION)
    path.write_bytes(_number(1, IR_VERSION) + _text(2, "cosyvoice-web") + _message(7, graph) + _message(8, opset))


def missing_bytes(path: Path) -> int | None:
    """How much the end of a protobuf file lacks, at least; 0 for a complete one, None when it is no protobuf.

    Walks the top-level fields only, so it reads a few bytes of a file of any size.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        while (position := file.tell()) < size:
            tag = _read_varint(file.read(10))
            if tag is None:
                return None if position == 0 else 1
            wire_type = tag[0] & 7
            position += tag[1]
            file.seek(position)
            if tag[0] >> 3 == 0 or wire_type not in (0, 1, 2, 5):
                return None
            if wire_type in (0, 2):
                number = _read_varint(file.read(10))
                if number is None:
                    return 1
                position += number[1] + (number[0] if wire_type == 2 else 0)
            else:
                position += 8 if wire_type == 1 else 4
            if position > size:
                return position - size
            file.seek(position)
    return 0 if size else None


def _node(node: Node) -> bytes:
    data = b"".join(_text(1, name) for name in node.inputs) + _text(2, node.output)
    data += _text(3, f"{node.operator}_{node.output}") + _text(4, node.operator)
    for name, value in node.attributes.items():
        if isinstance(value, int):
            data += _message(5, _text(1, name) + _number(3, value) + _number(20, _ATTRIBUTE_INT))
        else:
            numbers = b"".join(_number(8, number) for number in value)
            data += _message(5, _text(1, name) + numbers + _number(20, _ATTRIBUTE_INTS))
    return data


def _tensor(name: str, array: npt.NDArray[np.generic]) -> bytes:
    data = b"".join(_number(1, size) for size in array.shape)
    return data + _number(2, _ELEMENT_TYPES[array.dtype]) + _text(8, name) + _message(9, array.tobytes())


def _value(value: Value) -> bytes:
    dimensions = b"".join(
        _message(1, _text(2, size) if isinstance(size, str) else _number(1, size)) for size in value.dimensions
    )
    tensor_type = _number(1, _ELEMENT_TYPES[np.dtype(value.element_type)]) + _message(2, dimensions)
    return _text(1, value.name) + _message(2, _message(1, tensor_type))


def _message(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())


def _number(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    groups = bytearray()
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*groups, number))


def _read_varint(data: bytes) -> tuple[int, int] | None:
    """A number and how many bytes it took; None when the bytes end within it."""
    number = 0
    for index, byte in enumerate(data):
        number |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return number, index + 1
    return None
