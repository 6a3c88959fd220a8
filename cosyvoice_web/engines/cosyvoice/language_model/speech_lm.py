"""The language model: text, speaker and prompt in, one distribution over speech tokens after another out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Self

import torch
import torch.nn.functional as F
from torch import nn

from cosyvoice_web.engines.cosyvoice.config import LanguageModelConfig
from cosyvoice_web.engines.cosyvoice.language_model.kv_cache import KVCache
from cosyvoice_web.engines.cosyvoice.language_model.text_encoder import TextEncoder
from cosyvoice_web.engines.cosyvoice.layers.assembly import assemble
from cosyvoice_web.engines.cosyvoice.layers.encoder import TransformerEncoder, blocked_keys

START_OF_SEQUENCE = 0
START_OF_SPEECH = 1
"""Rows of `marks`: before everything, and between text and speech tokens."""

PREPARED_POSITIONS = 1024
PREPARED_TEXT_TOKENS = 256
"""Lengths up to which relative positions are projected at load; longer sequences project their own."""


class SpeechLM(nn.Module):
    """Predicts speech tokens, 50 a second, one after another.

    A sequence is [start of sequence, speaker, prompt text and text, start of speech, prompt speech tokens, speech
    tokens]; speaker and prompts may be absent. Token `config.end_of_speech_token` ends it.

    Source: cosyvoice/llm/llm.py TransformerLM.inference.
    Differs: keys and values live in a preallocated `KVCache`; the decoder's input layer is applied to the whole speech
    embedding at load, as it sees each token by itself. Exact up to rounding. Nothing changes the model after `prepare`.
    """

    def __init__(self, config: LanguageModelConfig) -> None:
        super().__init__()
        self.config = config
        self.text_encoder = TextEncoder(config)
        self.marks = nn.Embedding(2, config.input_dim)
        self.speaker_projection = nn.Linear(config.speaker_dim, config.input_dim)
        self.speech_embedding = nn.Embedding(config.speech_token_count, config.input_dim)
        self.decoder = TransformerEncoder(config.decoder)
        self.head = nn.Linear(config.output_dim, config.speech_token_count + 1)
        self._speech_inputs = torch.empty(0)

    @classmethod
    def from_state(
        cls,
        config: LanguageModelConfig,
        state: Mapping[str, torch.Tensor],
        replace: Callable[[nn.Module], None] | None = None,
    ) -> Self:
        """The model with the weights of `weights.llm_keys.language_model_state`, which it keeps without copying.

        `replace`: see `assemble`.
        """
        model = assemble(lambda: cls(config), state, replace)
        model.prepare()
        return model

    @torch.inference_mode()
    def prepare(self) -> None:
        """Compute once what every call would compute again; call it after the weights have changed."""
        self.text_encoder.encoder.prepare_positions(PREPARED_TEXT_TOKENS)
        self.decoder.prepare_positions(PREPARED_POSITIONS)
        self._speech_inputs = self.decoder.embed(self.speech_embedding.weight)

    @torch.inference_mode()
    def prefix(
        self,
        text: Sequence[int],
        *,
        prompt_text: Sequence[int] = (),
        speaker: torch.Tensor | None = None,
        prompt_speech: Sequence[int] = (),
    ) -> torch.Tensor:
        """What a sequence starts with, as decoder inputs: float32 (positions, model_dim).

        `text` and `prompt_text` are text token ids, `speaker` is a float32 embedding of (speaker_dim,) values at any
        scale, `prompt_speech` are speech token ids, 50 a second.

        Raises:
            ValueError: `text` is empty.
        """
        if not text:
            raise ValueError("a sequence needs at least one text token")
        marks = self.marks.weight
        inputs = [marks[START_OF_SEQUENCE, None]]
        if speaker is not None:
            inputs.append(self.speaker_projection(F.normalize(speaker.reshape(1, -1), dim=1)))
        inputs.append(self.text_encoder(torch.tensor([[*prompt_text, *text]], dtype=torch.long))[0])
        inputs.append(marks[START_OF_SPEECH, None])
        embedded = self.decoder.embed(torch.cat(inputs))
        if not prompt_speech:
            return embedded
        return torch.cat((embedded, self._speech_inputs[torch.tensor(prompt_speech, dtype=torch.long)]))

    def cache(self, column_capacity: int, row_capacity: int = 1) -> KVCache:
        """An empty cache for `row_capacity` sequences of `column_capacity` positions; it grows if need be."""
        return KVCache(self.decoder, column_capacity, row_capacity)

    @torch.inference_mode()
    def prefill(self, prefixes: Sequence[torch.Tensor], cache: KVCache) -> torch.Tensor:
        """Read the prefixes, one a row, into a cache whose earlier content is dropped.

        Returns unnormalised scores of the first speech token: float32 (rows, speech_token_count + 1).
        """
        cache.begin([len(prefix) for prefix in prefixes])
        longest = cache.key_count
        rows = [F.pad(prefix, (0, 0, longest - len(prefix), 0)) for prefix in prefixes]
        return self._advance(torch.stack(rows), cache)

    @torch.inference_mode()
    def step(self, tokens: Sequence[int], cache: KVCache) -> torch.Tensor:
        """Read one more speech token a row; scores of the next as from `prefill`."""
        cache.extend()
        return self._advance(self._speech_inputs[torch.tensor(tokens, dtype=torch.long)][:, None], cache)

    @torch.inference_mode()
    def score(self, prefix: torch.Tensor, tokens: Sequence[int]) -> torch.Tensor:
        """Log-probabilities after the prefix and after each of the given tokens, in one pass without a cache.

        Returns float32 (len(tokens) + 1, speech_token_count + 1).
        """
        x = torch.cat((prefix, self._speech_inputs[torch.tensor(tokens, dtype=torch.long)]))[None]
        time = x.shape[1]
        hidden = self.decoder.run(x, self.decoder.positions(time), time, blocked_keys(time, time, 1))
        scores: torch.Tensor = self.head(hidden[0, len(prefix) - 1 :])
        return scores.log_softmax(dim=-1)

    def _advance(self, x: torch.Tensor, cache: KVCache) -> torch.Tensor:
        """Run the newest columns, float32 (rows, new, model_dim), which the cache has opened already."""
        key_count = cache.key_count
        blocked = blocked_keys(x.shape[1], key_count, 1, cache.paddings)
        hidden = self.decoder.run(x, cache.positions, key_count, blocked, cache)
        scores: torch.Tensor = self.head(hidden[:, -1])
        return scores
