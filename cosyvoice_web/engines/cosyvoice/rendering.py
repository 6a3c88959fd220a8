"""Speech tokens of one sentence to samples: the flow and the vocoder in a row, at once or window by window."""

from concurrent.futures import Executor
from dataclasses import dataclass

import torch

from cosyvoice_web.engines.cosyvoice.config import OVERLAP_TOKENS
from cosyvoice_web.engines.cosyvoice.mel_decoder.flow import FlowCache, FlowVoice, MelDecoder
from cosyvoice_web.engines.cosyvoice.mel_decoder.ode_solver import DEFAULT_STEP_COUNT
from cosyvoice_web.engines.cosyvoice.mel_decoder.stream import MelSeam, MelStretch
from cosyvoice_web.engines.cosyvoice.vocoder.hift import HiFTVocoder
from cosyvoice_web.engines.cosyvoice.vocoder.stream import VocoderStream


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """How many new speech tokens the windows of a stream bring: few for early sound, then more for less work.

    The first window is there after `first_tokens` and the OVERLAP_TOKENS that it shares with the second.

    Source: CosyVoice, cli/model.py, whose windows bring 100.
    """

    first_tokens: int = 20
    growth: float = 2.0
    most_tokens: int = 100


class TokenWindows:
    """Cuts the tokens of one sentence, as they are made, into windows that overlap in OVERLAP_TOKENS."""

    def __init__(self, plan: WindowPlan) -> None:
        self._plan = plan
        self._hop_tokens = plan.first_tokens
        self._tokens: list[int] = []

    def add(self, token: int) -> None:
        """Take in the next token."""
        self._tokens.append(token)

    def next_window(self) -> list[int] | None:
        """The next window, where its tokens are there and at least one more that leaves something for the last one."""
        length = self._hop_tokens + OVERLAP_TOKENS
        if len(self._tokens) <= length:
            return None
        window = self._tokens[:length]
        del self._tokens[: self._hop_tokens]
        self._hop_tokens = min(self._plan.most_tokens, max(1, int(self._hop_tokens * self._plan.growth)))
        return window

    def last_window(self) -> list[int]:
        """Everything that is left, when no more tokens will come; begins with what the window before shares."""
        window, self._tokens = self._tokens, []
        return window


class SentenceRenderer:
    """All that one synthesis owns after the language model; nothing of it is shared, nothing in the modules changes."""

    def __init__(
        self,
        mel_decoder: MelDecoder,
        vocoder: HiFTVocoder,
        voice: FlowVoice,
        generator: torch.Generator,
        *,
        speed: float = 1.0,
        step_count: int = DEFAULT_STEP_COUNT,
        executor: Executor | None = None,
    ) -> None:
        """`generator` gives all noise, in the order of the calls; a worker of `executor` takes half of the work."""
        self._mel_decoder = mel_decoder
        self._voice = voice
        self._generator = generator
        self._step_count = step_count
        self._executor = executor
        self._cache: FlowCache | None = None
        self._seam = MelSeam(mel_decoder.config.overlap_frames)
        self._stretch = MelStretch(speed)
        self._vocoder_stream = VocoderStream(vocoder, generator, executor)

    def push(self, tokens: list[int], *, is_last: bool) -> torch.Tensor:
        """Render the next window.

        Args:
            tokens: speech tokens at the model's token rate, at least one; all but the first window begin with the
                OVERLAP_TOKENS tokens that the window before ended with.
            is_last: no window follows. A single window with `is_last` renders a whole sentence.

        Returns:
            (samples,) float32 at the model's rate: what is certain by now, possibly nothing before the last window.
        """
        decoded = self._mel_decoder.decode(
            torch.tensor([tokens], dtype=torch.int64),
            self._voice,
            self._generator,
            cache=self._cache,
            step_count=self._step_count,
            executor=self._executor,
        )
        self._cache = decoded.cache
        mel = self._stretch.push(self._seam.push(decoded.mel, is_last=is_last), is_last=is_last)
        return self._vocoder_stream.push(mel, is_last=is_last)[0]
