import pytest
import torch
import torch.nn.functional as F

from cosyvoice_web.engines.cosyvoice.layers.self_attention import LONG, attend


@pytest.mark.parametrize("frames", [1, LONG - 1, LONG, LONG + 45])
@pytest.mark.parametrize("batch", [1, 2])
def test_equals_the_fused_kernel_to_rounding(batch: int, frames: int) -> None:
    query, key, value = torch.randn(3, batch, 2, frames, 64, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(
        attend(query, key, value), F.scaled_dot_product_attention(query, key, value), rtol=1e-5, atol=1e-6
    )


def test_rows_may_lie_anywhere_in_memory() -> None:
    joint = torch.randn(1, LONG, 3, 2, 64, generator=torch.Generator().manual_seed(4))
    query, key, value = joint.permute(2, 0, 3, 1, 4)
    expected = F.scaled_dot_product_attention(query.contiguous(), key.contiguous(), value.contiguous())
    torch.testing.assert_close(attend(query, key, value), expected, rtol=1e-5, atol=1e-6)
