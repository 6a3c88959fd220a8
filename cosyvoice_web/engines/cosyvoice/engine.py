"""The whole pipeline on one page: text tokens, speech tokens, mel, samples.

Source: CosyVoice, cli/model.py, CosyVoiceModel.tts, for the stages and what each hands on.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from cosyvoice_web.engines.cosyvoice import conditions
from cosyvoice_web.engines.cosyvoice.conditions import LANGUAGES, Conditions
from cosyvoice_web.engines.cosyvoice.features import prompt_log_mel
from cosyvoice_web.engines.cosyvoice.language_model.decoding import Decoding, DecodingEnd, TokenLimits, decode
from cosyvoice_web.engines.cosyvoice.language_model.together import MOST_TOGETHER, decode_together
from cosyvoice_web.engines.cosyvoice.mel_decoder.ode_solver import DEFAULT_STEP_COUNT
from cosyvoice_web.engines.cosyvoice.prompt_audio import check_header, read_recording
from cosyvoice_web.engines.cosyvoice.prompt_encoders import PromptEncoders
from cosyvoice_web.engines.cosyvoice.punctuation import with_stops_between
from cosyvoice_web.engines.cosyvoice.quantization import Precision, prepare_linears
from cosyvoice_web.engines.cosyvoice.state import BREATHER_TOKENS, Synthesis
from cosyvoice_web.engines.cosyvoice.tokenizer import VOCABULARY_SIZE, TextTokenizer
from cosyvoice_web.engines.cosyvoice.voices import StoredVoice, describe_voices
from cosyvoice_web.engines.cosyvoice.weights.files import ModelFiles, ModelKind, open_model
from cosyvoice_web.engines.cosyvoice.weights.loading import Networks, load_networks
from cosyvoice_web.engines.cosyvoice.workers import Workers
from cosyvoice_web.errors import (
    InvalidRequest,
    NonFiniteAudio,
    NoSpeechProduced,
    ShapeMismatch,
    SynthesisError,
    TokenBudgetSpent,
    UnknownVoice,
)
from cosyvoice_web.speech import SEED_MAX, AudioChunk, Manner, SpeechMode, Voice
from cosyvoice_web.text.sentences import Sentence

logger = logging.getLogger("cosyvoice_web.engines.cosyvoice")

NATIVE_SPEED_RANGE = (0.5, 2.0)
SILENCE_PEAK = 1e-3
"""A sentence whose highest magnitude is below this has not been spoken."""
WARM_UP_TEXT, WARM_UP_TOKENS = "你好。", 24
PROMPT_AUDIO, PROMPT_TEXT, INSTRUCT_TEXT, SPEAKER, SOURCE_AUDIO = (
    "prompt_audio",
    "prompt_text",
    "instruct_text",
    "speaker",
    "source_audio",
)
"""Parts of a request, as refusals name them."""
_FIELD_OF_MODE = {
    SpeechMode.SFT: SPEAKER,
    SpeechMode.ZERO_SHOT: PROMPT_AUDIO,
    SpeechMode.CROSS_LINGUAL: PROMPT_AUDIO,
    SpeechMode.INSTRUCT: INSTRUCT_TEXT,
    SpeechMode.VOICE_CONVERSION: SOURCE_AUDIO,
}


@dataclass(frozen=True, slots=True)
class _Model:
    """What every synthesis reads and none changes; `encoders` None: recordings cannot be used."""

    files: ModelFiles
    networks: Networks
    tokenizer: TextTokenizer
    encoders: PromptEncoders | None
    workers: Workers
    flow_steps: int
    exact_tokens: int | None

    @property
    def sample_rate_hz(self) -> int:
        return self.files.config.sample_rate_hz

    @property
    def has_forced_lengths(self) -> bool:
        """Whether sentences end at a given length and not where the model ends them."""
        return self.exact_tokens is not None or self.files.forced_tokens_per_text_token is not None

    def limits(self, text: list[int]) -> TokenLimits:
        if self.exact_tokens is not None:
            return TokenLimits(self.exact_tokens, self.exact_tokens)
        forced = self.files.forced_tokens_per_text_token
        return TokenLimits.for_text(len(text)) if forced is None else TokenLimits(*(forced * len(text),) * 2)

    def synthesis(self, told: Conditions, *, speed: float, seed: int) -> Synthesis:
        return Synthesis(
            self.networks, told, speed=speed, seed=seed, step_count=self.flow_steps, executor=self.workers.second
        )

    def listening(self) -> PromptEncoders:
        if self.encoders is None:
            raise InvalidRequest(
                f"This server cannot use recordings: {self.files.refusals()[SpeechMode.ZERO_SHOT]}.", PROMPT_AUDIO
            )
        return self.encoders


class CosyVoiceEngine:
    """A CosyVoice-300M model in memory. Nothing on it changes while it speaks."""

    name = "cosyvoice"
    languages = LANGUAGES
    native_speed_range = NATIVE_SPEED_RANGE

    def __init__(self, model: _Model) -> None:
        self._model: _Model | None = model
        self._refusals = model.files.refusals()
        self.sample_rate_hz = model.sample_rate_hz
        self.voices: Sequence[Voice] = describe_voices(model.files.voices)
        self.modes = frozenset(SpeechMode) - self._refusals.keys()
        self.obeys_speech_marks = model.files.kind is ModelKind.INSTRUCT

    @classmethod
    def load(
        cls,
        model_dir: Path,
        num_threads: int,
        precision: Precision = Precision.INT8,
        flow_steps: int = DEFAULT_STEP_COUNT,
        exact_tokens: int | None = None,
    ) -> "CosyVoiceEngine":
        """Check a model directory and load its networks; weights are mapped from it, nothing is written.

        Args:
            model_dir: the published files.
            num_threads: threads of one synthesis.
            precision: numbers that the networks compute in.
            flow_steps: Euler steps from noise to mel; fewer are faster and rougher.
            exact_tokens: speech tokens that every sentence gets, whatever the model says: for measurements.

        Raises:
            CheckpointError: a file is missing, incomplete or of another model.
        """
        workers = Workers(num_threads)
        workers.enter()
        files = open_model(model_dir)
        config = files.config
        if config.language_model.text_token_count < VOCABULARY_SIZE:
            raise ShapeMismatch(
                config.path,
                f"a vocabulary of {config.language_model.text_token_count} text tokens",
                f"at least {VOCABULARY_SIZE}, the vocabulary of the 300M models",
            )
        mel_decoder = config.mel_decoder
        for name, found, other, expected in (
            ("llm.spk_embed_dim", config.language_model.speaker_dim, "flow.spk_embed_dim", mel_decoder.speaker_dim),
            ("feat_extractor.num_mels", config.mel_features.mel_channels, "flow.output_size", mel_decoder.mel_channels),
        ):
            if found != expected:
                raise ShapeMismatch(config.path, f"{name} of {found}", f"{expected}, as {other}")
        encoders = None
        if files.speaker_encoder is not None and files.speech_tokenizer is not None:
            encoders = PromptEncoders(
                files.speaker_encoder,
                files.speech_tokenizer,
                speaker_dim=config.language_model.speaker_dim,
                token_count=config.language_model.speech_token_count,
                num_threads=num_threads,
            )
        if files.forced_tokens_per_text_token is not None:
            logger.warning("%s holds recipe weights: what they speak is NOISE, NOT SPEECH", model_dir)
        networks = load_networks(files)
        prepare_linears(networks, precision, num_threads)
        return cls(_Model(files, networks, TextTokenizer(), encoders, workers, flow_steps, exact_tokens))

    @property
    def networks(self) -> Networks:
        """What it computes with, to be measured."""
        return self._loaded().networks

    @property
    def workers(self) -> Workers:
        """The threads it computes on."""
        return self._loaded().workers

    def default_voice(self, language: str) -> Voice:
        """The default voice of the language; the first voice where there is none.

        Raises:
            InvalidRequest: the model has no voices of its own.
        """
        if not self.voices:
            raise InvalidRequest("This model has no voices of its own: send a recording to speak like.", PROMPT_AUDIO)
        spoken = "zh" if language == "yue" else language
        for wanted in (language, spoken):
            for voice in self.voices:
                if voice.default and voice.language == wanted:
                    return voice
        return self.voices[0]

    def check(self, manner: Manner, *, converting: bool = False) -> None:
        """Refuse what this model cannot do, quickly: recordings are looked at but not decoded.

        `converting`: a recording is to be re-spoken, not text to be spoken.

        Raises:
            RequestError: the mode is not there, parts contradict each other, or one of them cannot be used.
        """
        mode = SpeechMode.VOICE_CONVERSION if converting else manner.mode
        if mode in self._refusals:
            raise InvalidRequest(f"This server cannot do {mode.value}: {self._refusals[mode]}.", _FIELD_OF_MODE[mode])
        if manner.prompt is not None and manner.voice is not None:
            raise InvalidRequest("Give a speaker or a recording to speak like, not both.", SPEAKER)
        if manner.prompt is None:
            self._stored(manner.voice)
        else:
            if manner.instruction is not None:
                raise InvalidRequest("Give a style text or a recording to speak like, not both.", INSTRUCT_TEXT)
            check_header(manner.prompt.audio, PROMPT_AUDIO)
            if manner.prompt.text is not None:
                conditions.spoken_prompt(manner.prompt.text, PROMPT_TEXT)
        if manner.instruction is not None:
            conditions.spoken_instruction(manner.instruction, INSTRUCT_TEXT)

    def prepare(self, manner: Manner) -> "CosyVoicePreparedVoice":
        """Listen to the recording, where there is one, and collect what the networks are told of the voice.

        Raises:
            RequestError: the recording, a text or the voice cannot be used.
            CheckpointError: one of the two ONNX files cannot be used.
        """
        model = self._loaded()
        model.workers.enter()
        mel_decoder = model.files.config.mel_decoder
        if manner.prompt is None:
            voice = self._stored(manner.voice)
            if manner.instruction is not None:
                style = tuple(model.tokenizer.encode(conditions.spoken_instruction(manner.instruction, INSTRUCT_TEXT)))
                return CosyVoicePreparedVoice(model, conditions.instructed(voice, style, mel_decoder))
            return CosyVoicePreparedVoice(model, conditions.stored(voice, mel_decoder))
        text = None
        if manner.prompt.text is not None:
            text = tuple(model.tokenizer.encode(conditions.spoken_prompt(manner.prompt.text, PROMPT_TEXT)))
        encoders, features = model.listening(), model.files.config.mel_features
        recording = read_recording(manner.prompt.audio, features.sample_rate_hz, PROMPT_AUDIO)
        cloned = conditions.cloned(
            encoders.speaker(recording.at_16_khz),
            encoders.speech_tokens(recording.at_16_khz),
            prompt_log_mel(recording.at_model_rate, features),
            text,
        )
        return CosyVoicePreparedVoice(model, cloned)

    def speaker_of(self, recording: bytes) -> torch.Tensor:
        """Whose voice a recording is, as a (1, speaker_dim) float32 embedding.

        Raises:
            RequestError: the recording cannot be used, or the model has no speaker encoder.
        """
        encoders = self._loaded().listening()
        return encoders.speaker(read_recording(recording, self.sample_rate_hz, PROMPT_AUDIO).at_16_khz)

    def warm_up(self) -> None:
        """Speak a few tokens of a short text, so that the first request finds every weight in memory."""
        model = self._loaded()
        voices = list(model.files.voices.values())
        speaker = torch.ones(1, model.files.config.language_model.speaker_dim)
        voice = voices[0] if voices else StoredVoice("", speaker, speaker)
        synthesis = model.synthesis(conditions.stored(voice, model.files.config.mel_decoder), speed=1.0, seed=0)
        limits = TokenLimits(WARM_UP_TOKENS, WARM_UP_TOKENS)
        decoding = synthesis.decoding(model.tokenizer.encode(WARM_UP_TEXT), limits)
        for _ in synthesis.render(decode(model.networks.language_model, decoding), stream=False):
            pass

    def close(self) -> None:
        """Give the memory back."""
        if self._model is not None:
            self._model.workers.close()
        self._model = None

    def _loaded(self) -> _Model:
        if self._model is None:
            raise RuntimeError("the engine is closed")
        return self._model

    def _stored(self, voice: Voice | None) -> StoredVoice:
        stored = self._loaded().files.voices
        if voice is None:
            raise InvalidRequest("Name a speaker, or send a recording to speak like.", SPEAKER)
        if voice.id not in stored:
            raise UnknownVoice(voice.id, stored)
        return stored[voice.id]


class CosyVoicePreparedVoice:
    """One request's voice: what the networks are told of it. Every sentence gets a `Synthesis` of its own."""

    def __init__(self, model: _Model, told: Conditions) -> None:
        self._model = model
        self._told = told
        self._together: dict[tuple[Sentence, int], _Together] = {}

    def announce(self, sentences: Sequence[Sentence], *, seed: int) -> None:
        """Tell which sentences will be spoken as wholes with this seed: their tokens are then decoded in company.

        The work is done when the first of MOST_TOGETHER neighbours is spoken.
        """
        for start in range(0, len(sentences), MOST_TOGETHER):
            neighbours = sentences[start : start + MOST_TOGETHER]
            if len(neighbours) > 1:
                together = _Together(neighbours)
                self._together.update({(sentence, seed): together for sentence in neighbours})

    def speak(self, sentence: Sentence, *, speed: float, seed: int, stream: bool = False) -> Iterator[AudioChunk]:
        """Yield one sentence's audio in order; equal arguments give equal samples.

        With `stream` pieces come as they are made, else the sentence comes as one. Empty chunks are moments to stop at.
        A sentence that goes wrong before anything of it is out is tried once more, with the next seed.

        Raises:
            As `speak_once`.
        """
        is_out = False
        for try_seed in (seed, seed + 1 if seed < SEED_MAX else 0):
            try:
                for chunk in self.speak_once(sentence, speed=speed, seed=try_seed, stream=stream):
                    is_out = is_out or len(chunk.samples) > 0
                    yield chunk
            except SynthesisError as error:
                if is_out or try_seed != seed:
                    raise
                logger.warning("sentence of %d characters failed, once more: %s", len(sentence.spoken), error.code)
            else:
                return

    def speak_once(self, sentence: Sentence, *, speed: float, seed: int, stream: bool = False) -> Iterator[AudioChunk]:
        """As `speak`, but with this seed or not at all.

        Raises:
            TokenBudgetSpent: the model does not end the sentence.
            NoSpeechProduced, NonFiniteAudio: what came out is no speech.
        """
        synthesis = self._model.synthesis(self._told, speed=speed, seed=seed)
        together = None if stream else self._together.pop((sentence, seed), None)
        if together is None:
            decoding = self._decoding(synthesis, sentence)
            tokens = decode(self._model.networks.language_model, decoding)
        else:
            for _ in self._decoded(together, seed):
                yield AudioChunk(np.zeros(0, np.float32), self._model.sample_rate_hz)
            decoding = together.decodings[sentence]
            tokens = iter(decoding.tokens)
        pieces = synthesis.render(self._ended(tokens, decoding, sentence), stream=stream)
        for samples in _sound(pieces, sentence.text):
            yield AudioChunk(samples.numpy(), self._model.sample_rate_hz)

    def convert(self, recording: bytes, *, speed: float, seed: int, stream: bool = False) -> Iterator[AudioChunk]:
        """Re-speak a recording of up to 30 s in this voice; otherwise as `speak`, but tried once.

        Raises:
            InvalidRequest: the recording cannot be used.
            NoSpeechProduced, NonFiniteAudio: what came out is no speech.
        """
        source = read_recording(recording, self._model.sample_rate_hz, SOURCE_AUDIO)
        tokens = self._model.listening().speech_tokens(source.at_16_khz)
        synthesis = self._model.synthesis(self._told, speed=speed, seed=seed)
        for samples in _sound(synthesis.render(tokens, stream=stream), ""):
            yield AudioChunk(samples.numpy(), self._model.sample_rate_hz)

    def _decoding(self, synthesis: Synthesis, sentence: Sentence) -> Decoding:
        language = sentence.language if self._told.marks_language else None
        text = self._model.tokenizer.encode(with_stops_between(sentence.spoken), language=language)
        return synthesis.decoding(text, self._model.limits(text))

    def _decoded(self, together: "_Together", seed: int) -> Iterator[None]:
        """Decode what is not decoded yet, with moments to stop at."""
        if together.decodings:
            return
        decodings = {
            sentence: self._decoding(self._model.synthesis(self._told, speed=1.0, seed=seed), sentence)
            for sentence in together.sentences
        }
        model, executor = self._model.networks.language_model, self._model.workers.second
        yield from decode_together(model, tuple(decodings.values()), executor, BREATHER_TOKENS)
        together.decodings = decodings

    def _ended(self, tokens: Iterator[int], decoding: Decoding, sentence: Sentence) -> Iterator[int]:
        """The tokens, if the model ends them. A forced length counts as an end: see `ModelFiles`."""
        yield from tokens
        if decoding.end is DecodingEnd.BUDGET_SPENT and not self._model.has_forced_lengths:
            raise TokenBudgetSpent(
                f"The model did not end a sentence within {decoding.limits.most} speech tokens. Send it again with "
                "another seed, or in other words.",
                sentence.text,
            )


@dataclass(slots=True)
class _Together:
    """Neighbours in a text; `decodings` is empty until all of them have been decoded."""

    sentences: Sequence[Sentence]
    decodings: dict[Sentence, Decoding] = field(default_factory=dict)


def _sound(pieces: Iterable[torch.Tensor], sentence: str) -> Iterator[torch.Tensor]:
    """Let pieces through, silent ones only once something has been heard; raise if nothing is, or numbers are none."""
    is_heard = False
    silent: list[torch.Tensor] = []
    for samples in pieces:
        if not bool(torch.isfinite(samples).all()):
            raise NonFiniteAudio("The model produced samples that are not numbers.", sentence)
        if not is_heard and len(samples) > 0:
            silent.append(samples)
            samples = samples[:0]
            if float(silent[-1].abs().max()) >= SILENCE_PEAK:
                is_heard = True
                samples = torch.cat(silent)
        yield samples
    if not is_heard:
        raise NoSpeechProduced("The model produced no audible speech for a part of the text.", sentence)
