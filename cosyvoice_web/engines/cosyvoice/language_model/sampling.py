"""Draws speech tokens: nucleus sampling that does not repeat itself."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F

from cosyvoice_web.engines.cosyvoice.config import SamplingConfig


def sample_tokens(
    scores: torch.Tensor,
    histories: Sequence[Sequence[int]],
    config: SamplingConfig,
    generators: Sequence[torch.Generator],
) -> list[int]:
    """Draw one token a row from unnormalised float32 scores (rows, tokens); -inf forbids a token.

    A token is drawn from the row's nucleus. If it stands too often among the last `config.window_tokens` of the row's
    history, it is forbidden and another is drawn from all that remain. Every row takes two numbers from its own
    generator, so its draws do not depend on the other rows.

    Source: Chen et al. 2024, "VALL-E 2", section 4.2; cosyvoice/utils/common.py `ras_sampling`.
    Differs: all rows at once, by inverse distribution functions in float64; same candidates, same probabilities.
    """
    uniforms = torch.stack([torch.rand(2, dtype=torch.float64, generator=generator) for generator in generators])
    ids, weights = nucleus(scores, config.top_p, config.top_k)
    drawn: list[int] = ids.gather(1, _draw(weights, uniforms[:, :1])).squeeze(1).tolist()
    limit = config.window_tokens * config.repetition_threshold
    repeated = [
        row
        for row, (token, history) in enumerate(zip(drawn, histories, strict=True))
        if history[-config.window_tokens :].count(token) >= limit
    ]
    if repeated:
        forbidden = torch.tensor([[drawn[row]] for row in repeated])
        others = scores[repeated].scatter(1, forbidden, -torch.inf).softmax(dim=-1)
        redrawn: list[int] = _draw(others, uniforms[repeated, 1:]).squeeze(1).tolist()
        for row, token in zip(repeated, redrawn, strict=True):
            drawn[row] = token
    return drawn


def nucleus(scores: torch.Tensor, top_p: float, top_k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Candidates of each row of unnormalised float32 scores (rows, tokens), most probable first.

    A token is a candidate if fewer than `top_k` tokens are more probable and these have less than `top_p` of the
    probability between them. Returns ids and probabilities, (rows, min(top_k, tokens)); a probability of 0 is no
    candidate.

    Source: Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration", section 3.1; cosyvoice/utils/common.py
    `nucleus_sampling`.
    """
    probabilities, ids = _greatest(scores.softmax(dim=-1), min(top_k, scores.shape[1]))
    before = F.pad(probabilities.cumsum(dim=-1)[:, :-1], (1, 0))
    return ids, probabilities.masked_fill(before >= top_p, 0.0)


def _greatest(values: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The `count` greatest of each row and where they stand, greatest first, among equals the first place first."""
    found, places = values.topk(min(count + 1, values.shape[1]), dim=-1)
    if (found[:, 1:] == found[:, :-1]).any():  # topk leaves open which of two equals comes first
        found, places = values.sort(dim=-1, descending=True, stable=True)
    return found[:, :count], places[:, :count]


def _draw(weights: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """Places drawn with probabilities proportional to `weights` (rows, n) by float64 uniforms (rows, 1) below 1.

    Returns (rows, 1); a place of weight 0 is never drawn: the product of the sum and a float64 below 1 rounds to less
    than the sum, so there is a place whose cumulative weight is the first to exceed it.
    """
    cumulative = weights.double().cumsum(dim=-1)
    return torch.searchsorted(cumulative, uniforms * cumulative[:, -1:], right=True)
