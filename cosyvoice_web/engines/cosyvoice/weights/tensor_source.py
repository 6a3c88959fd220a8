"""The tensors of one checkpoint file, taken out one by one so that nothing is overlooked."""

from collections.abc import Mapping, Sequence

import torch

from cosyvoice_web.errors import KeyMismatch, ShapeMismatch

_PARAMETRIZED = ("parametrizations.weight.original0", "parametrizations.weight.original1")
_LEGACY = ("weight_g", "weight_v")


class TensorSource:
    """Hands out the tensors of one file under their official names; `finish` tells what was missing or left over.

    A tensor that the file lacks is noted and answered with zeros that take no memory, so that one error can name all of
    them. Tensors come as float32; those that are float32 in the file are not copied.
    """

    def __init__(self, path: str, tensors: Mapping[str, torch.Tensor]) -> None:
        """`path` is named in errors; `tensors` holds the file's official names, prefixes already removed."""
        self.path = path
        self.dropped: dict[str, str] = {}
        self._tensors = tensors
        self._left = dict.fromkeys(tensors)
        self._missing: list[str] = []

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Shape of a tensor in the file without taking it; None when the file lacks it."""
        tensor = self._tensors.get(name)
        return None if tensor is None else tuple(tensor.shape)

    def take(self, name: str, shape: Sequence[int]) -> torch.Tensor:
        """The tensor `name`, float32, of exactly `shape`.

        Raises:
            ShapeMismatch: the file's tensor has another shape, or does not hold real numbers.
        """
        tensor = self._tensors.get(name)
        if tensor is None:
            self._missing.append(name)
            return torch.zeros(()).expand(tuple(shape))
        self._left.pop(name, None)
        if tuple(tensor.shape) != tuple(shape):
            raise ShapeMismatch(self.path, f"{name} of shape {tuple(tensor.shape)}", f"shape {tuple(shape)}")
        if not tensor.is_floating_point():
            raise ShapeMismatch(self.path, f"{name} of type {tensor.dtype}", "floating point numbers")
        return tensor.detach().to(torch.float32)

    def take_folded(self, prefix: str, shape: Sequence[int]) -> torch.Tensor:
        """The weight of layer `prefix` with its weight normalisation folded in: gain x direction / norm(direction).

        The norm is taken over all axes but the first, by the function that torch's own weight normalisation calls, so
        that not even a last digit differs from a weight that is not folded. Reads
        `parametrizations.weight.original0/1`, the older `weight_g/weight_v`, or a plain `weight` folded before.

        Source: Salimans and Kingma 2016, "Weight Normalization", section 2.
        """
        if f"{prefix}.weight" in self:
            return self.take(f"{prefix}.weight", shape)
        gain_name, direction_name = _LEGACY if f"{prefix}.{_LEGACY[1]}" in self else _PARAMETRIZED
        gain = self.take(f"{prefix}.{gain_name}", (shape[0], *(1 for _ in shape[1:])))
        direction = self.take(f"{prefix}.{direction_name}", shape)
        return torch._weight_norm(direction, gain)

    def drop(self, prefix: str, reason: str) -> None:
        """Leave every tensor whose name is `prefix` or starts with it unused, for a stated reason."""
        for name in [name for name in self._left if name.startswith(prefix)]:
            del self._left[name]
            self.dropped[name] = reason

    def finish(self) -> None:
        """Check that every tensor was taken or dropped.

        Raises:
            KeyMismatch: some that were asked for are not in the file, or some of the file nobody asked for.
        """
        if self._missing or self._left:
            raise KeyMismatch(self.path, self._missing, self._left)
