"""Puts networks together around tensors that exist already."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

NetworkT = TypeVar("NetworkT", bound=nn.Module)


def assemble(
    build: Callable[[], NetworkT],
    state: Mapping[str, torch.Tensor],
    replace: Callable[[nn.Module], None] | None = None,
) -> NetworkT:
    """The network of `build` for inference, with the tensors of `state` as its parameters, which are not copied.

    `replace` may put in layers of its own before; `state` then holds the parameters of the others.

    It is built on the meta device and without initialisers: random numbers that the state replaces would cost seconds
    at the published size, and on the meta device some initialisers import torch's compiler.
    """
    with torch.device("meta"), _WithoutInitialisers():
        network = build()
    if replace is not None:
        replace(network)
    network.load_state_dict(state, assign=True)
    return network.requires_grad_(requires_grad=False).eval()


class _WithoutInitialisers(TorchFunctionMode):
    """Makes the functions of `torch.nn.init` answer their tensor as it is."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if getattr(func, "__module__", None) == "torch.nn.init":
            return kwargs["tensor"] if kwargs and "tensor" in kwargs else args[0]
        return func(*args, **(kwargs or {}))
