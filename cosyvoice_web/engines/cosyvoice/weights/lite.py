"""Reads and writes the weights of a lite directory: those of our modules, in the numbers that int8 needs.

A file holds one network. Weights of heavy linear layers are int8 with a float32 scale a row, as int8 rounds official
weights, too; so are the projections of relative positions and the text embedding, which are computed with in float32.
Other matrices and convolutions are float16, vectors float32. Names are those of our modules; scales are called like
their weight, with `SCALES` behind it.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from cosyvoice_web.engines.cosyvoice.layers.linears import Int8Linear, quantize_rows
from cosyvoice_web.engines.cosyvoice.layers.rounded import RoundedEmbedding, RoundedLinear
from cosyvoice_web.engines.cosyvoice.quantization import heavy_linears, kernels_for
from cosyvoice_web.engines.cosyvoice.weights.lite_files import FORMAT_VERSION, VERSION_FIELD, check_lite_file
from cosyvoice_web.errors import FileTruncated

SCALES = "_scales"
_ROUNDED_TABLES = ("text_encoder.embedding.weight", "attention.position.weight")
_LARGEST_HALF = torch.finfo(torch.float16).max

State = dict[str, torch.Tensor]


def lite_state(network: nn.Module, state: Mapping[str, torch.Tensor]) -> State:
    """What a lite file keeps of the float32 `state` of `network`, whose own tensors are not read."""
    rounded = {f"{name}.weight" for name in heavy_linears(network)}
    rounded |= {name for name in state if name.endswith(_ROUNDED_TABLES)}
    kept: State = {}
    for name, tensor in state.items():
        if name in rounded:
            kept[name], kept[name + SCALES] = quantize_rows(tensor)
        elif tensor.dim() > 1 and float(tensor.abs().max()) <= _LARGEST_HALF:
            kept[name] = tensor.half().contiguous()
        else:
            kept[name] = tensor.contiguous()
    return kept


def write_weights(path: Path, kept: State) -> None:
    """Write a lite file; it is not there before it is whole."""
    unfinished = path.with_name(path.name + ".unfinished")
    save_file(kept, unfinished, metadata={VERSION_FIELD: str(FORMAT_VERSION)})
    unfinished.replace(path)


def read_weights(path: Path) -> State:
    """The tensors of a lite file, mapped and not read yet.

    Raises:
        FileMissing, FileTruncated: the file is not there, not whole, or of another version.
    """
    check_lite_file(path)
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as reason:
        raise FileTruncated(
            str(path), f"a damaged file ({reason})", "lite weights: convert the model again"
        ) from reason


def place_layers(network: nn.Module, kept: State) -> None:
    """Give `network` a layer of its own for every weight in `kept` that has scales.

    These tensors leave `kept`; the others stay, in float32. None of them holds on to the file, whose pages would count
    as memory of the process.
    """
    for name in [name.removesuffix(SCALES) for name in kept if name.endswith(SCALES)]:
        path = name.removesuffix(".weight")
        parent, _, child = path.rpartition(".")
        weight, scales = kept.pop(name), kept.pop(name + SCALES)
        layer: nn.Module
        if not name.endswith(_ROUNDED_TABLES):
            layer = Int8Linear(
                weight, scales, _copy(kept.pop(f"{path}.bias", None)), kernels_for(network, *weight.shape)
            )
        elif isinstance(network.get_submodule(path), nn.Embedding):
            layer = RoundedEmbedding(weight.clone(), scales.clone())
        else:
            layer = RoundedLinear(weight.clone(), scales.clone())
        setattr(network.get_submodule(parent), child, layer)
    kept.update({name: tensor.to(torch.float32, copy=True) for name, tensor in kept.items()})


def _copy(tensor: torch.Tensor | None) -> torch.Tensor | None:
    return None if tensor is None else tensor.clone()
