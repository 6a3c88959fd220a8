"""Text tokens to speech tokens."""
