"""Which layers are replaced. How far they are then off is the matter of the tests of layers and of parity."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from torch import nn

from cosyvoice_web.engines.cosyvoice import quantization
from cosyvoice_web.engines.cosyvoice.layers.linears import Int8Linear, PackedLinear
from cosyvoice_web.engines.cosyvoice.layers.self_attention import Bfloat16SelfAttention, SelfAttention
from cosyvoice_web.engines.cosyvoice.layers.time_convolution import Bfloat16TimeConvolution, TimeConvolution
from cosyvoice_web.engines.cosyvoice.networks import Networks
from cosyvoice_web.engines.cosyvoice.quantization import Precision, heavy_layers, prepare_layers
from cosyvoice_web.engines.cosyvoice.weights.files import open_model
from cosyvoice_web.engines.cosyvoice.weights.loading import load_networks


@pytest.fixture
def networks(recipe_model: Path) -> Networks:
    return load_networks(open_model(recipe_model))


def all_networks(networks: Networks) -> tuple[nn.Module, ...]:
    return networks.language_model, networks.mel_decoder, networks.vocoder


def kinds(networks: Networks) -> Counter[type]:
    return Counter(type(module) for network in all_networks(networks) for module in network.modules())


def heavy_kinds(networks: Networks) -> Counter[type]:
    heavy = (getattr(parent, name) for network in all_networks(networks) for parent, name in heavy_layers(network))
    return Counter(type(layer) for layer in heavy)


def test_every_heavy_layer_is_named_once(networks: Networks) -> None:
    places = [(id(parent), name) for network in all_networks(networks) for parent, name in heavy_layers(network)]
    assert len(places) == len(set(places))


def test_most_weights_are_in_heavy_layers(networks: Networks) -> None:
    def count(modules: Iterable[nn.Module]) -> int:
        return sum(parameter.numel() for module in modules for parameter in module.parameters())

    for network in all_networks(networks):
        heavy = [getattr(parent, name) for parent, name in heavy_layers(network)]
        assert count(heavy) > 0.5 * count(m for m in network.modules() if isinstance(m, nn.Linear | TimeConvolution))


@pytest.mark.parametrize("has_bfloat16", [True, False])
def test_int8_rounds_every_heavy_layer_that_the_processor_can_round(
    networks: Networks, has_bfloat16: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quantization, "has_bfloat16_products", lambda: has_bfloat16)
    before, heavy = kinds(networks), heavy_kinds(networks)
    prepare_layers(networks, Precision.INT8, 2)
    after = kinds(networks)
    assert after[Int8Linear] == heavy[nn.Linear] == before[nn.Linear] - after[nn.Linear]
    assert after[Bfloat16TimeConvolution] == (heavy[TimeConvolution] if has_bfloat16 else 0)
    assert after[Bfloat16SelfAttention] == (before[SelfAttention] if has_bfloat16 else 0)
    assert heavy[SelfAttention] == before[SelfAttention]


def test_float32_rounds_nothing(networks: Networks) -> None:
    before, heavy = kinds(networks), heavy_kinds(networks)
    prepare_layers(networks, Precision.FLOAT32, 1)
    after = kinds(networks)
    assert after[PackedLinear] == heavy[nn.Linear]
    assert after == before - Counter({nn.Linear: heavy[nn.Linear]}) + Counter({PackedLinear: heavy[nn.Linear]})
