"""Everything that sounding one sentence owns, in one object: chance, windows, caches. Networks are never changed."""

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor

import torch

from cosyvoice_web.engines.cosyvoice.conditions import Conditions
from cosyvoice_web.engines.cosyvoice.mel_decoder.ode_solver import DEFAULT_STEP_COUNT
from cosyvoice_web.engines.cosyvoice.networks import Networks
from cosyvoice_web.engines.cosyvoice.rendering import SentenceRenderer, TokenWindows, WindowPlan

BREATHER_TOKENS = 25
"""Tokens between two moments at which whoever listens may stop."""


class Synthesis:
    """Speech tokens to sound: one attempt at one sentence or recording. Used once, by one thread."""

    def __init__(
        self,
        networks: Networks,
        conditions: Conditions,
        *,
        speed: float,
        seed: int,
        step_count: int = DEFAULT_STEP_COUNT,
        executor: Executor | None = None,
    ) -> None:
        """Equal arguments give equal samples; a worker of `executor` takes half of flow and vocoder."""
        self._windows = TokenWindows(WindowPlan())
        self._renderer = SentenceRenderer(
            networks.mel_decoder,
            networks.vocoder,
            conditions.flow_voice,
            generator(seed, "sound"),
            speed=speed,
            step_count=step_count,
            executor=executor,
        )

    def render(self, tokens: Iterable[int], *, stream: bool) -> Iterator[torch.Tensor]:
        """Speech tokens to pieces of (samples,) float32 at the model's rate.

        With `stream` a piece comes as soon as its tokens have, else everything comes as one. Empty pieces in between
        are moments to stop at.
        """
        for count, token in enumerate(tokens, 1):
            self._windows.add(token)
            window = self._windows.next_window() if stream else None
            if window is not None:
                yield self._renderer.push(window, is_last=False)
            elif count % BREATHER_TOKENS == 0:
                yield torch.zeros(0)
        rest = self._windows.last_window()
        if rest:
            yield self._renderer.push(rest, is_last=True)


def generator(seed: int, purpose: str) -> torch.Generator:
    """Random numbers that depend on both arguments alone, and differ between purposes."""
    digest = hashlib.sha256(f"{seed} {purpose}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)
