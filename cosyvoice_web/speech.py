"""The values that travel between rooms. All are immutable; samples are float32 in [-1, 1]."""

from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float32]
"""Mono audio, shape (samples,), float32, nominal range [-1, 1]; treated as read-only."""

AUTO_LANGUAGE = "auto"
SPEED_MIN, SPEED_MAX = 0.5, 2.0
SAMPLE_RATE_MIN_HZ, SAMPLE_RATE_MAX_HZ = 8_000, 48_000
SEED_MAX = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Voice:
    """A voice of the loaded engine.

    `language` is its native language as a BCP 47 primary tag ("zh", "yue", "en", "ja", "ko"); it may speak others.
    `default` marks the voice that is taken for that language when a request names none.
    """

    id: str
    name: str
    language: str
    gender: str
    default: bool = False


class SpeechMode(Enum):
    """A way to ask for speech.

    SFT: in a stored voice. ZERO_SHOT: in the voice of a recording whose text is given. CROSS_LINGUAL: in the voice of a
    recording without its text. INSTRUCT: in a stored voice and a described style. VOICE_CONVERSION: a recording
    re-spoken in another voice.
    """

    SFT = "sft"
    ZERO_SHOT = "zero_shot"
    CROSS_LINGUAL = "cross_lingual"
    INSTRUCT = "instruct"
    VOICE_CONVERSION = "voice_conversion"


@dataclass(frozen=True, slots=True)
class VoicePrompt:
    """A recording whose voice is to speak: the bytes of an audio file, and what is said in it where that is known."""

    audio: bytes
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Manner:
    """How something is to be spoken: a stored voice or the voice of a recording, and a style in words."""

    voice: Voice | None
    prompt: VoicePrompt | None = None
    instruction: str | None = None

    @property
    def mode(self) -> SpeechMode:
        """What this asks of an engine, when it is text that is spoken."""
        if self.prompt is not None:
            return SpeechMode.CROSS_LINGUAL if self.prompt.text is None else SpeechMode.ZERO_SHOT
        return SpeechMode.SFT if self.instruction is None else SpeechMode.INSTRUCT


@dataclass(frozen=True, slots=True)
class SpeechRequest:
    """What one caller wants spoken.

    `voice_id` None: the voice of `prompt`, or else the default voice of the text's language; `seed` None: a random one.
    """

    text: str
    voice_id: str | None = None
    language: str = AUTO_LANGUAGE
    speed: float = 1.0
    seed: int | None = None
    prompt: VoicePrompt | None = None
    instruction: str | None = None


@dataclass(frozen=True, slots=True)
class ConversionRequest:
    """What one caller wants re-spoken: the bytes of an audio file, in a stored voice or that of another recording."""

    recording: bytes
    voice_id: str | None = None
    speed: float = 1.0
    seed: int | None = None
    prompt: VoicePrompt | None = None


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """A piece of speech in playing order."""

    samples: Samples
    sample_rate_hz: int

    @property
    def seconds(self) -> float:
        """Length of the piece."""
        return len(self.samples) / self.sample_rate_hz


class AudioFormat(Enum):
    """An output format: its name in requests, which is its file suffix, and its media type."""

    WAV = ("wav", "audio/wav")
    FLAC = ("flac", "audio/flac")
    OGG = ("ogg", "audio/ogg")
    MP3 = ("mp3", "audio/mpeg")

    def __init__(self, suffix: str, media_type: str) -> None:
        self.suffix = suffix
        self.media_type = media_type


@dataclass(frozen=True, slots=True)
class AudioOutput:
    """How the answer is to be encoded; `sample_rate_hz` None: the engine's own rate."""

    format: AudioFormat = AudioFormat.WAV
    sample_rate_hz: int | None = None


@dataclass(frozen=True, slots=True)
class RenderedSpeech:
    """A finished, encoded answer.

    `synthesis_seconds` is the time the engine worked on it, waiting in the queue not included. `voice` is None where a
    recording was the voice.
    """

    data: bytes
    format: AudioFormat
    sample_rate_hz: int
    audio_seconds: float
    synthesis_seconds: float
    voice: Voice | None
    seed: int
