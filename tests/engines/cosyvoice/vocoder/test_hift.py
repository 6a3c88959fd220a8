from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from cosyvoice_web.engines.cosyvoice.vocoder.hift import HiFTVocoder
from cosyvoice_web.engines.cosyvoice.weights.recipe import input_tensor
from tests.engines.cosyvoice.golden_files import assert_close, golden
from tests.engines.cosyvoice.stages import build_vocoder, made_up_mel, tiny_vocoder

ROUNDING_OF_FULL_AUDIO = 5e-4
"""Recipe weights make waves of 100 and more before the limiter, so float32 leaves this much at full size."""


def golden_mel() -> torch.Tensor:
    return input_tensor("hift_mel", (1, 80, 50)).transpose(1, 2)


def golden_source(vocoder: HiFTVocoder) -> torch.Tensor:
    return 0.1 * input_tensor("source", (1, 1, 50 * vocoder.config.samples_per_frame))[0]


@torch.inference_mode()
def check_source_goldens(vocoder: HiFTVocoder, size: str) -> None:
    values = golden(size)
    values.assert_equal(vocoder.f0_predictor(golden_mel()), "hift_f0")
    phases = torch.zeros(vocoder.config.harmonic_count + 1, 1, dtype=torch.float64)
    source, _ = vocoder.harmonic_source(values.tensor("source_f0"), phases, None)
    values.assert_equal(source[None], "source_no_noise_zero_phase")


def test_tiny_computes_what_the_reference_computes() -> None:
    vocoder = tiny_vocoder()
    check_source_goldens(vocoder, "tiny")
    golden("tiny").assert_equal(vocoder.decode(golden_mel(), golden_source(vocoder)), "hift_audio")


@pytest.mark.slow
def test_full_computes_what_the_reference_computes() -> None:
    """The function is compared in float64: recipe weights amplify float32 rounding, the golden file's included."""
    vocoder = build_vocoder("full")
    check_source_goldens(vocoder, "full")
    single = vocoder.decode(golden_mel(), golden_source(vocoder))
    double = vocoder.double().decode(golden_mel().double(), golden_source(vocoder).double())
    golden("full").assert_equal(double.float(), "hift_audio")
    assert_close(single, double.float(), ROUNDING_OF_FULL_AUDIO)


@pytest.mark.parametrize(("frames", "part_count"), [(1, 2), (30, 2), (100, 3), (9, 20)])
def test_parts_make_the_same_waveform_as_the_whole(frames: int, part_count: int) -> None:
    vocoder = build_vocoder("tiny").double()
    mel = made_up_mel(frames).double()
    source = 0.1 * torch.randn(1, frames * 256, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    with ThreadPoolExecutor(part_count) as executor:
        parts = vocoder.decode_in_parts(mel, source, part_count, executor)
    assert_close(parts, vocoder.decode(mel, source), 1e-12)


@pytest.mark.parametrize("changed", ["mel", "source"])
def test_nothing_further_than_the_context_changes_a_frame(changed: str) -> None:
    vocoder = build_vocoder("tiny").double()
    mel, source = made_up_mel(61).double(), torch.zeros(1, 61 * 256, dtype=torch.float64)
    before = vocoder.decode(mel, source)
    if changed == "mel":
        mel[:, 30] += 1
    else:
        source[:, 30 * 256 : 31 * 256] += 1
    frames = (vocoder.decode(mel, source) - before).abs()[0].gt(1e-13).nonzero() // 256
    assert vocoder.context_frames - 5 <= 30 - frames.min() <= vocoder.context_frames
    assert vocoder.context_frames - 5 <= frames.max() - 30 <= vocoder.context_frames


def test_inputs_stay_as_they_are_and_the_wave_within_its_limit() -> None:
    vocoder, mel = tiny_vocoder(), made_up_mel(20)
    source = torch.zeros(1, 20 * 256)
    given = mel.clone()
    wave = vocoder.decode(given, source)
    assert torch.equal(given, mel)
    assert source.abs().max() == 0
    assert wave.shape == (1, 20 * 256)
    assert wave.abs().max() <= vocoder.config.audio_limit
