"""Which linear layers of the networks become int8 or are laid out anew; the networks themselves never know.

The layers of the transformer and residual blocks hold nearly all of the products. Everything else stays as it is: the
projections of relative positions, which are used once at load, and the layers between the stages, which are small and
whose errors would go straight into the sound.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from enum import Enum

from torch import nn

from cosyvoice_web.engines.cosyvoice.language_model.speech_lm import SpeechLM
from cosyvoice_web.engines.cosyvoice.layers.encoder import EncoderBlock
from cosyvoice_web.engines.cosyvoice.layers.linears import Int8Linear, Kernels, PackedLinear, has_onednn
from cosyvoice_web.engines.cosyvoice.mel_decoder.velocity_net import AttentionBlock, ResidualBlock
from cosyvoice_web.engines.cosyvoice.weights.loading import Networks

_BLOCKS = (EncoderBlock, AttentionBlock, ResidualBlock)
_POSITIONS = "position"
_HEAD = "head"


class Precision(Enum):
    """In which numbers the networks compute."""

    INT8 = "int8"
    FLOAT32 = "float32"


def prepare_linears(networks: Networks, precision: Precision, num_threads: int) -> None:
    """Replace the linear layers of `networks` for this precision, before anything is spoken.

    Where torch was built without the kernels a precision needs, layers stay as they are: slower, and as accurate.
    """
    jobs = [
        (parent, name, _replacement(precision, kernels))
        for network, kernels in (
            (networks.language_model, Kernels.FEW_ROWS),
            (networks.mel_decoder, Kernels.MANY_ROWS),
        )
        for parent, name in heavy_linears(network)
    ]

    def replace(job: tuple[nn.Module, str, Callable[[nn.Linear], nn.Module]]) -> None:
        parent, name, replacement = job
        setattr(parent, name, replacement(getattr(parent, name)))

    with ThreadPoolExecutor(num_threads) as threads:
        for _ in threads.map(replace, jobs):
            pass


def heavy_linears(network: nn.Module) -> Iterator[tuple[nn.Module, str]]:
    """The linear layers that nearly all products belong to, each as its parent and its name there."""
    if isinstance(network, SpeechLM):
        yield network, _HEAD
    for block in network.modules():
        if isinstance(block, _BLOCKS):
            for parent in block.modules():
                for name, child in parent.named_children():
                    if isinstance(child, nn.Linear) and name != _POSITIONS:
                        yield parent, name


def _replacement(precision: Precision, kernels: Kernels) -> Callable[[nn.Linear], nn.Module]:
    if precision is Precision.INT8 and Int8Linear.is_available():
        return lambda linear: Int8Linear.of(linear, kernels)
    if has_onednn():
        return PackedLinear.of
    return lambda linear: linear
