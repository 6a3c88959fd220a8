import math
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from cosyvoice_web.engines.cosyvoice.vocoder.stream import VocoderStream
from tests.engines.cosyvoice.golden_files import assert_close, golden
from tests.engines.cosyvoice.stages import made_up_mel, tiny_vocoder


def stream(mel: torch.Tensor, sizes: tuple[int, ...], seed: int = 4) -> torch.Tensor:
    vocoder_stream = VocoderStream(tiny_vocoder(), torch.Generator().manual_seed(seed))
    pieces = torch.split(mel, list(sizes), dim=1)
    done = [vocoder_stream.push(piece, is_last=index == len(sizes) - 1) for index, piece in enumerate(pieces)]
    return torch.cat(done, dim=1)


@pytest.mark.parametrize("sizes", [(60, 60), (34, 40, 46), (3, 2, 1, 114), (120, 0), (100, 0, 0, 20), (30,) * 4])
def test_pieces_put_together_are_the_waveform_of_the_whole(sizes: tuple[int, ...]) -> None:
    mel = made_up_mel(120)
    assert_close(stream(mel, sizes), stream(mel, (120,)))


def test_samples_come_as_soon_as_nothing_can_change_them() -> None:
    vocoder_stream = VocoderStream(tiny_vocoder(), torch.Generator().manual_seed(4))
    first = vocoder_stream.push(made_up_mel(60), is_last=False)
    assert first.shape == (1, (60 - 21) * 256)


def test_a_worker_changes_nothing() -> None:
    mel = made_up_mel(150)
    with ThreadPoolExecutor(1) as executor:
        shared = VocoderStream(tiny_vocoder(), torch.Generator().manual_seed(4), executor).push(mel, is_last=True)
    assert_close(shared, stream(mel, (150,)))


@torch.inference_mode()
def test_a_steady_pitch_goes_on_from_piece_to_piece_without_a_click() -> None:
    source = tiny_vocoder().harmonic_source
    f0_hz = torch.full((1, 30), 220.0)
    start = source.random_phases(torch.Generator().manual_seed(8))
    whole, _ = source(f0_hz, start, None)
    first, between = source(f0_hz[:, :13], start, None)
    second, _ = source(f0_hz[:, 13:], between, None)
    pieces = torch.cat((first, second), dim=1)
    seam = first.shape[1]
    steepest_inside = first.diff().abs().max()
    assert pieces.diff()[:, seam - 1].abs().item() <= steepest_inside.item()
    assert (pieces - whole).abs().max() < 1e-4
    jumping, _ = source(f0_hz[:, 13:], start, None)
    assert (jumping - second).abs().max() > 1e-2, "the check would see phases that start anew"


@torch.inference_mode()
def test_voiced_parts_are_harmonic_and_unvoiced_parts_are_noise() -> None:
    vocoder = tiny_vocoder()
    f0_hz = torch.tensor([[0.0] * 10 + [200.0] * 10])
    phases = torch.zeros(vocoder.config.harmonic_count + 1, 1, dtype=torch.float64)
    silent, _ = vocoder.harmonic_source(f0_hz, phases, None)
    noisy, _ = vocoder.harmonic_source(f0_hz, phases, torch.Generator().manual_seed(2))
    again, _ = vocoder.harmonic_source(f0_hz, phases, torch.Generator().manual_seed(2))
    unvoiced = 10 * vocoder.config.samples_per_frame
    assert silent[:, :unvoiced].std() < 1e-6 < silent[:, unvoiced:].std()
    assert noisy[:, :unvoiced].std() > 5 * (noisy - silent)[:, unvoiced:].std()
    assert torch.equal(noisy, again)


def test_random_phases_leave_the_fundamental_alone() -> None:
    phases = tiny_vocoder().harmonic_source.random_phases(torch.Generator().manual_seed(2))
    assert phases[0] == 0
    assert phases.abs().max() <= math.pi
    assert len(set(phases.flatten().tolist())) == golden("tiny").config.vocoder.harmonic_count + 1
