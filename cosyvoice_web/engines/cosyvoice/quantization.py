"""Which layers of the networks compute in fewer bits, or are laid out anew; the networks themselves never know.

The layers of the transformer, residual and convolution blocks hold nearly all of the products. Everything else stays as
it is: the projections of relative positions, which are used once at load, and the layers between the stages, which are
small and whose errors would go straight into the sound.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from enum import Enum

import torch
from torch import nn

from cosyvoice_web.engines.cosyvoice.language_model.speech_lm import SpeechLM
from cosyvoice_web.engines.cosyvoice.layers.encoder import EncoderBlock
from cosyvoice_web.engines.cosyvoice.layers.linears import Int8Linear, Kernels, PackedLinear, has_onednn
from cosyvoice_web.engines.cosyvoice.layers.self_attention import Bfloat16SelfAttention, SelfAttention
from cosyvoice_web.engines.cosyvoice.layers.time_convolution import Bfloat16TimeConvolution, TimeConvolution
from cosyvoice_web.engines.cosyvoice.mel_decoder.convolution_block import ConvolutionBlock
from cosyvoice_web.engines.cosyvoice.mel_decoder.velocity_net import AttentionBlock, ResidualBlock
from cosyvoice_web.engines.cosyvoice.networks import Networks
from cosyvoice_web.engines.cosyvoice.vocoder.hift import ResidualStack

_BLOCKS = (EncoderBlock, AttentionBlock, ResidualBlock, ConvolutionBlock, ResidualStack)
_POSITIONS = "position"
_HEAD = "head"


class Precision(Enum):
    """In which numbers the networks compute.

    INT8: linear layers in int8, and what they cannot do, convolutions and attention of the flow and convolutions of the
    vocoder, in bfloat16 where the processor has arithmetic for it, else in float32.
    """

    INT8 = "int8"
    FLOAT32 = "float32"


Layer = nn.Linear | TimeConvolution | SelfAttention
"""What may be replaced."""


def has_bfloat16_products() -> bool:
    """Whether this processor multiplies bfloat16 faster than float32."""
    return has_onednn() and (torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def kernels_for(network: nn.Module, output_count: int, input_count: int) -> Kernels:
    """The int8 products that are fastest for a layer of `network`.

    The language model asks for a few rows a step, the others for all frames of a sentence.
    """
    is_widening = output_count > input_count
    return Kernels.MANY_ROWS if is_widening and not isinstance(network, SpeechLM) else Kernels.FEW_ROWS


def prepare_layers(networks: Networks, precision: Precision, num_threads: int) -> None:
    """Replace the heavy layers of `networks` for this precision, before anything is spoken.

    Where torch was built without the kernels a precision needs, layers stay as they are: slower, and as accurate.
    """
    jobs = [
        (network, parent, name)
        for network in (networks.language_model, networks.mel_decoder, networks.vocoder)
        for parent, name in heavy_layers(network)
    ]

    def replace(job: tuple[nn.Module, nn.Module, str]) -> None:
        network, parent, name = job
        setattr(parent, name, _replacement(getattr(parent, name), precision, network))

    with ThreadPoolExecutor(num_threads) as threads:
        for _ in threads.map(replace, jobs):
            pass


def heavy_layers(network: nn.Module) -> Iterator[tuple[nn.Module, str]]:
    """The layers that nearly all products belong to, each as its parent and its name there."""
    if isinstance(network, SpeechLM) and isinstance(network.head, nn.Linear):
        yield network, _HEAD
    for block in network.modules():
        if isinstance(block, _BLOCKS):
            for parent in _without_inner_blocks(block):
                for name, child in parent.named_children():
                    if isinstance(child, Layer) and name != _POSITIONS:
                        yield parent, name


def heavy_linears(network: nn.Module) -> list[str]:
    """Names, as in the state of `network`, of the linear layers among its heavy layers."""
    paths = {module: path for path, module in network.named_modules()}
    return [
        f"{paths[parent]}.{name}".removeprefix(".")
        for parent, name in heavy_layers(network)
        if isinstance(getattr(parent, name), nn.Linear)
    ]


def _without_inner_blocks(block: nn.Module) -> Iterator[nn.Module]:
    """A block and what it is made of, except blocks in it, which are met by themselves."""
    yield block
    for child in block.children():
        if not isinstance(child, _BLOCKS):
            yield from _without_inner_blocks(child)


def _replacement(layer: Layer, precision: Precision, network: nn.Module) -> nn.Module:
    if precision is Precision.FLOAT32:
        return PackedLinear.of(layer) if isinstance(layer, nn.Linear) and has_onednn() else layer
    if isinstance(layer, nn.Linear):
        kernels = kernels_for(network, *layer.weight.shape)
        return Int8Linear.of(layer, kernels) if Int8Linear.is_available() else layer
    if not has_bfloat16_products():
        return layer
    return Bfloat16TimeConvolution.of(layer) if isinstance(layer, TimeConvolution) else Bfloat16SelfAttention.of(layer)
