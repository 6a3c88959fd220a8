"""CosyVoice Web: CosyVoice-300M text-to-speech on a CPU, served as a page and a JSON API."""

__version__ = "0.1.0"
