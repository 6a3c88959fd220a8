import pytest
import torch
import torch.nn.functional as F

from cosyvoice_web.engines.cosyvoice.layers.self_attention import Bfloat16SelfAttention, SelfAttention

HEADS, HEAD_DIM = 2, 64


def projections(batch: int, frames: int) -> torch.Tensor:
    return torch.randn(batch, frames, 3 * HEADS * HEAD_DIM, generator=torch.Generator().manual_seed(3))


def expected(projected: torch.Tensor) -> torch.Tensor:
    """Head by head, as the definition says."""
    columns = []
    for query, key, value in zip(
        *(torch.split(part, HEAD_DIM, dim=2) for part in projected.chunk(3, dim=2)), strict=True
    ):
        columns.append(F.softmax(query @ key.transpose(1, 2) / HEAD_DIM**0.5, dim=-1) @ value)
    return torch.cat(columns, dim=2)


@pytest.mark.parametrize("frames", [1, 7, 200])
@pytest.mark.parametrize("batch", [1, 2])
def test_every_head_attends_by_itself(batch: int, frames: int) -> None:
    projected = projections(batch, frames)
    torch.testing.assert_close(SelfAttention(HEADS, HEAD_DIM)(projected), expected(projected), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("frames", [1, 7, 200])
@pytest.mark.parametrize("batch", [1, 2])
def test_bfloat16_is_as_near_as_8_bits_allow(batch: int, frames: int) -> None:
    projected = projections(batch, frames)
    attended = Bfloat16SelfAttention.of(SelfAttention(HEADS, HEAD_DIM))(projected)
    assert attended.dtype == torch.float32
    exact = expected(projected)
    assert float((attended - exact).norm() / exact.norm()) < 0.01
