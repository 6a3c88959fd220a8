"""Spectral features of prompt recordings: what the flow, the speech tokenizer and the speaker encoder look at."""

import functools

import torch
import torch.nn.functional as F
import torchaudio.compliance.kaldi
import torchaudio.functional

from cosyvoice_web.engines.cosyvoice.config import MelFeatureConfig

TOKENIZER_SAMPLE_RATE_HZ = 16_000
"""Rate at which the speech tokenizer and the speaker encoder hear a recording."""
_TOKENIZER_FFT_SIZE = 400
_TOKENIZER_HOP_SAMPLES = 160
_TOKENIZER_MEL_CHANNELS = 128
_SPEAKER_MEL_CHANNELS = 80


def prompt_log_mel(samples: torch.Tensor, config: MelFeatureConfig) -> torch.Tensor:
    """Log mel spectrogram as the flow was trained on.

    Args:
        samples: (samples,) float32 in [-1, 1] at `config.sample_rate_hz`, longer than half an FFT.
        config: sizes of FFT, window and hop, and the range of the mel filters.

    Returns:
        (1, samples // hop, mel) float32, natural logarithm of amplitudes, at least log(1e-5).

    Source: Matcha-TTS, matcha/utils/audio.py, mel_spectrogram.
    Differs: channels last; recordings come at the model's own rate, the reference's code resamples to another one.
    """
    margin = (config.fft_size - config.hop_samples) // 2
    padded = F.pad(samples[None], (margin, margin), mode="reflect")
    power = _power_spectrum(padded, config.fft_size, config.hop_samples, config.window_samples, is_centred=False)
    filters = mel_filters(
        config.sample_rate_hz, config.fft_size, config.mel_channels, config.lowest_hz, config.highest_hz
    )
    return ((power + 1e-9).sqrt().transpose(1, 2) @ filters).clamp_(min=1e-5).log_()


def tokenizer_log_mel(samples: torch.Tensor) -> torch.Tensor:
    """Log mel spectrogram that the speech tokenizer takes.

    Args:
        samples: (samples,) float32 in [-1, 1] at 16 kHz.

    Returns:
        (1, 128, samples // 160) float32, about -1 to 1.5, 80 dB below the loudest value at least.

    Source: OpenAI Whisper, whisper/audio.py, log_mel_spectrogram.
    """
    power = _power_spectrum(
        samples[None], _TOKENIZER_FFT_SIZE, _TOKENIZER_HOP_SAMPLES, _TOKENIZER_FFT_SIZE, is_centred=True
    )[..., :-1]
    filters = mel_filters(
        TOKENIZER_SAMPLE_RATE_HZ, _TOKENIZER_FFT_SIZE, _TOKENIZER_MEL_CHANNELS, 0.0, TOKENIZER_SAMPLE_RATE_HZ / 2
    )
    decades = (filters.T @ power).clamp_(min=1e-10).log10_()
    return (decades.maximum(decades.max() - 8.0) + 4.0) / 4.0


def speaker_filter_bank(samples: torch.Tensor) -> torch.Tensor:
    """Filter bank energies that the speaker encoder takes.

    Args:
        samples: (samples,) float32 in [-1, 1] at 16 kHz, 25 ms or longer.

    Returns:
        (1, frames, 80) float32, natural logarithm, every channel's mean over time removed; 100 frames a second.

    Source: CosyVoice, cli/frontend.py, CosyVoiceFrontEnd._extract_spk_embedding.
    """
    energies: torch.Tensor = torchaudio.compliance.kaldi.fbank(
        samples[None],
        num_mel_bins=_SPEAKER_MEL_CHANNELS,
        dither=0.0,
        sample_frequency=float(TOKENIZER_SAMPLE_RATE_HZ),
    )
    return (energies - energies.mean(dim=0, keepdim=True))[None]


@functools.cache
def mel_filters(
    sample_rate_hz: int, fft_size: int, mel_channels: int, lowest_hz: float, highest_hz: float
) -> torch.Tensor:
    """Triangular filters on Slaney's mel scale, each of unit area, (fft_size // 2 + 1, mel) float32; do not modify.

    Source: librosa.filters.mel with its defaults, which both reference front ends take.
    """
    filters: torch.Tensor = torchaudio.functional.melscale_fbanks(
        fft_size // 2 + 1, lowest_hz, highest_hz, mel_channels, sample_rate_hz, norm="slaney", mel_scale="slaney"
    )
    return filters


def _power_spectrum(
    samples: torch.Tensor, fft_size: int, hop_samples: int, window_samples: int, *, is_centred: bool
) -> torch.Tensor:
    """`samples` (1, samples) to (1, fft_size // 2 + 1, frames) float32."""
    bins: torch.Tensor = torch.stft(
        samples,
        fft_size,
        hop_samples,
        window_samples,
        torch.hann_window(window_samples),
        center=is_centred,
        return_complex=True,
    )
    return bins.abs().square()
