"""An engine that does what a test tells it: speak at once, wait for a signal, fail, or return nonsense."""

import copy
import hashlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from cosyvoice_web.errors import InvalidRequest
from cosyvoice_web.speech import AudioChunk, Manner, Samples, SpeechMode, Voice
from cosyvoice_web.text.sentences import Sentence

RATE_HZ = 24_000
PATIENT_SECONDS = 20.0
"""How long a test waits for what must happen; reached only when it fails."""

VOICES = (
    Voice("zh_mei", "Mei", "zh", "female", default=True),
    Voice("zh_bo", "Bo", "zh", "male"),
    Voice("en_ann", "Ann", "en", "female", default=True),
    Voice("ja_yui", "Yui", "ja", "female", default=True),
)

Behaviour = Callable[[Sentence], Iterator[Samples]]


def wait_until(condition: Callable[[], bool]) -> None:
    """For what another thread does a moment later."""
    tick = threading.Event()
    for _ in range(2000):
        if condition():
            return
        tick.wait(0.005)
    raise AssertionError("it never came")


def tone(text: str, *, seconds: float = 0.05, voice: str = "", seed: int = 0, rate_hz: int = RATE_HZ) -> Samples:
    """A sound that belongs to this text, voice and seed alone."""
    generator = np.random.default_rng([seed, *f"{voice}|{text}".encode()])
    return generator.uniform(-0.5, 0.5, round(seconds * rate_hz)).astype(np.float32)


def yielding(*pieces: Samples) -> Behaviour:
    """These samples, whatever the text."""
    return lambda sentence: iter(pieces)


def raising(error: Exception) -> Behaviour:
    """Speak a little, then raise; a copy each time, because a raised exception keeps its frames alive."""

    def behave(sentence: Sentence) -> Iterator[Samples]:
        yield tone(sentence.text)
        raise copy.copy(error)

    return behave


@dataclass
class Stuck:
    """A call that does not return until it is released."""

    entered: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)

    def __call__(self, sentence: Sentence) -> Iterator[Samples]:
        self.entered.set()
        assert self.release.wait(PATIENT_SECONDS)
        yield tone("late " + sentence.text)

    def wait_until_entered(self) -> None:
        assert self.entered.wait(PATIENT_SECONDS)


def digest(recording: bytes) -> str:
    return hashlib.sha256(recording).hexdigest()


def name_of(manner: Manner) -> str:
    """A name that belongs to this manner alone."""
    if manner.prompt is not None:
        return f"{manner.prompt.text}|{digest(manner.prompt.audio)}"
    assert manner.voice is not None
    return manner.voice.id if manner.instruction is None else f"{manner.voice.id}|{manner.instruction}"


class ScriptedVoice:
    """One request's voice."""

    def __init__(self, engine: "ScriptedEngine", manner: Manner) -> None:
        self._engine = engine
        self._manner = manner

    def announce(self, sentences: Sequence[Sentence], *, seed: int) -> None:
        self._engine.announced.append((tuple(sentences), seed))

    def speak(self, sentence: Sentence, *, speed: float, seed: int, stream: bool = False) -> Iterator[AudioChunk]:
        self._engine.spoken.append(sentence)
        self._engine.streamed.append(stream)
        behaviour = self._engine.behaviour_for(sentence)
        yield from self._engine.work(sentence.text, behaviour, self._manner, speed, seed)

    def convert(self, recording: bytes, *, speed: float, seed: int, stream: bool = False) -> Iterator[AudioChunk]:
        yield from self._engine.work(digest(recording), None, self._manner, speed, seed)


class ScriptedEngine:
    """Speaks `tone` in `chunk_count` equal pieces a sentence, unless `on` says otherwise for a sentence."""

    name = "scripted"
    sample_rate_hz = RATE_HZ
    voices: Sequence[Voice] = VOICES
    languages = frozenset({"zh", "en", "ja"})
    obeys_speech_marks = False

    def __init__(
        self,
        *,
        chunk_count: int = 1,
        native_speed_range: tuple[float, float] = (0.5, 2.0),
        modes: frozenset[SpeechMode] = frozenset(SpeechMode),
    ) -> None:
        self.chunk_count = chunk_count
        self.native_speed_range = native_speed_range
        self.modes = modes
        self.manners: list[Manner] = []
        self.announced: list[tuple[tuple[Sentence, ...], int]] = []
        self.streamed: list[bool] = []
        self.prepared: list[weakref.ref[ScriptedVoice]] = []
        self.prepare_behaviour: Callable[[], None] = lambda: None
        self.spoken: list[Sentence] = []
        self.speeds: list[float] = []
        self.seeds: list[int] = []
        self.chunks_yielded = 0
        self.iterators_ended = 0
        self.most_at_once = 0
        self.warm_up_count = 0
        self.threads: set[threading.Thread] = set()
        self.closed = threading.Event()
        self.warm_up_behaviour: Callable[[], None] = lambda: None
        self._behaviours: dict[str, Behaviour] = {}
        self._at_once = 0
        self._lock = threading.Lock()

    def on(self, word: str, behaviour: Behaviour) -> None:
        """Sentences that hold `word` are spoken by `behaviour`."""
        self._behaviours[word] = behaviour

    def behaviour_for(self, sentence: Sentence) -> Behaviour | None:
        return next((behaviour for word, behaviour in self._behaviours.items() if word in sentence.text), None)

    def default_voice(self, language: str) -> Voice:
        return next(voice for voice in self.voices if voice.default and voice.language == language)

    def check(self, manner: Manner, *, converting: bool = False) -> None:
        if converting and SpeechMode.VOICE_CONVERSION not in self.modes:
            raise InvalidRequest("Not voice conversion.", "source_audio")
        if not converting and manner.mode not in self.modes:
            raise InvalidRequest(f"Not {manner.mode.value}.", "prompt_audio" if manner.prompt else "instruct_text")

    def prepare(self, manner: Manner) -> "ScriptedVoice":
        self.manners.append(manner)
        self.threads.add(threading.current_thread())
        self.prepare_behaviour()
        voice = ScriptedVoice(self, manner)
        self.prepared.append(weakref.ref(voice))
        return voice

    def work(
        self, words: str, behaviour: Behaviour | None, manner: Manner, speed: float, seed: int
    ) -> Iterator[AudioChunk]:
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self.speeds.append(speed)
            self.seeds.append(seed)
            self.threads.add(threading.current_thread())
        try:
            if behaviour is None:
                whole = tone(words, voice=name_of(manner), seed=seed, seconds=0.05 / speed)
                pieces: Iterator[Samples] = iter(np.array_split(whole, self.chunk_count))
            else:
                pieces = behaviour(self.spoken[-1])
            for samples in pieces:
                self.chunks_yielded += 1
                yield AudioChunk(samples, self.sample_rate_hz)
        finally:
            with self._lock:
                self._at_once -= 1
                self.iterators_ended += 1

    def warm_up(self) -> None:
        self.warm_up_count += 1
        self.threads.add(threading.current_thread())
        self.warm_up_behaviour()

    def close(self) -> None:
        self.closed.set()
