import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from cosyvoice_web.engines.cosyvoice.mel_decoder.stream import MelSeam, MelStretch, cross_fade, fading_window
from tests.engines.cosyvoice.golden_files import GOLDEN_DIR, assert_close
from tests.engines.cosyvoice.stages import made_up_mel


def test_cross_fade_computes_what_the_reference_computes() -> None:
    golden = np.load(GOLDEN_DIR / "frontend.npz")
    fade_in, fade_out, expected = (torch.from_numpy(golden[name]) for name in ("fade_in", "fade_out", "faded_2048"))
    assert_close(cross_fade(fade_in, fade_out, torch.from_numpy(np.hamming(2048))), expected)


@pytest.mark.parametrize("shared", [1, 2, 34])
def test_the_two_halves_of_the_fading_window_add_up_to_one(shared: int) -> None:
    rising, falling = torch.split(fading_window(shared), shared)
    assert torch.allclose(rising + falling, torch.ones(shared))
    assert rising[0] <= 0.5 <= rising[-1]


def steady_tone(start: int, length: int, phase: float = 0.0) -> torch.Tensor:
    steps = torch.arange(start, start + length, dtype=torch.float64)
    return torch.sin(2 * math.pi * steps / 50 + phase).float()[None]


@pytest.mark.parametrize("phase", [0.0, 1.0, math.pi])
def test_a_steady_tone_passes_the_seam_without_a_click(phase: float) -> None:
    """Also where the two chunks disagree about what they share: no step is steeper than the tone and the fade."""
    seam, shared = MelSeam(100), 100
    first = seam.push(steady_tone(0, 400), is_last=False)
    second = seam.push(steady_tone(300, 400, phase), is_last=False)
    third = seam.push(steady_tone(600, 200, phase), is_last=True)
    joined = torch.cat((first, second, third), dim=1)[0]
    assert joined.shape == (800,)
    assert joined.diff().abs().max() <= 2 * math.pi / 50 + (math.pi / (2 * shared) * 2 if phase else 1e-6)
    if not phase:
        assert torch.allclose(joined, steady_tone(0, 800)[0], atol=1e-6)


def test_a_last_chunk_shorter_than_the_overlap_is_faded_where_it_lies() -> None:
    seam = MelSeam(34)
    mel = made_up_mel(100)
    first = seam.push(mel[:, :80], is_last=False)
    rest = seam.push(mel[:, 46:60], is_last=True)
    assert_close(torch.cat((first, rest), dim=1), mel[:, :60], 1e-6)


@pytest.mark.parametrize("speed", [0.5, 0.77, 1.0, 1.3, 2.0])
def test_a_whole_sentence_is_stretched_as_in_the_reference(speed: float) -> None:
    mel = made_up_mel(103)
    expected = F.interpolate(mel.transpose(1, 2), size=int(103 / speed), mode="linear").transpose(1, 2)
    assert_close(MelStretch(speed).push(mel, is_last=True), expected, 1e-6)


@pytest.mark.parametrize("speed", [0.5, 0.77, 1.3, 2.0])
@pytest.mark.parametrize("sizes", [(40, 60, 100), (1, 1, 1, 1, 196), (100, 0, 100, 0), (3, 196, 1)])
def test_pieces_are_stretched_like_the_whole(speed: float, sizes: tuple[int, ...]) -> None:
    mel = made_up_mel(200)
    stretcher = MelStretch(speed)
    pieces = [
        stretcher.push(piece, is_last=index == len(sizes) - 1)
        for index, piece in enumerate(torch.split(mel, list(sizes), dim=1))
    ]
    joined = torch.cat(pieces, dim=1)
    whole = MelStretch(speed).push(mel, is_last=True)
    assert abs(joined.shape[1] - whole.shape[1]) <= 1
    positions = ((torch.arange(joined.shape[1], dtype=torch.float64) + 0.5) * speed - 0.5).clamp(0, 199)
    left = positions.floor().long()
    right = (left + 1).clamp(max=199)
    expected = torch.lerp(mel[:, left], mel[:, right], (positions - left).float()[None, :, None])
    assert_close(joined, expected, 1e-6)
