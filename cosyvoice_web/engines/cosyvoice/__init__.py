"""CosyVoice-300M in PyTorch, inference only."""
