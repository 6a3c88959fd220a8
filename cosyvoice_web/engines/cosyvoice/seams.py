"""Joins overlapping pieces of a stream."""

import torch


def cross_fade(earlier: torch.Tensor, later: torch.Tensor, overlap: int) -> torch.Tensor:
    """`later` with its first `overlap` values mixed with the last `overlap` values of `earlier`, which they repeat.

    Weights are the falling and the rising half of a Hamming window of 2 x `overlap`; time is the last axis, which both
    tensors, float32, must have `overlap` values of. Returns a new tensor of the shape of `later`.

    Source: CosyVoice, utils/common.py, fade_in_out.
    """
    window = torch.hamming_window(2 * overlap, periodic=False, dtype=torch.float64).float()
    mixed = later[..., :overlap] * window[:overlap] + earlier[..., earlier.shape[-1] - overlap :] * window[overlap:]
    return torch.cat((mixed, later[..., overlap:]), dim=-1)
