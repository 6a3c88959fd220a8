"""The embedded engine on one page: sentence, phonemes, pieces, model, audio."""

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from cosyvoice_web.engines.kokoro.chunking import split_phonemes
from cosyvoice_web.engines.kokoro.model import SAMPLE_RATE_HZ, KokoroModel
from cosyvoice_web.engines.kokoro.pauses import with_natural_edges
from cosyvoice_web.engines.kokoro.phonemes import Phonemizer
from cosyvoice_web.engines.kokoro.voices import VOICES, Styles, load_styles
from cosyvoice_web.engines.onnx import import_onnxruntime
from cosyvoice_web.errors import InvalidRequest, UnknownVoice
from cosyvoice_web.speech import AudioChunk, Manner, SpeechMode, Voice
from cosyvoice_web.text.sentences import Run, Sentence

LANGUAGES = frozenset(("zh", "en", "ja"))
NATIVE_SPEED_RANGE = (0.7, 1.25)
"""Faster, the model swallows the first syllable: twice as many characters misheard at 1.5, four times at 2.0."""

_WARM_UP = Sentence(
    "你好，hello, 何ですか。", 0, 16, "zh", (Run("你好，", "zh"), Run("hello, ", "en"), Run("何ですか。", "ja"))
)
"""Short, as every start waits for it. 何 has a little network of its own for its reading, loaded at its first use."""


@dataclass(frozen=True, slots=True)
class KokoroVoice:
    """One voice, ready to speak; nothing on it changes."""

    model: KokoroModel
    phonemizer: Phonemizer
    styles: Styles

    def announce(self, sentences: Sequence[Sentence], *, seed: int) -> None:
        """Nothing is gained by knowing: every piece takes both cores by itself."""

    def speak(self, sentence: Sentence, *, speed: float, seed: int, stream: bool = False) -> Iterator[AudioChunk]:  # noqa: ARG002
        """Yield one chunk of audio for each piece of the sentence.

        `seed` has no influence, as the model draws nothing, nor has `stream`: it makes a piece as a whole.

        Raises:
            InvalidRequest: a character has no reading.
            NoSpeechProduced: there is nothing to speak.
        """
        for piece in split_phonemes(self.phonemizer.phonemes(sentence)):
            samples = self.model.synthesize(piece, self.styles[len(piece) - 1], speed)
            yield AudioChunk(with_natural_edges(samples, piece, speed), SAMPLE_RATE_HZ)

    def convert(self, recording: bytes, *, speed: float, seed: int, stream: bool = False) -> Iterator[AudioChunk]:
        """Not possible: the model has no way in for sound."""
        raise NotImplementedError


class KokoroEngine:
    """Kokoro-82M with every voice in memory. Nothing on it changes after it is built."""

    def __init__(self, model: KokoroModel, phonemizer: Phonemizer, styles: Mapping[str, Styles]) -> None:
        self._model = model
        self._phonemizer = phonemizer
        self._styles = styles

    @classmethod
    def load(cls, num_threads: int) -> "KokoroEngine":
        """Load model, dictionaries and voices from the installed packages; nothing is written.

        Args:
            num_threads: threads of one inference.

        Raises:
            FileMissing, FileTruncated: the installation is not whole.
        """
        import_onnxruntime()  # before the dictionaries, some of which import it by themselves
        with ThreadPoolExecutor(1, thread_name_prefix="kokoro-load") as pool:
            model = pool.submit(KokoroModel.load, num_threads)
            phonemizer = Phonemizer()
            engine = cls(model.result(), phonemizer, load_styles())
        _return_freed_memory()
        return engine

    @property
    def name(self) -> str:
        """Short name for operators."""
        return "kokoro"

    @property
    def sample_rate_hz(self) -> int:
        """Rate of every chunk."""
        return SAMPLE_RATE_HZ

    @property
    def voices(self) -> Sequence[Voice]:
        """Every voice, the order of the menu."""
        return VOICES

    @property
    def languages(self) -> frozenset[str]:
        """Languages that every voice speaks, each with its own accent."""
        return LANGUAGES

    @property
    def modes(self) -> frozenset[SpeechMode]:
        """Its stored voices, and nothing else."""
        return frozenset((SpeechMode.SFT,))

    @property
    def native_speed_range(self) -> tuple[float, float]:
        """Slowest and fastest speed that the model renders cleanly."""
        return NATIVE_SPEED_RANGE

    @property
    def obeys_speech_marks(self) -> bool:
        """It would read them."""
        return False

    def default_voice(self, language: str) -> Voice:
        """The default voice of the language; the first voice for a language that is not spoken."""
        return next((voice for voice in VOICES if voice.default and voice.language == language), VOICES[0])

    def check(self, manner: Manner, *, converting: bool = False) -> None:
        """Refuse what is not a text in a stored voice.

        Raises:
            InvalidRequest: a recording or a style is asked for.
        """
        if converting:
            raise InvalidRequest(
                "The embedded voice cannot convert recordings: run a CosyVoice-300M model for that.", "source_audio"
            )
        for given, field in ((manner.prompt, "prompt_audio"), (manner.instruction, "instruct_text")):
            if given is not None:
                raise InvalidRequest(
                    f"The embedded voice cannot use {field}: it speaks with its own voices only. Send a speaker, or "
                    "none, or run a CosyVoice-300M model.",
                    field,
                )

    def prepare(self, manner: Manner) -> KokoroVoice:
        """The voice; costs nothing.

        Raises:
            UnknownVoice: the voice is not one of `voices`.
        """
        if manner.voice is None or manner.voice.id not in self._styles:
            raise UnknownVoice(manner.voice.id if manner.voice else "", self._styles)
        return KokoroVoice(self._model, self._phonemizer, self._styles[manner.voice.id])

    def warm_up(self) -> None:
        """Speak a short sentence of every language."""
        for _ in self.prepare(Manner(VOICES[0])).speak(_WARM_UP, speed=1.0, seed=0):
            pass

    def close(self) -> None:
        """Give the memory back."""
        del self._model, self._phonemizer, self._styles


def _return_freed_memory() -> None:
    """Hand what parsing left behind in the allocator back to the system, about 50 MB; glibc only."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
