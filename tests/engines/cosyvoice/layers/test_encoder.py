import pytest
import torch

from cosyvoice_web.engines.cosyvoice.config import TransformerConfig
from cosyvoice_web.engines.cosyvoice.layers.encoder import TransformerEncoder, blocked_keys
from cosyvoice_web.engines.cosyvoice.layers.relative_positions import align_distances, position_encodings
from cosyvoice_web.engines.cosyvoice.weights.encoder_keys import CONFORMER_NORMS, encoder_state
from cosyvoice_web.engines.cosyvoice.weights.tensor_source import TensorSource
from tests.engines.cosyvoice.golden_files import assert_close, golden

ROUNDING = 2e-6


def encoder(chunk_tokens: int = 0) -> TransformerEncoder:
    config = golden("tiny").config.mel_decoder.token_encoder
    config = TransformerConfig(
        config.input_dim,
        config.model_dim,
        config.head_count,
        config.feed_forward_dim,
        config.layer_count,
        config.input_layer,
        config.activation,
        chunk_tokens,
    )
    flow = golden("tiny").checkpoint("flow")
    module = TransformerEncoder(config)
    module.load_state_dict(encoder_state(TensorSource("flow.pt", flow), "encoder", config, CONFORMER_NORMS))
    return module.requires_grad_(requires_grad=False).eval()


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def test_the_flows_token_encoder_computes_what_the_reference_computes() -> None:
    flow = golden("tiny").checkpoint("flow")
    tokens = flow["input_embedding.weight"][golden("tiny").tensor("speech")]
    encoded = encoder()(tokens)
    projected = torch.nn.functional.linear(encoded, flow["encoder_proj.weight"], flow["encoder_proj.bias"])
    golden("tiny").assert_equal(projected, "flow_encoded")


def test_prepared_positions_change_nothing() -> None:
    prepared, fresh, x = encoder(), encoder(), random(1, 30, 32)
    prepared.prepare_positions(64)
    assert prepared.positions(30) is prepared.positions(64)
    assert prepared.positions(65) is not prepared.positions(64)
    assert_close(prepared(x), fresh(x), ROUNDING)


@pytest.mark.parametrize("prepared", [1, 64])
def test_columns_that_no_key_was_written_to_are_blocked(prepared: int) -> None:
    module = encoder(chunk_tokens=1)
    module.prepare_positions(prepared)
    span = module.positions(30).span(0, 30, 7)
    assert span.rows.shape[1] == span.bias.shape[1] == 37
    assert torch.isfinite(span.rows).all()
    assert torch.isfinite(span.bias[:, :30]).all()
    assert torch.isneginf(span.bias[:, 30:]).all()
    assert module.positions(30).span(0, 30).bias.shape[1] == 30


@pytest.mark.parametrize("chunk_tokens", [0, 1, 4])
def test_a_token_sees_its_chunk_and_what_stands_before(chunk_tokens: int) -> None:
    module, x = encoder(chunk_tokens), random(1, 12, 32)
    changed = x.clone()
    changed[:, 6] += 1.0
    differs = (module(x) - module(changed)).abs().amax(dim=-1)[0] > 1e-5
    first_to_see = {0: 0, 1: 6, 4: 4}[chunk_tokens]
    assert differs.tolist() == [column >= first_to_see for column in range(12)]


@pytest.mark.parametrize("chunk_tokens", [0, 1, 4])
def test_left_padding_changes_nothing(chunk_tokens: int) -> None:
    module, x = encoder(chunk_tokens), random(3, 13, 32)
    lengths = [13, 6, 1]
    together = module(x, lengths)
    assert torch.isfinite(together).all()
    for row, length in enumerate(lengths):
        alone = module(x[row : row + 1, 13 - length :])
        assert_close(together[row : row + 1, 13 - length :], alone, ROUNDING)


def test_the_input_stays_as_it_was() -> None:
    x = random(2, 9, 32)
    kept = x.clone()
    encoder()(x, [9, 4])
    assert torch.equal(x, kept)


def test_distances_are_aligned_with_keys() -> None:
    distances = torch.arange(6, -7, -1, dtype=torch.float32)
    both_ways = align_distances(distances.expand(2, 7, 13).contiguous(), 7)
    expected = torch.arange(7)[:, None] - torch.arange(7)
    assert torch.equal(both_ways[1], expected.float())
    last_three = align_distances(distances[:7].expand(2, 3, 7).contiguous(), 7)
    assert torch.equal(last_three[1].tril(4), expected[4:].float().tril(4))


def test_encodings_of_opposite_distances_mirror_the_sine() -> None:
    encodings = position_encodings(3, -3, 8)
    assert encodings.shape == (7, 8)
    assert torch.equal(encodings[:, 0::2], -encodings.flip(0)[:, 0::2])
    assert torch.equal(encodings[:, 1::2], encodings.flip(0)[:, 1::2])
    assert encodings[0, 0] == pytest.approx(0.14112, abs=1e-5)  # sin 3: keys to the left have positive distances


def test_nothing_is_blocked_for_one_query_that_may_see_all() -> None:
    assert blocked_keys(1, 9, 1) is None
    assert blocked_keys(9, 9, 0) is None
    assert blocked_keys(1, 9, 1, [0, 0]) is None
    blocked = blocked_keys(1, 5, 1, [0, 3])
    assert blocked is not None
    assert blocked.squeeze().tolist() == [[False] * 5, [True, True, True, False, False]]


@pytest.mark.parametrize("chunk_tokens", [0, 1, 4])
def test_every_query_sees_something(chunk_tokens: int) -> None:
    blocked = blocked_keys(5, 5, chunk_tokens, [0, 3])
    assert blocked is not None
    assert not blocked.all(dim=-1).any()
    assert blocked[1, 0, 3:, :3].all(), "padding is seen by no other query"
