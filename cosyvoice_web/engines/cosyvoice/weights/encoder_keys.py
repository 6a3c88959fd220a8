"""Official names of a relative-position transformer encoder's tensors to ours, with what is exact folded in."""

import math
from typing import Final

import torch

from cosyvoice_web.engines.cosyvoice.config import TransformerConfig
from cosyvoice_web.engines.cosyvoice.weights.tensor_source import TensorSource

CONFORMER_NORMS: Final = ("norm_mha", "norm_ff")
"""Official names of the norms before attention and before feed-forward in a ConformerEncoder."""
TRANSFORMER_NORMS: Final = ("norm1", "norm2")
"""The same in a TransformerEncoder."""


def encoder_state(
    source: TensorSource, prefix: str, config: TransformerConfig, norms: tuple[str, str]
) -> dict[str, torch.Tensor]:
    """State of `layers.encoder.TransformerEncoder`, float32, from the official tensors below `prefix`.

    Where the source lacks a tensor, layers are left out of the state: `source.finish` names what is missing.

    Raises:
        ShapeMismatch: a tensor has another shape than `config` implies.
    """
    dim = config.model_dim
    state = renamed(source, f"{prefix}.embed.out.0", "input", (dim, config.input_dim))
    state |= renamed(source, f"{prefix}.embed.out.1", "input_norm", (dim,))
    state |= renamed(source, f"{prefix}.after_norm", "output_norm", (dim,))
    for layer in range(config.layer_count):
        theirs, ours = f"{prefix}.encoders.{layer}", f"blocks.{layer}"
        state |= renamed(source, f"{theirs}.{norms[0]}", f"{ours}.attention_norm", (dim,))
        state |= renamed(source, f"{theirs}.{norms[1]}", f"{ours}.feed_forward_norm", (dim,))
        hidden = config.feed_forward_dim
        state |= renamed(source, f"{theirs}.feed_forward.w_1", f"{ours}.feed_forward.expand", (hidden, dim))
        state |= renamed(source, f"{theirs}.feed_forward.w_2", f"{ours}.feed_forward.contract", (dim, hidden))
        attention = _attention_state(source, f"{theirs}.self_attn", config)
        state |= {f"{ours}.attention.{name}": tensor for name, tensor in attention.items()}
    return state


def renamed(source: TensorSource, theirs: str, ours: str, shape: tuple[int, ...]) -> dict[str, torch.Tensor]:
    """Weight (of `shape`) and bias (of its first axis) of one linear layer or norm, under our name."""
    return {
        f"{ours}.weight": source.take(f"{theirs}.weight", shape),
        f"{ours}.bias": source.take(f"{theirs}.bias", shape[:1]),
    }


def _attention_state(source: TensorSource, prefix: str, config: TransformerConfig) -> dict[str, torch.Tensor]:
    """Query, key and value in one matrix; 1/sqrt(head_dim) and the content bias folded into its query rows.

    See `layers.relative_attention.RelativeAttention` for the algebra. The one matrix is a copy, the rest is not.
    """
    dim, heads = config.model_dim, (config.head_count, config.head_dim)
    weights = [source.take(f"{prefix}.linear_{part}.weight", (dim, dim)) for part in "qkv"]
    biases = [source.take(f"{prefix}.linear_{part}.bias", (dim,)) for part in "qkv"]
    content = source.take(f"{prefix}.pos_bias_u", heads)
    position = source.take(f"{prefix}.pos_bias_v", heads)
    state = {"position.weight": source.take(f"{prefix}.linear_pos.weight", (dim, dim))}
    state |= renamed(source, f"{prefix}.linear_out", "output", (dim, dim))
    if any(tensor.is_meta for tensor in (*weights, *biases, content, position)):
        return state
    scale = 1.0 / math.sqrt(config.head_dim)
    query_bias = (biases[0] + content.flatten()) * scale
    return state | {
        "query_key_value.weight": torch.cat((weights[0] * scale, *weights[1:])),
        "query_key_value.bias": torch.cat((query_bias, *biases[1:])),
        "position_bias": (position - content) * scale,
    }
