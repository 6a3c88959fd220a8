"""Speech tokens to mel spectrogram, by conditional flow matching."""
