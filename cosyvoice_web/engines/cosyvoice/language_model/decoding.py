"""Decodes speech tokens step by step, for one sequence or for many that come and go."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Self

import torch

from cosyvoice_web.engines.cosyvoice.language_model.sampling import sample_tokens
from cosyvoice_web.engines.cosyvoice.language_model.speech_lm import SpeechLM

FEWEST_TOKENS_PER_TEXT_TOKEN = 2
MOST_TOKENS_PER_TEXT_TOKEN = 20


class DecodingEnd(Enum):
    """How a decoding came to its end."""

    END_OF_SPEECH = "the model ended the speech"
    BUDGET_SPENT = "the model had not ended the speech after the most tokens that it may make"


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """Speech tokens of one decoding: end of speech is forbidden below `fewest`, decoding stops at `most`."""

    fewest: int
    most: int

    @classmethod
    def for_text(cls, text_token_count: int) -> Self:
        """Limits for a text of this many tokens, its prompt not counted.

        Source: cosyvoice/llm/llm.py TransformerLM.inference, min_token_text_ratio and max_token_text_ratio.
        """
        return cls(FEWEST_TOKENS_PER_TEXT_TOKEN * text_token_count, MOST_TOKENS_PER_TEXT_TOKEN * text_token_count)


@dataclass(slots=True, eq=False)
class Decoding:
    """One sequence being decoded: what it may do, and what has come out so far.

    `prefix`: decoder inputs from `SpeechLM.prefix`. `generator`: the only source of chance. `tokens`: speech tokens, 50
    a second. `end`: None while it goes on.
    """

    prefix: torch.Tensor
    limits: TokenLimits
    generator: torch.Generator
    tokens: list[int] = field(default_factory=list)
    end: DecodingEnd | None = None


class DecodingBatch:
    """Decodings that share every step of the model, so that its weights are read once for all of them.

    Rows do not influence each other beyond rounding: a decoding makes the same tokens alone and in any company.
    """

    def __init__(self, model: SpeechLM) -> None:
        self.running: list[Decoding] = []
        self._model = model
        self._cache = model.cache(column_capacity=1)

    @torch.inference_mode()
    def join(self, decodings: Sequence[Decoding]) -> None:
        """Start decodings beside those that run; each gets its first token, or its end."""
        starting = [decoding for decoding in decodings if decoding.limits.most > 0]
        for decoding in decodings:
            if decoding.limits.most <= 0:
                decoding.end = DecodingEnd.BUDGET_SPENT
        if not starting:
            return
        columns = max(len(decoding.prefix) + decoding.limits.most for decoding in starting)
        cache = self._model.cache(columns, len(starting))
        scores = self._model.prefill([decoding.prefix for decoding in starting], cache)
        if self.running:
            self._cache.join(cache)
        else:
            self._cache = cache
        self.running += starting
        self._append_tokens(starting, scores)

    @torch.inference_mode()
    def step(self) -> list[Decoding]:
        """One more token for all that run; answers those that this step has ended, which leave."""
        if not self.running:
            return []
        stepped = list(self.running)
        scores = self._model.step([decoding.tokens[-1] for decoding in stepped], self._cache)
        self._append_tokens(stepped, scores)
        return [decoding for decoding in stepped if decoding.end is not None]

    @torch.inference_mode()
    def leave(self, decoding: Decoding) -> None:
        """Stop a decoding that runs; its end stays open."""
        row = self.running.index(decoding)
        self._cache.leave(row)
        self.running[row] = self.running[-1]
        del self.running[-1]

    def _append_tokens(self, decodings: list[Decoding], scores: torch.Tensor) -> None:
        end_of_speech = self._model.config.end_of_speech_token
        too_short = [row for row, decoding in enumerate(decodings) if len(decoding.tokens) < decoding.limits.fewest]
        scores[too_short, end_of_speech] = -torch.inf
        tokens = sample_tokens(
            scores,
            [decoding.tokens for decoding in decodings],
            self._model.config.sampling,
            [decoding.generator for decoding in decodings],
        )
        for decoding, token in zip(decodings, tokens, strict=True):
            if token == end_of_speech:
                decoding.end = DecodingEnd.END_OF_SPEECH
            else:
                decoding.tokens.append(token)
                if len(decoding.tokens) == decoding.limits.most:
                    decoding.end = DecodingEnd.BUDGET_SPENT
            if decoding.end is not None:
                self.leave(decoding)


def decode(model: SpeechLM, decoding: Decoding) -> Iterator[int]:
    """Yield the speech tokens of one sequence as they are made; `decoding.end` then tells how it ended.

    The consumer may stop at any token. Work is done only as tokens are asked for.
    """
    batch = DecodingBatch(model)
    batch.join([decoding])
    sent = 0
    while True:
        yield from decoding.tokens[sent:]
        sent = len(decoding.tokens)
        if decoding.end is not None:
            return
        batch.step()
