"""Speaks with a model directory in every way it can, and measures whether speech comes out.

What tests with recipe weights cannot show: that trained weights sound right. See docs/verify-with-real-weights.md.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
import soundfile
import torch

from cosyvoice_web.engines.cosyvoice.acoustics import energy_share_below, level_db, level_range_db, worst_seam
from cosyvoice_web.engines.cosyvoice.checks import Check, Outcome, judged
from cosyvoice_web.engines.cosyvoice.doctor import examine
from cosyvoice_web.engines.cosyvoice.engine import CosyVoiceEngine
from cosyvoice_web.engines.cosyvoice.prepared_voice import CosyVoicePreparedVoice
from cosyvoice_web.engines.cosyvoice.read_back import Spoken, read_back, write
from cosyvoice_web.engines.cosyvoice.weights.files import ModelFiles
from cosyvoice_web.errors import CosyVoiceWebError
from cosyvoice_web.speech import Manner, Samples, SpeechMode, Voice, VoicePrompt
from cosyvoice_web.text.characters import units
from cosyvoice_web.text.prepare import prepare_text

TEXTS = {
    "zh": "今天天气很好，我们一起去公园散步吧。",
    "en": "The quick brown fox jumps over the lazy dog near the river bank.",
    "ja": "電車は朝八時二十分に東京駅を出発します。",
    "yue": "我哋今日一齊去公園散步，你話好唔好？",
    "ko": "오늘은 날씨가 좋아서 함께 공원에 가려고 합니다.",
}
SHORT_TEXT = "你好，再见。"
ANOTHER_TEXT = "人工智能正在改变我们的工作和生活方式。"
MARKED_TEXT = "他突然[laughter]停下来，真是<strong>太好笑</strong>了。"
STYLE = "A cheerful young speaker with a bright voice and a lively pace."
SYLLABLE_SECONDS = (0.08, 0.5)
LEVEL_DB = (-45.0, -6.0)
LEAST_LEVEL_RANGE_DB = 15.0
LEAST_SHARE_BELOW_4_KHZ = 0.8
WORST_SEAM = 1.5
LEAST_LEAD = 0.05
"""By how much a cosine similarity must be ahead of the next."""
LENGTH_TOLERANCE_SAMPLES = 1024
SEED = 1


def verify(
    directory: Path,
    num_threads: int,
    *,
    recording: VoicePrompt | None = None,
    recogniser: Sequence[str] = (),
    keep: Path | None = None,
) -> Iterator[Check]:
    """Yield the checks as they are done.

    Args:
        directory: the model.
        num_threads: threads of one synthesis.
        recording: somebody's speech and its text, to be imitated; None: the model imitates its own speech.
        recogniser: a command that reads speech files back, as benchmarks/recogniser.py does; empty: none.
        keep: folder in which everything spoken is left as WAV files, to be listened to.
    """
    examination = examine(directory)
    broken = [check.name for check in examination.checks if check.error is not None]
    yield judged("files", not broken, ", ".join(broken) or "whole", "all whole; `doctor` says what is wrong")
    if examination.files is None:
        return
    try:
        engine = CosyVoiceEngine.load(directory, num_threads)
    except CosyVoiceWebError as error:
        yield Check("loads", Outcome.FAILED, str(error))
        return
    is_recipe = examination.files.forced_tokens_per_text_token is not None
    yield judged("trained weights", not is_recipe, "recipe, by the marker file" if is_recipe else "yes", "no recipe")
    with tempfile.TemporaryDirectory() as folder:
        verification = _Verification(engine, examination.files, recording)
        yield from verification.checks()
        paths = write(verification.spoken, keep or Path(folder), engine.sample_rate_hz)
        yield from read_back(verification.spoken, paths, recogniser)


class _Verification:
    """The checks of one engine; `spoken` gathers what it said, by the name of the check."""

    def __init__(self, engine: CosyVoiceEngine, files: ModelFiles, recording: VoicePrompt | None) -> None:
        self._engine = engine
        self._is_forced = files.forced_tokens_per_text_token is not None
        self._refusals = files.refusals()
        self._prompt = recording
        self._strangers = engine.voices[1:] if recording is None else engine.voices
        self.spoken: dict[str, Spoken] = {}

    def checks(self) -> Iterator[Check]:
        for mode, reason in self._refusals.items():
            yield Check(mode.value, Outcome.SKIPPED, reason)
        for voice in self._engine.voices:
            language = voice.language if voice.language in TEXTS else "zh"
            yield from self._speech(voice.id, Manner(voice), language)
        if self._prompt is None and self._engine.voices:
            self._prompt = self._own_speech(self._engine.voices[0])
        manner = Manner(self._engine.voices[0]) if self._engine.voices else Manner(None, self._prompt)
        if manner.voice is None and manner.prompt is None:
            yield Check("speech", Outcome.SKIPPED, "the model has no voices of its own: give it a --recording")
            return
        yield from self._repetition_and_stream(manner)
        if SpeechMode.INSTRUCT in self._engine.modes:
            yield from self._speech("instruct", Manner(self._engine.voices[0], instruction=STYLE), "zh", MARKED_TEXT)
        if self._prompt is not None:
            yield from self._imitation(self._prompt)

    # -- groups of checks -------------------------------------------------------------------------------------------

    def _speech(self, name: str, manner: Manner, language: str, text: str = "") -> Iterator[Check]:
        text = text or TEXTS[language]
        started_at = time.monotonic()
        try:
            spoken = self._speak(manner, text, language)
        except CosyVoiceWebError as error:
            yield Check(f"{name} ends", Outcome.FAILED, str(error))
            return
        taken_seconds = time.monotonic() - started_at
        self.spoken[name] = spoken
        ended = "no: the marker file forces the length" if self._is_forced else "by itself"
        yield judged(f"{name} ends", not self._is_forced, ended, "by itself, at the first try")
        rate_hz, samples = self._engine.sample_rate_hz, spoken.samples
        seconds = len(samples) / rate_hz
        pace = seconds / sum(map(units, spoken.text))
        yield judged(
            f"{name} length",
            SYLLABLE_SECONDS[0] <= pace <= SYLLABLE_SECONDS[1],
            f"{seconds:.1f} s, {pace:.2f} s a syllable; took {taken_seconds:.1f} s",
            f"{SYLLABLE_SECONDS[0]} to {SYLLABLE_SECONDS[1]} s a syllable",
        )
        yield self._sounds(name, samples)

    def _sounds(self, name: str, samples: Samples) -> Check:
        rate_hz = self._engine.sample_rate_hz
        level, spread = level_db(samples), level_range_db(samples, rate_hz)
        share = energy_share_below(samples, 4000.0, rate_hz)
        is_level = LEVEL_DB[0] <= level <= LEVEL_DB[1]
        return judged(
            f"{name} sounds like speech",
            is_level and spread >= LEAST_LEVEL_RANGE_DB and share >= LEAST_SHARE_BELOW_4_KHZ,
            f"level {level:.0f} dB, range {spread:.0f} dB, {share:.0%} below 4 kHz",
            f"{LEVEL_DB[0]:.0f} to {LEVEL_DB[1]:.0f} dB, at least {LEAST_LEVEL_RANGE_DB:.0f} dB, "
            f"at least {LEAST_SHARE_BELOW_4_KHZ:.0%}",
        )

    def _repetition_and_stream(self, manner: Manner) -> Iterator[Check]:
        try:
            first, again, other = (self._speak(manner, SHORT_TEXT, "zh", seed=s) for s in (SEED, SEED, SEED + 1))
            whole = self.spoken.get(manner.voice.id) if manner.voice and manner.voice.language == "zh" else None
            whole = whole or self._speak(manner, TEXTS["zh"], "zh")
            streamed = self._speak(manner, TEXTS["zh"], "zh", stream=True)
        except CosyVoiceWebError as error:
            yield Check("seed and stream", Outcome.FAILED, str(error))
            return
        equal = np.array_equal(first.samples, again.samples)
        yield judged("seed repeats", equal, "equal samples" if equal else "other samples", "equal samples")
        differs = not np.array_equal(first.samples, other.samples)
        yield judged("another seed differs", differs, "other samples" if differs else "equal samples", "other samples")
        lengths = len(whole.samples), len(streamed.samples)
        yield judged(
            "stream length",
            abs(lengths[1] - lengths[0]) <= LENGTH_TOLERANCE_SAMPLES,
            f"{lengths[1]} samples, {lengths[0]} as a whole",
            f"equal within {LENGTH_TOLERANCE_SAMPLES}",
        )
        seam = worst_seam(streamed.samples, streamed.seams, self._engine.sample_rate_hz)
        yield judged(
            "stream seams",
            len(streamed.seams) > 0 and seam <= WORST_SEAM,
            f"{len(streamed.seams)}, the worst steps {seam:.2f} times as far as its surroundings",
            f"at least one, none above {WORST_SEAM} times",
        )

    def _imitation(self, prompt: VoicePrompt) -> Iterator[Check]:
        if SpeechMode.ZERO_SHOT in self._engine.modes and prompt.text is None:
            yield Check("zero_shot", Outcome.SKIPPED, "the recording came without a --recording-text")
        elif SpeechMode.ZERO_SHOT in self._engine.modes:
            yield from self._speech("zero_shot", Manner(None, prompt), "zh", ANOTHER_TEXT)
            yield from self._likeness("zero_shot", prompt)
        if SpeechMode.CROSS_LINGUAL in self._engine.modes:
            yield from self._speech("cross_lingual", Manner(None, VoicePrompt(prompt.audio)), "en")
            yield from self._likeness("cross_lingual", prompt)
        if SpeechMode.VOICE_CONVERSION in self._engine.modes:
            yield from self._conversion(prompt)

    def _likeness(self, name: str, prompt: VoicePrompt) -> Iterator[Check]:
        """Nearer to the recording than to what stored voices say, as the model's own speaker encoder hears it."""
        others = [self.spoken[voice.id] for voice in self._strangers if voice.id in self.spoken]
        if name not in self.spoken or not others:
            return
        try:
            heard = self._engine.speaker_of(self._file(self.spoken[name].samples))
            wanted = self._engine.speaker_of(prompt.audio)
            strangers = [self._engine.speaker_of(self._file(other.samples)) for other in others]
        except CosyVoiceWebError as error:
            yield Check(f"{name} is the recording's voice", Outcome.FAILED, str(error))
            return
        likeness = float(torch.cosine_similarity(heard, wanted).item())
        nearest = max(float(torch.cosine_similarity(heard, stranger).item()) for stranger in strangers)
        yield judged(
            f"{name} is the recording's voice",
            likeness >= nearest + LEAST_LEAD,
            f"likeness {likeness:.2f}, to the nearest other voice {nearest:.2f}",
            f"{LEAST_LEAD} more like the recording than like any other voice",
        )

    def _conversion(self, prompt: VoicePrompt) -> Iterator[Check]:
        manner = Manner(self._engine.voices[-1]) if self._engine.voices else Manner(None, prompt)
        try:
            chunks = self._engine.prepare(manner).convert(prompt.audio, speed=1.0, seed=SEED)
            samples = np.concatenate([chunk.samples for chunk in chunks])
        except CosyVoiceWebError as error:
            yield Check("voice_conversion", Outcome.FAILED, str(error))
            return
        self.spoken["voice_conversion"] = Spoken("", "", samples, ())
        given_seconds = soundfile.info(BytesIO(prompt.audio)).duration
        seconds = len(samples) / self._engine.sample_rate_hz
        yield judged(
            "voice_conversion length",
            abs(seconds - given_seconds) <= 0.1,
            f"{seconds:.2f} s of {given_seconds:.2f} s",
            "equal within 0.1 s",
        )
        yield self._sounds("voice_conversion", samples)

    # -- speaking ---------------------------------------------------------------------------------------------------

    def _speak(self, manner: Manner, text: str, language: str, *, seed: int = SEED, stream: bool = False) -> Spoken:
        self._engine.check(manner)
        voice: CosyVoicePreparedVoice = self._engine.prepare(manner)
        (plain,), (sentence,) = (
            prepare_text(text, language, self._engine.languages, keep_speech_marks=keep)
            for keep in (False, self._engine.obeys_speech_marks)
        )
        chunks = voice.speak_once(sentence, speed=1.0, seed=seed, stream=stream)
        pieces = [chunk.samples for chunk in chunks if len(chunk.samples) > 0]
        ends = np.cumsum([len(piece) for piece in pieces]).tolist()
        return Spoken(language, plain.spoken, np.concatenate(pieces), tuple(ends[:-1]))

    def _own_speech(self, voice: Voice) -> VoicePrompt | None:
        spoken = self.spoken.get(voice.id)
        return VoicePrompt(self._file(spoken.samples), spoken.text) if spoken else None

    def _file(self, samples: Samples) -> bytes:
        file = BytesIO()
        soundfile.write(file, np.clip(samples, -0.95, 0.95), self._engine.sample_rate_hz, format="WAV", subtype="FLOAT")
        return file.getvalue()
