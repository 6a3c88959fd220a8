"""Short-time Fourier transform and its inverse, as the vocoder uses them: small windows, real and imaginary parts."""

import torch

from cosyvoice_web.engines.cosyvoice.config import VocoderConfig

LARGEST_MAGNITUDE = 100.0
"""Ceiling of predicted magnitudes, so that one wild value cannot blow up the waveform."""


def spectrum(signal: torch.Tensor, config: VocoderConfig) -> torch.Tensor:
    """Spectrum of a signal at the audio rate, frames centred on multiples of the hop, reflected at the ends.

    Args:
        signal: (1, samples) float32.
        config: gives FFT size and hop in samples.

    Returns:
        (1, samples // hop + 1, fft_size + 2) float32: real parts of all bins, then imaginary parts.

    Source: CosyVoice, hifigan/generator.py, HiFTGenerator._stft.
    Differs: channels last.
    """
    complex_bins = torch.stft(
        signal,
        config.fft_size,
        config.fft_hop_samples,
        window=torch.hann_window(config.fft_size, dtype=signal.dtype),
        return_complex=True,
    )
    return torch.cat((complex_bins.real, complex_bins.imag), dim=1).transpose(1, 2).contiguous()


def waveform(log_magnitude: torch.Tensor, phase: torch.Tensor, config: VocoderConfig) -> torch.Tensor:
    """Signal whose spectrum is given.

    Args:
        log_magnitude: (1, frames, fft_size // 2 + 1) float32, natural logarithm.
        phase: (1, frames, fft_size // 2 + 1) float32, radians.
        config: gives FFT size and hop in samples.

    Returns:
        (1, (frames - 1) * hop) float32 at the audio rate.

    Source: CosyVoice, hifigan/generator.py, HiFTGenerator._istft.
    """
    magnitude = log_magnitude.exp().clamp_(max=LARGEST_MAGNITUDE)
    bins = torch.polar(magnitude, phase).transpose(1, 2)
    window = torch.hann_window(config.fft_size, dtype=phase.dtype)
    return torch.istft(bins, config.fft_size, config.fft_hop_samples, window=window)
