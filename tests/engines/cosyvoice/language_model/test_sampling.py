import json
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cosyvoice_web.engines.cosyvoice.config import SamplingConfig
from cosyvoice_web.engines.cosyvoice.language_model.sampling import _draw, nucleus, sample_tokens
from tests.engines.cosyvoice.golden_files import GOLDEN_DIR

CONFIG = SamplingConfig()


def candidates(scores: torch.Tensor, top_p: float = 0.8, top_k: int = 25) -> list[list[int]]:
    ids, weights = nucleus(scores, top_p, top_k)
    return [row[kept > 0].tolist() for row, kept in zip(ids, weights, strict=True)]


def seeded(*seeds: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def test_the_candidates_are_those_of_the_reference() -> None:
    expected = json.loads((GOLDEN_DIR / "frontend.json").read_text())["nucleus_sets_top_p_0.8_top_k_25"]
    scores = torch.from_numpy(np.load(GOLDEN_DIR / "frontend.npz")["nucleus_logp"])
    assert candidates(scores) == expected
    assert [candidates(row[None])[0] for row in scores] == expected


def test_equal_probabilities_stand_in_the_order_of_their_ids() -> None:
    assert candidates(torch.zeros(1, 100), top_p=1.0) == [list(range(25))]
    assert candidates(torch.tensor([[0.0, 2.0, 1.0, 2.0, 1.0]]), top_p=1.0, top_k=3) == [[1, 3, 2]]


def test_the_token_that_reaches_top_p_is_the_last_candidate() -> None:
    scores = torch.tensor([[0.5, 0.2, 0.2, 0.1]]).log()
    assert candidates(scores, top_p=0.6) == [[0, 1]]
    assert candidates(scores, top_p=0.1) == [[0]]
    assert candidates(scores, top_p=1.0, top_k=99) == [[0, 1, 2, 3]]


def test_draws_follow_the_probabilities() -> None:
    probabilities = torch.tensor([0.4, 0.3, 0.2, 0.1])
    generator = torch.Generator().manual_seed(1)
    count = 4000
    drawn = Counter(
        sample_tokens(probabilities.log().expand(count, 4), [[]] * count, SamplingConfig(1.0, 4), [generator] * count)
    )
    for token, probability in enumerate(probabilities.tolist()):
        assert drawn[token] / count == pytest.approx(probability, abs=0.04)  # five standard deviations


def test_a_token_of_the_recent_past_is_not_drawn_again() -> None:
    scores = torch.tensor([[9.0, 1.0, 1.0, 1.0]]).expand(500, 4)
    generators = [torch.Generator().manual_seed(3)] * 500
    drawn = Counter(sample_tokens(scores, [[5, 0, *[7] * 8]] * 500, CONFIG, generators))
    assert drawn[0] == 0
    assert min(drawn[token] for token in (1, 2, 3)) > 100
    assert set(sample_tokens(scores, [[0, *[7] * 10]] * 500, CONFIG, generators)) == {0}, "eleven tokens ago is past"


def test_the_second_draw_does_not_depend_on_the_first() -> None:
    count, scores = 4000, torch.tensor([0.5, 0.2, 0.2, 0.1]).log()
    generators = [torch.Generator().manual_seed(6)] * count
    drawn = Counter(sample_tokens(scores.expand(count, 4), [[0]] * count, SamplingConfig(top_p=1.0), generators))
    for token, probability in enumerate((0.0, 0.4, 0.4, 0.2)):  # 0.5 of the draws are 0 and are shared out 2 : 2 : 1
        assert drawn[token] / count == pytest.approx(probability, abs=0.04)


def test_the_threshold_counts_repetitions_in_the_window() -> None:
    scores = torch.tensor([[9.0, 1.0]])
    config = SamplingConfig(top_p=0.5, window_tokens=4, repetition_threshold=0.5)
    assert sample_tokens(scores, [[0, 7, 7, 7]], config, seeded(1)) == [0]
    assert sample_tokens(scores, [[0, 7, 0, 7]], config, seeded(1)) == [1]


def test_a_forbidden_token_is_never_drawn() -> None:
    scores = torch.tensor([[1.0, 1.0, -torch.inf]]).expand(2000, 3)
    drawn = sample_tokens(scores, [[0]] * 2000, CONFIG, [torch.Generator().manual_seed(4)] * 2000)
    assert set(drawn) == {1}, "0 is repeated, 2 is forbidden"


def test_a_row_draws_the_same_in_any_company() -> None:
    scores = torch.randn(4, 300, generator=torch.Generator().manual_seed(2))
    histories = [[3] * 10, [], list(range(10)), [1]]
    together = sample_tokens(scores, histories, CONFIG, seeded(10, 11, 12, 13))
    for row in range(4):
        assert sample_tokens(scores[row : row + 1], [histories[row]], CONFIG, seeded(10 + row)) == [together[row]]


def test_inputs_stay_as_they_were() -> None:
    scores = torch.randn(2, 50, generator=torch.Generator().manual_seed(2))
    kept = scores.clone()
    histories = [list(range(50)), []]
    sample_tokens(scores, histories, CONFIG, seeded(1, 2))
    assert torch.equal(scores, kept)
    assert histories == [list(range(50)), []]


@given(st.lists(st.floats(0.0, 1.0, width=32), min_size=1, max_size=30).filter(any), st.floats(0, 1, exclude_max=True))
def test_a_draw_never_hits_a_weight_of_zero(weights: list[float], uniform: float) -> None:
    for chance in (uniform, 0.0, 1.0 - 2.0**-53):
        place = int(_draw(torch.tensor([weights]), torch.tensor([[chance]], dtype=torch.float64)))
        assert weights[place] > 0
