import pytest
import torch

from tests.engines.cosyvoice.stages import build_mel_decoder, made_up_mel, tiny_mel_decoder


@pytest.mark.parametrize("token_count", [1, 2, 40, 41, 60, 256])
def test_frames_follow_the_token_rate(token_count: int) -> None:
    regulator = tiny_mel_decoder().length_regulator
    with torch.inference_mode():
        regulated = regulator(made_up_mel(5)[:, :0], made_up_mel(token_count), 0)
    assert regulated.shape == (1, int(token_count / 50 * 22050 / 256), 80)


def test_tokens_that_two_chunks_share_get_the_same_frames() -> None:
    """Away from the edge, which the convolutions see."""
    regulator = build_mel_decoder("tiny").length_regulator
    regulator.blocks = torch.nn.ModuleList()
    encoded = made_up_mel(120)
    with torch.inference_mode():
        first = regulator(encoded[:, :0], encoded[:, :70], 0)
        second = regulator(encoded[:, :0], encoded[:, 50:], 0)
    assert torch.equal(first[:, -34:], second[:, :34])
