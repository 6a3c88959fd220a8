"""Mel spectrogram to waveform: a neural source filter with an inverse short-time Fourier transform at its end."""
