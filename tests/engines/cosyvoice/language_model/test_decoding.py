from itertools import islice

import pytest
import torch

from cosyvoice_web.engines.cosyvoice.language_model.decoding import (
    Decoding,
    DecodingBatch,
    DecodingEnd,
    TokenLimits,
    decode,
)
from cosyvoice_web.engines.cosyvoice.language_model.speech_lm import SpeechLM

LIMITS = TokenLimits(30, 40)


def decoding(prefix: torch.Tensor, seed: int, limits: TokenLimits = LIMITS) -> Decoding:
    return Decoding(prefix, limits, torch.Generator().manual_seed(seed))


def ending_model(model: SpeechLM) -> SpeechLM:
    """The same model, but sure of end of speech at every step."""
    state = model.state_dict()
    state["head.bias"] = state["head.bias"].clone()
    state["head.bias"][model.config.end_of_speech_token] = 1e4
    return SpeechLM.from_state(model.config, state)


def never_ending_model(model: SpeechLM) -> SpeechLM:
    state = model.state_dict()
    state["head.bias"] = state["head.bias"].clone()
    state["head.bias"][model.config.end_of_speech_token] = -1e4
    return SpeechLM.from_state(model.config, state)


def test_limits_follow_the_length_of_the_text() -> None:
    assert TokenLimits.for_text(17) == TokenLimits(fewest=34, most=340)


def test_end_of_speech_waits_for_the_fewest_tokens(tiny_model: SpeechLM, sft_prefix: torch.Tensor) -> None:
    work = decoding(sft_prefix, 1, TokenLimits(7, 100))
    tokens = list(decode(ending_model(tiny_model), work))
    assert len(tokens) == 7
    assert tiny_model.config.end_of_speech_token not in tokens
    assert work.end is DecodingEnd.END_OF_SPEECH


def test_decoding_stops_at_the_most_tokens(tiny_model: SpeechLM, sft_prefix: torch.Tensor) -> None:
    work = decoding(sft_prefix, 1, TokenLimits(0, 12))
    assert len(list(decode(never_ending_model(tiny_model), work))) == 12
    assert work.end is DecodingEnd.BUDGET_SPENT


def test_no_budget_is_a_spent_budget(tiny_model: SpeechLM, sft_prefix: torch.Tensor) -> None:
    work = decoding(sft_prefix, 1, TokenLimits(0, 0))
    assert list(decode(tiny_model, work)) == []
    assert work.end is DecodingEnd.BUDGET_SPENT


def test_speech_may_end_before_its_first_token(tiny_model: SpeechLM, sft_prefix: torch.Tensor) -> None:
    work = decoding(sft_prefix, 1, TokenLimits(0, 10))
    assert list(decode(ending_model(tiny_model), work)) == []
    assert work.end is DecodingEnd.END_OF_SPEECH


def test_a_seed_repeats_the_tokens_and_another_does_not(tiny_model: SpeechLM, sft_prefix: torch.Tensor) -> None:
    first = list(decode(tiny_model, decoding(sft_prefix, 5)))
    assert list(decode(tiny_model, decoding(sft_prefix, 5))) == first
    assert list(decode(tiny_model, decoding(sft_prefix, 6))) != first


def test_the_global_generator_is_left_alone(tiny_model: SpeechLM, sft_prefix: torch.Tensor) -> None:
    before = torch.get_rng_state()
    list(decode(tiny_model, decoding(sft_prefix, 5)))
    assert torch.equal(torch.get_rng_state(), before)


def test_tokens_are_made_as_they_are_asked_for(
    tiny_model: SpeechLM, sft_prefix: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []
    step = DecodingBatch.step

    def counted(batch: DecodingBatch) -> list[Decoding]:
        steps.append(len(batch.running))
        return step(batch)

    monkeypatch.setattr(DecodingBatch, "step", counted)
    work = decoding(sft_prefix, 5)
    tokens = list(islice(decode(tiny_model, work), 4))
    assert tokens == work.tokens
    assert len(steps) == 3
    assert work.end is None


def test_a_seed_makes_the_same_tokens_alone_and_in_company(tiny_model: SpeechLM) -> None:
    texts = [[1, 2, 3], [9] * 20, [40], [7, 8, 7, 8, 7], [100, 200, 300]]
    limits = [TokenLimits(20 + 9 * row, 25 + 9 * row) for row in range(5)]
    works = [decoding(tiny_model.prefix(text), seed, limits[seed]) for seed, text in enumerate(texts)]
    batch = DecodingBatch(tiny_model)
    batch.join(works[:2])
    ended: list[Decoding] = []
    for step in range(90):
        if step == 5:
            batch.join(works[2:3])
        if step == 22:
            batch.join(works[3:])
        ended += batch.step()
    assert batch.running == []
    assert sorted(map(id, ended)) == sorted(map(id, works)), "every decoding is answered once, when it ends"
    for seed, work in enumerate(works):
        alone = decoding(work.prefix, seed, limits[seed])
        assert list(decode(tiny_model, alone)) == work.tokens
        assert alone.end is work.end is not None


def test_a_decoding_that_is_stopped_leaves_the_others_as_they_are(
    tiny_model: SpeechLM, sft_prefix: torch.Tensor
) -> None:
    gone, stays = decoding(tiny_model.prefix([4, 4, 4]), 1), decoding(sft_prefix, 2)
    batch = DecodingBatch(tiny_model)
    batch.join([gone, stays])
    for _ in range(5):
        batch.step()
    batch.leave(gone)
    while batch.running:
        batch.step()
    assert gone.end is None
    assert len(gone.tokens) == 6
    assert stays.tokens == list(decode(tiny_model, decoding(sft_prefix, 2)))
