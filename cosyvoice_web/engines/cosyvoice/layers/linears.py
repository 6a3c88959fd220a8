"""Stand-ins for `torch.nn.Linear` whose weights are laid out for the processor's kernels when they are loaded.

Both are called like `nn.Linear`, so the networks do not know which one they hold. Neither can be trained or saved.
"""

import threading
import warnings
from enum import Enum
from typing import Self

import torch
from torch import nn

LARGEST_INT8 = 127

_packing = threading.Lock()


def has_onednn() -> bool:
    """Whether this build of torch has oneDNN's products, and can lay out float32 weights for them."""
    return bool(torch.backends.mkldnn.is_available())  # type: ignore[no-untyped-call]


def onednn_product(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """`F.linear` by oneDNN: float32 (..., input) times (output, input), laid out for it or contiguous."""
    product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return product


class Kernels(Enum):
    """Libraries of int8 products, by torch's names.

    fbgemm is faster for few rows, and for layers that narrow; oneDNN for many rows in layers that widen.
    """

    FEW_ROWS = "fbgemm"
    MANY_ROWS = "onednn"


class PackedLinear(nn.Module):
    """A float32 linear layer whose weight oneDNN has reordered once, instead of at every call.

    Source: torch's own CPU compiler replaces linear layers by the same operator.
    Differs: not exported by torch as a module; results agree with `nn.Linear` to rounding.
    """

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        super().__init__()
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight)
        self._bias = bias

    @classmethod
    def of(cls, linear: nn.Linear) -> Self:
        """With the weights of `linear`."""
        return cls(linear.weight.detach(), None if linear.bias is None else linear.bias.detach())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Float32 (..., input) to (..., output)."""
        return onednn_product(x, self._weight, self._bias)


class Int8Linear(nn.Module):
    """A linear layer with int8 weights, one scale an output channel, and activations rounded to 8 bits at each call.

    All rows of a call share one activation scale, so a row's result depends, within the accuracy of 8 bits, on the rows
    beside it. Processors without 8-bit dot products (VNNI) add pairs of products in 16 bits, which would overflow:
    there activations get 7 bits.

    Source: Jacob et al. 2018, "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
    Inference"; torch.ao.nn.quantized.dynamic.Linear.
    """

    def __init__(self, weight: torch.Tensor, scales: torch.Tensor, bias: torch.Tensor | None, kernels: Kernels) -> None:
        """`weight` int8 (output, input), `scales` float32 (output,), `bias` float32 (output,)."""
        super().__init__()
        zero_points = torch.zeros(len(scales), dtype=torch.int64)
        with _packing, warnings.catch_warnings():  # torch keeps one choice of kernels for the whole process
            warnings.filterwarnings("ignore", "torch.quantize_per_tensor", UserWarning)  # deprecated, without successor
            quantized = torch._make_per_channel_quantized_tensor(weight, scales.double(), zero_points, 0)
            before = torch.backends.quantized.engine
            torch.backends.quantized.engine = kernels.value
            try:
                self._packed = torch.ops.quantized.linear_prepack(quantized, bias)
            finally:
                torch.backends.quantized.engine = before
        self._reduce_range = not torch.cpu._is_vnni_supported()

    @classmethod
    def of(cls, linear: nn.Linear, kernels: Kernels) -> Self:
        """With the weights of `linear`, rounded."""
        bias = None if linear.bias is None else linear.bias.detach()
        return cls(*quantize_rows(linear.weight.detach()), bias, kernels)

    @staticmethod
    def is_available() -> bool:
        """Whether this build of torch has both libraries."""
        return {kernels.value for kernels in Kernels} <= set(torch.backends.quantized.supported_engines)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Float32 (..., input) to (..., output)."""
        output: torch.Tensor = torch.ops.quantized.linear_dynamic(x, self._packed, self._reduce_range)
        return output


def quantize_rows(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Round float32 (output, input) to int8 with one scale a row: int8 (output, input) and float32 (output,)."""
    scales = weight.abs().amax(dim=1).div_(LARGEST_INT8).clamp_(min=torch.finfo(torch.float32).tiny)
    return (weight / scales[:, None]).round_().to(torch.int8), scales
