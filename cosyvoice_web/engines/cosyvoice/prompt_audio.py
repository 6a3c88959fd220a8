"""Recordings that users send become samples at the rates the model hears, or a refusal that says what is wanted."""

from dataclasses import dataclass
from io import BytesIO

import numpy as np
import numpy.typing as npt
import soundfile
import torch
import torchaudio.functional

from cosyvoice_web.engines.cosyvoice.features import TOKENIZER_SAMPLE_RATE_HZ
from cosyvoice_web.errors import InvalidRequest

LONGEST_SECONDS = 30.0
LEAST_SPEECH_SECONDS = 0.5
LOWEST_RATE_HZ, HIGHEST_RATE_HZ = 8_000, 192_000
MOST_CHANNELS = 8

SILENCE_PEAK = 1e-3
"""Highest magnitude of a recording that counts as silence (-60 dBFS)."""
FULL_SCALE = 0.999
MOST_CLIPPED_SHARE = 0.005
"""Share of samples at full scale above which a recording counts as clipped; clean speech has next to none."""
SPEECH_RANGE_DB = 35.0
"""A frame counts as speech if it is at most this much quieter than the loud ones."""

RATE_STEP_HZ = 25
_FRAME_SECONDS = 0.02
_BLOCK_FRAMES = 65_536
_WANTED = "send 3 to 10 seconds of one clear voice as WAV, FLAC, OGG or MP3"


@dataclass(frozen=True, slots=True)
class Recording:
    """One recording at the two rates that the model hears: (samples,) float32 each, in [-1, 1]."""

    at_16_khz: torch.Tensor
    at_model_rate: torch.Tensor


def check_header(audio: bytes, field: str) -> None:
    """Refuse what the file's header alone shows to be of no use; nothing is decoded.

    Raises:
        InvalidRequest: no audio file, too long, or a rate or channel count out of range. `field` is the part of the
            request that the recording came in.
    """
    with _opened(audio, field) as file:
        _check_size(file, field)


def read_recording(audio: bytes, model_rate_hz: int, field: str) -> Recording:
    """Decode a recording, mix it to mono and bring it to 16 kHz and to `model_rate_hz`.

    Raises:
        InvalidRequest: as `check_header`, or the file breaks off, or what is in it is too short, silent or clipped.
    """
    with _opened(audio, field) as file:
        _check_size(file, field)
        rate_hz = file.samplerate
        samples, clipped_share = _mono(file, field)
    _check_sound(samples, rate_hz, clipped_share, field)
    samples /= samples.abs().max().clamp(min=1.0)
    at_16_khz = resample(samples, rate_hz, TOKENIZER_SAMPLE_RATE_HZ)
    # an odd rate, rounded, can stretch a recording past what the speech tokenizer takes
    at_16_khz = at_16_khz[: int(LONGEST_SECONDS * TOKENIZER_SAMPLE_RATE_HZ)]
    speech_seconds = _speech_seconds(at_16_khz)
    if speech_seconds < LEAST_SPEECH_SECONDS:
        raise InvalidRequest(
            f"The recording holds {speech_seconds:.1f} s of speech in {len(samples) / rate_hz:.1f} s, at least "
            f"{LEAST_SPEECH_SECONDS} s are needed: {_WANTED}.",
            field,
        )
    return Recording(at_16_khz, resample(samples, rate_hz, model_rate_hz))


def resample(samples: torch.Tensor, from_hz: int, to_hz: int) -> torch.Tensor:
    """(samples,) float32 at another rate.

    Source: torchaudio.functional.resample with its defaults, as CosyVoice, utils/file_utils.py, load_wav.
    Differs: an odd rate is taken as the nearest multiple of 25 Hz, at most 0.16 % off: the filters for a rate such as
    44101 Hz would fill gigabytes. Every common rate, 11025 Hz too, is such a multiple.
    """
    from_hz = round(from_hz / RATE_STEP_HZ) * RATE_STEP_HZ
    resampled: torch.Tensor = torchaudio.functional.resample(samples, from_hz, to_hz)
    return resampled


def _opened(audio: bytes, field: str) -> soundfile.SoundFile:
    if not audio:
        raise InvalidRequest(f"The recording is empty, 0 bytes: {_WANTED}.", field)
    try:
        return soundfile.SoundFile(BytesIO(audio))
    except (soundfile.SoundFileError, TypeError, ValueError) as reason:
        raise InvalidRequest(
            f"The recording ({len(audio)} bytes) is not an audio file that can be read here: {_WANTED}.", field
        ) from reason


def _check_size(file: soundfile.SoundFile, field: str) -> None:
    if not LOWEST_RATE_HZ <= file.samplerate <= HIGHEST_RATE_HZ:
        raise InvalidRequest(
            f"The recording has {file.samplerate} samples a second, {LOWEST_RATE_HZ} to {HIGHEST_RATE_HZ} can be used: "
            f"{_WANTED}.",
            field,
        )
    if file.channels > MOST_CHANNELS:
        raise InvalidRequest(
            f"The recording has {file.channels} channels, at most {MOST_CHANNELS} can be used: {_WANTED}.", field
        )
    seconds = file.frames / file.samplerate
    if seconds > LONGEST_SECONDS:
        raise _too_long(f"{seconds:.1f} s", field)


def _mono(file: soundfile.SoundFile, field: str) -> tuple[torch.Tensor, float]:
    """Samples (samples,) float32 and the share of them at full scale; reads no further than the longest allowed."""
    most_frames = int(LONGEST_SECONDS * file.samplerate)
    blocks: list[npt.NDArray[np.float32]] = []
    frame_count = clipped_count = 0
    try:
        while len(block := file.read(_BLOCK_FRAMES, dtype="float32", always_2d=True)):
            frame_count += len(block)
            if frame_count > most_frames:
                raise _too_long(f"more than {LONGEST_SECONDS:g} s", field)
            clipped_count += int((np.abs(block) >= FULL_SCALE).any(axis=1).sum())
            blocks.append(block.mean(axis=1))
    except soundfile.SoundFileError as reason:
        raise InvalidRequest(
            f"The recording is damaged after {frame_count / file.samplerate:.1f} s: {_WANTED}.", field
        ) from reason
    samples = np.concatenate(blocks) if blocks else np.zeros(0, np.float32)
    return torch.from_numpy(samples), clipped_count / max(1, frame_count)


def _check_sound(samples: torch.Tensor, rate_hz: int, clipped_share: float, field: str) -> None:
    seconds = len(samples) / rate_hz
    if seconds < LEAST_SPEECH_SECONDS:
        raise InvalidRequest(
            f"The recording lasts {seconds:.2f} s, at least {LEAST_SPEECH_SECONDS} s of speech are needed: {_WANTED}.",
            field,
        )
    if not bool(torch.isfinite(samples).all()):
        raise InvalidRequest(f"The recording holds samples that are not numbers: {_WANTED}.", field)
    peak = float(samples.abs().max())
    if peak < SILENCE_PEAK:
        raise InvalidRequest(f"The recording is silent, its loudest sample is {peak:.5f} of 1: {_WANTED}.", field)
    if clipped_share > MOST_CLIPPED_SHARE:
        raise InvalidRequest(
            f"The recording is clipped, {clipped_share:.1%} of it is at full scale: record it at a lower level, and "
            f"{_WANTED}.",
            field,
        )


def _speech_seconds(samples: torch.Tensor) -> float:
    """How much of (samples,) at 16 kHz is not a pause: frames within `SPEECH_RANGE_DB` of the loud ones."""
    frame = int(_FRAME_SECONDS * TOKENIZER_SAMPLE_RATE_HZ)
    power = samples[: len(samples) // frame * frame].reshape(-1, frame).square().mean(dim=1)
    floor = max(float(power.quantile(0.98)) * 10 ** (-SPEECH_RANGE_DB / 10), SILENCE_PEAK**2)
    return float((power >= floor).sum()) * _FRAME_SECONDS


def _too_long(found: str, field: str) -> InvalidRequest:
    return InvalidRequest(f"The recording lasts {found}, at most {LONGEST_SECONDS:g} s can be used: {_WANTED}.", field)
