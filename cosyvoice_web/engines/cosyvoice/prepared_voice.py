"""One request's voice: sentences and recordings to sound, with what is refused and what is tried again.

Source: CosyVoice, cli/model.py, CosyVoiceModel.tts, for the stages and what each hands on.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field

import torch

from cosyvoice_web.engines.cosyvoice.audible import audible
from cosyvoice_web.engines.cosyvoice.conditions import Conditions
from cosyvoice_web.engines.cosyvoice.language_model.decoding import Decoding, DecodingEnd, TokenLimits, decode
from cosyvoice_web.engines.cosyvoice.language_model.together import MOST_TOGETHER, decode_together
from cosyvoice_web.engines.cosyvoice.networks import Networks
from cosyvoice_web.engines.cosyvoice.prompt_audio import read_recording
from cosyvoice_web.engines.cosyvoice.prompt_encoders import PromptEncoders
from cosyvoice_web.engines.cosyvoice.punctuation import with_stops_between
from cosyvoice_web.engines.cosyvoice.state import BREATHER_TOKENS, Synthesis, generator
from cosyvoice_web.engines.cosyvoice.tokenizer import TextTokenizer
from cosyvoice_web.engines.cosyvoice.weights.files import ModelFiles
from cosyvoice_web.engines.cosyvoice.workers import Workers
from cosyvoice_web.errors import (
    InvalidRequest,
    SynthesisError,
    TokenBudgetSpent,
)
from cosyvoice_web.speech import SEED_MAX, AudioChunk, SpeechMode
from cosyvoice_web.text.sentences import Sentence

logger = logging.getLogger("cosyvoice_web.engines.cosyvoice")

PROMPT_AUDIO, SOURCE_AUDIO = "prompt_audio", "source_audio"


@dataclass(frozen=True, slots=True)
class LoadedModel:
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
        """Rate of everything it speaks."""
        return self.files.config.sample_rate_hz

    @property
    def has_forced_lengths(self) -> bool:
        """Whether sentences end at a given length and not where the model ends them."""
        return self.exact_tokens is not None or self.files.forced_tokens_per_text_token is not None

    def limits(self, text: list[int]) -> TokenLimits:
        """How many speech tokens a text, as token ids, may have."""
        if self.exact_tokens is not None:
            return TokenLimits(self.exact_tokens, self.exact_tokens)
        forced = self.files.forced_tokens_per_text_token
        return TokenLimits.for_text(len(text)) if forced is None else TokenLimits(*(forced * len(text),) * 2)

    def decoding(self, told: Conditions, text: list[int], limits: TokenLimits, *, seed: int) -> Decoding:
        """The decoding of the speech tokens of `text`, text token ids, not started yet."""
        prefix = self.networks.language_model.prefix(
            text, prompt_text=told.prompt_text, speaker=told.speaker, prompt_speech=told.prompt_speech
        )
        return Decoding(prefix, limits, generator(seed, "tokens"))

    def synthesis(self, told: Conditions, *, speed: float, seed: int, executor: Executor | None) -> Synthesis:
        """What sounds the tokens of one sentence; a worker of `executor` takes half of the work."""
        return Synthesis(self.networks, told, speed=speed, seed=seed, step_count=self.flow_steps, executor=executor)

    def listening(self) -> PromptEncoders:
        """What hears recordings.

        Raises:
            InvalidRequest: the model directory lacks it.
        """
        if self.encoders is None:
            raise InvalidRequest(
                f"This server cannot use recordings: {self.files.refusals()[SpeechMode.ZERO_SHOT]}.", PROMPT_AUDIO
            )
        return self.encoders


class CosyVoicePreparedVoice:
    """One request's voice: what the networks are told of it. Every sentence gets a `Synthesis` of its own."""

    def __init__(self, model: LoadedModel, told: Conditions) -> None:
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
        together = None if stream else self._together.pop((sentence, seed), None)
        if together is not None:
            for _ in self._decoded(together, seed):
                yield self._chunk(torch.zeros(0))
            yield from map(self._chunk, self._sounded(together, sentence, speed, seed))
            return
        decoding = self._decoding(sentence, seed)
        tokens = decode(self._model.networks.language_model, decoding)
        synthesis = self._synthesis(speed, seed, self._model.workers.second)
        pieces = synthesis.render(self._ended(tokens, decoding, sentence), stream=stream)
        yield from map(self._chunk, audible(pieces, sentence.text))

    def convert(self, recording: bytes, *, speed: float, seed: int, stream: bool = False) -> Iterator[AudioChunk]:
        """Re-speak a recording of up to 30 s in this voice; otherwise as `speak`, but tried once.

        Raises:
            InvalidRequest: the recording cannot be used.
            NoSpeechProduced, NonFiniteAudio: what came out is no speech.
        """
        source = read_recording(recording, self._model.sample_rate_hz, SOURCE_AUDIO)
        tokens = self._model.listening().speech_tokens(source.at_16_khz)
        synthesis = self._synthesis(speed, seed, self._model.workers.second)
        yield from map(self._chunk, audible(synthesis.render(tokens, stream=stream), ""))

    def _chunk(self, samples: torch.Tensor) -> AudioChunk:
        return AudioChunk(samples.numpy(), self._model.sample_rate_hz)

    def _synthesis(self, speed: float, seed: int, executor: Executor | None) -> Synthesis:
        return self._model.synthesis(self._told, speed=speed, seed=seed, executor=executor)

    def _decoding(self, sentence: Sentence, seed: int) -> Decoding:
        language = sentence.language if self._told.marks_language else None
        text = self._model.tokenizer.encode(with_stops_between(sentence.spoken), language=language)
        return self._model.decoding(self._told, text, self._model.limits(text), seed=seed)

    def _decoded(self, together: "_Together", seed: int) -> Iterator[None]:
        """Decode what is not decoded yet, with moments to stop at."""
        if together.decodings:
            return
        decodings = {sentence: self._decoding(sentence, seed) for sentence in together.sentences}
        model, executor = self._model.networks.language_model, self._model.workers.second
        yield from decode_together(model, tuple(decodings.values()), executor, BREATHER_TOKENS)
        together.decodings = decodings

    def _sounded(self, together: "_Together", sentence: Sentence, speed: float, seed: int) -> Iterable[torch.Tensor]:
        """The sound of a decoded sentence, while the second thread makes that of its neighbour.

        Two threads with a sentence each are faster than both with halves of one, which is left for the last of an odd
        number.
        """
        ahead = together.ahead.pop((sentence, speed), None)
        if ahead is not None:
            return ahead.result()

        def sound(of: Sentence, executor: Executor | None) -> list[torch.Tensor]:
            decoding = together.decodings[of]
            synthesis = self._synthesis(speed, seed, executor)
            pieces = synthesis.render(self._ended(iter(decoding.tokens), decoding, of), stream=False)
            return list(audible(pieces, of.text))

        second, neighbour = self._model.workers.second, together.after(sentence)
        if second is None or neighbour is None:
            return sound(sentence, second)
        together.ahead[neighbour, speed] = second.submit(sound, neighbour, None)
        return sound(sentence, None)

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
    """Neighbours in a text; `decodings` is empty until all of them have been decoded.

    `ahead`: sentences at a speed, whose sound a thread is making or has made before they are asked for.
    """

    sentences: Sequence[Sentence]
    decodings: dict[Sentence, Decoding] = field(default_factory=dict)
    ahead: dict[tuple[Sentence, float], Future[list[torch.Tensor]]] = field(default_factory=dict)

    def after(self, sentence: Sentence) -> Sentence | None:
        """The sentence that follows, if there is one."""
        place = self.sentences.index(sentence) + 1
        return self.sentences[place] if place < len(self.sentences) else None
