"""The CosyVoice engine: loading a model directory, what it can be asked for, and the voice of a request.

`prepared_voice` has the pipeline from text to samples.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

import torch

from cosyvoice_web.engines.cosyvoice import conditions
from cosyvoice_web.engines.cosyvoice.conditions import LANGUAGES
from cosyvoice_web.engines.cosyvoice.features import prompt_log_mel
from cosyvoice_web.engines.cosyvoice.language_model.decoding import TokenLimits, decode
from cosyvoice_web.engines.cosyvoice.mel_decoder.ode_solver import DEFAULT_STEP_COUNT
from cosyvoice_web.engines.cosyvoice.networks import Networks
from cosyvoice_web.engines.cosyvoice.prepared_voice import (
    PROMPT_AUDIO,
    SOURCE_AUDIO,
    CosyVoicePreparedVoice,
    LoadedModel,
)
from cosyvoice_web.engines.cosyvoice.prompt_audio import check_header, read_recording
from cosyvoice_web.engines.cosyvoice.prompt_encoders import PromptEncoders
from cosyvoice_web.engines.cosyvoice.quantization import Precision, prepare_layers
from cosyvoice_web.engines.cosyvoice.tokenizer import VOCABULARY_SIZE, TextTokenizer
from cosyvoice_web.engines.cosyvoice.voices import StoredVoice, describe_voices
from cosyvoice_web.engines.cosyvoice.weights.files import ModelKind, open_model
from cosyvoice_web.engines.cosyvoice.weights.loading import load_networks
from cosyvoice_web.engines.cosyvoice.workers import Workers
from cosyvoice_web.errors import InvalidRequest, ShapeMismatch, UnknownVoice
from cosyvoice_web.speech import Manner, SpeechMode, Voice

logger = logging.getLogger("cosyvoice_web.engines.cosyvoice")

NATIVE_SPEED_RANGE = (0.5, 2.0)
WARM_UP_TEXT, WARM_UP_TOKENS = "你好。", 24
PROMPT_TEXT, INSTRUCT_TEXT, SPEAKER = "prompt_text", "instruct_text", "speaker"
"""Parts of a request, as refusals name them."""
_FIELD_OF_MODE = {
    SpeechMode.SFT: SPEAKER,
    SpeechMode.ZERO_SHOT: PROMPT_AUDIO,
    SpeechMode.CROSS_LINGUAL: PROMPT_AUDIO,
    SpeechMode.INSTRUCT: INSTRUCT_TEXT,
    SpeechMode.VOICE_CONVERSION: SOURCE_AUDIO,
}


class CosyVoiceEngine:
    """A CosyVoice-300M model in memory. Nothing on it changes while it speaks."""

    name = "cosyvoice"
    languages = LANGUAGES
    native_speed_range = NATIVE_SPEED_RANGE

    def __init__(self, model: LoadedModel) -> None:
        self._model: LoadedModel | None = model
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
        if files.is_lite and precision is not Precision.INT8:
            raise ShapeMismatch(str(model_dir), "int8 weights", "COSYVOICE_PRECISION=int8, or the official directory")
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
        prepare_layers(networks, precision, num_threads)
        return cls(LoadedModel(files, networks, TextTokenizer(), encoders, workers, flow_steps, exact_tokens))

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
        told = conditions.stored(voice, model.files.config.mel_decoder)
        limits = TokenLimits(WARM_UP_TOKENS, WARM_UP_TOKENS)
        decoding = model.decoding(told, model.tokenizer.encode(WARM_UP_TEXT), limits, seed=0)
        synthesis = model.synthesis(told, speed=1.0, seed=0, executor=model.workers.second)
        for _ in synthesis.render(decode(model.networks.language_model, decoding), stream=False):
            pass

    def close(self) -> None:
        """Give the memory back."""
        if self._model is not None:
            self._model.workers.close()
        self._model = None

    def _loaded(self) -> LoadedModel:
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
