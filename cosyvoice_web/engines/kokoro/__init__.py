"""The embedded default voice: Kokoro-82M, whose weights come as Python packages."""
