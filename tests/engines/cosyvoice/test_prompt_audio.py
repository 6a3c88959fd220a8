import numpy as np
import pytest
import torch
import torchaudio.functional

from cosyvoice_web.engines.cosyvoice.prompt_audio import check_header, read_recording, resample
from cosyvoice_web.errors import InvalidRequest
from tests.engines.cosyvoice.recordings import audio_file, speech_file, syllables

RATE_HZ = 22_050
FIELD = "prompt_audio"


def dominant_hz(samples: torch.Tensor, rate_hz: int) -> float:
    spectrum = torch.fft.rfft(samples).abs()
    return float(spectrum.argmax()) * rate_hz / len(samples)


@pytest.mark.parametrize(
    ("container", "subtype"),
    [
        ("WAV", "PCM_16"), ("WAV", "PCM_24"), ("WAV", "FLOAT"), ("WAV", "ULAW"), ("FLAC", "PCM_16"), ("OGG", "VORBIS"),
        ("OGG", "OPUS"), ("MP3", "MPEG_LAYER_III"), ("AIFF", "PCM_16"),
    ],
)  # fmt: skip
def test_every_format_becomes_the_same_sound(container: str, subtype: str) -> None:
    audio = audio_file(syllables(2.0, 24_000), 24_000, container, subtype)
    check_header(audio, FIELD)
    recording = read_recording(audio, RATE_HZ, FIELD)
    assert recording.at_16_khz.dtype == recording.at_model_rate.dtype == torch.float32
    assert abs(len(recording.at_16_khz) / 16_000 - 2.0) < 0.1
    assert abs(len(recording.at_model_rate) / RATE_HZ - 2.0) < 0.1
    assert abs(dominant_hz(recording.at_16_khz, 16_000) - 180.0) < 6
    assert abs(dominant_hz(recording.at_model_rate, RATE_HZ) - 180.0) < 6


@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 16_000, 22_050, 44_100, 44_101, 48_000, 192_000])
def test_every_rate_keeps_length_and_pitch(rate_hz: int) -> None:
    recording = read_recording(audio_file(syllables(1.0, rate_hz), rate_hz), RATE_HZ, FIELD)
    assert abs(len(recording.at_16_khz) - 16_000) <= 50
    assert abs(len(recording.at_model_rate) - RATE_HZ) <= 80
    assert abs(dominant_hz(recording.at_model_rate, RATE_HZ) - 180.0) < 6


def test_the_resampler_is_that_of_the_reference() -> None:
    samples = torch.from_numpy(syllables(0.5, 44_100))
    assert torch.equal(resample(samples, 44_100, 16_000), torchaudio.functional.resample(samples, 44_100, 16_000))
    assert torch.equal(resample(samples, 16_000, 16_000), samples)


@pytest.mark.parametrize("rate_hz", [11_025, 44_100])
def test_a_common_rate_is_taken_exactly(rate_hz: int) -> None:
    samples = torch.from_numpy(syllables(0.5, rate_hz))
    assert torch.equal(resample(samples, rate_hz, RATE_HZ), torchaudio.functional.resample(samples, rate_hz, RATE_HZ))


@pytest.mark.parametrize("rate_hz", [8_012, 11_025, 11_037])
def test_the_longest_recording_is_never_longer_than_the_speech_tokenizer_takes(rate_hz: int) -> None:
    recording = read_recording(audio_file(syllables(30.0, rate_hz), rate_hz), RATE_HZ, FIELD)
    assert len(recording.at_16_khz) == 30 * 16_000


def test_channels_are_averaged() -> None:
    left = syllables(1.0)
    both = read_recording(audio_file(np.stack((left, np.zeros_like(left)), axis=1)), RATE_HZ, FIELD)
    alone = read_recording(audio_file(left), RATE_HZ, FIELD)
    torch.testing.assert_close(2 * both.at_model_rate, alone.at_model_rate, atol=1e-4, rtol=0)


def test_a_float_file_a_little_over_full_scale_is_turned_down() -> None:
    samples = syllables(1.0)
    samples[7_000] = 1.6
    recording = read_recording(audio_file(samples, subtype="FLOAT"), RATE_HZ, FIELD)
    assert float(recording.at_model_rate.abs().max()) == pytest.approx(1.0, abs=1e-6)


def click_in_silence() -> np.ndarray:
    samples = np.zeros(4 * RATE_HZ, np.float32)
    samples[RATE_HZ : RATE_HZ + 4_000] = 0.5 * np.sin(np.arange(4_000) / 10)
    return samples


def clipped() -> np.ndarray:
    return np.clip(syllables(2.0, level=3.0), -1, 1)


def not_numbers() -> np.ndarray:
    samples = syllables(1.0)
    samples[500] = np.nan
    return samples


@pytest.mark.parametrize(
    ("audio", "words"),
    [
        (b"", "empty, 0 bytes"),
        (b"\x1aE\xdf\xa3 webm from a browser" * 50, "not an audio file"),
        ("文字".encode(), "(6 bytes) is not an audio file"),
        (audio_file(syllables(30.2)), "lasts 30.2 s, at most 30 s"),
        (audio_file(syllables(0.3)), "lasts 0.30 s, at least 0.5 s"),
        (audio_file(np.zeros(0, np.float32)), "lasts 0.00 s"),
        (audio_file(click_in_silence()), "holds 0.2 s of speech in 4.0 s"),
        (audio_file(np.zeros(2 * RATE_HZ, np.float32)), "is silent"),
        (audio_file(syllables(2.0, level=1e-4)), "is silent"),
        (audio_file(clipped()), "is clipped"),
        (audio_file(not_numbers(), subtype="FLOAT"), "not numbers"),
        (audio_file(syllables(2.0, 4_000), 4_000), "4000 samples a second"),
        (audio_file(np.zeros((40_000, 12), np.float32)), "12 channels"),
    ],
)
def test_what_is_of_no_use_is_refused_with_what_was_found_and_what_is_wanted(audio: bytes, words: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        read_recording(audio, RATE_HZ, FIELD)
    assert refusal.value.field == FIELD
    assert words in str(refusal.value)
    assert "WAV, FLAC, OGG or MP3" in str(refusal.value) or "at most 30 s" in str(refusal.value)


def with_claimed_samples(flac: bytes, count: int) -> bytes:
    """The file with another number of samples in its header: the low 36 bits of 8 bytes at 18."""
    header = int.from_bytes(flac[18:26], "big") >> 36 << 36 | count
    return flac[:18] + header.to_bytes(8, "big") + flac[26:]


def test_a_header_that_claims_hours_is_refused_without_decoding() -> None:
    flac = audio_file(syllables(1.0), container="FLAC")
    check_header(with_claimed_samples(flac, RATE_HZ), FIELD)
    with pytest.raises(InvalidRequest, match=r"lasts 7200\.0 s, at most 30 s"):
        check_header(with_claimed_samples(flac, 7200 * RATE_HZ), FIELD)


def test_a_file_that_breaks_off_is_read_as_far_as_it_goes_or_refused() -> None:
    wav = speech_file(2.0)
    half = read_recording(wav[: len(wav) // 2], RATE_HZ, FIELD)
    assert abs(len(half.at_model_rate) / RATE_HZ - 1.0) < 0.01
    flac = audio_file(syllables(4.0), container="FLAC")
    with pytest.raises(InvalidRequest):
        read_recording(flac[: len(flac) // 50], RATE_HZ, FIELD)


def test_another_part_of_the_request_is_named() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        check_header(b"", "source_audio")
    assert refusal.value.field == "source_audio"
