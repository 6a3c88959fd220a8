import pytest
import torch

from cosyvoice_web.engines.cosyvoice.language_model.kv_cache import KVCache
from cosyvoice_web.engines.cosyvoice.language_model.speech_lm import SpeechLM
from cosyvoice_web.engines.cosyvoice.layers.relative_positions import BLOCK_COLUMNS
from tests.engines.cosyvoice.golden_files import assert_close

ROUNDING = 2e-6
TOKENS = [11, 45, 3, 200, 7, 7, 99, 310, 42, 18, 5, 77, 150, 8, 21, 34]


class Row:
    """A sequence in a shared cache beside the truth: its prefix, the tokens it has read, its scores after each."""

    def __init__(self, model: SpeechLM, text: list[int], prompt: list[int]) -> None:
        self.prefix = model.prefix(text, prompt_speech=prompt)
        self.tokens: list[int] = []
        self.scores: list[torch.Tensor] = []

    def check(self, model: SpeechLM) -> None:
        actual = torch.stack(self.scores).log_softmax(dim=-1)
        assert_close(actual, model.score(self.prefix, self.tokens), ROUNDING)


def start(model: SpeechLM, rows: list[Row], cache: KVCache) -> None:
    for row, scores in zip(rows, model.prefill([row.prefix for row in rows], cache), strict=True):
        row.scores.append(scores)


def step(model: SpeechLM, rows: list[Row], cache: KVCache, count: int = 1) -> None:
    for _ in range(count):
        for number, row in enumerate(rows):
            row.tokens.append(TOKENS[(len(row.tokens) + number) % len(TOKENS)])
        for row, scores in zip(rows, model.step([row.tokens[-1] for row in rows], cache), strict=True):
            row.scores.append(scores)


@pytest.mark.parametrize("column_capacity", [1, 30, 500])
def test_rows_join_and_leave_at_any_step(tiny_model: SpeechLM, column_capacity: int) -> None:
    short, middle, long = (
        Row(tiny_model, [1, 2], []),
        Row(tiny_model, [5] * 9, TOKENS),
        Row(tiny_model, [8], TOKENS * 4),
    )
    cache, other = tiny_model.cache(column_capacity), tiny_model.cache(column_capacity)
    start(tiny_model, [short], cache)
    step(tiny_model, [short], cache, 3)
    start(tiny_model, [middle], other)
    cache.join(other)  # longer than what runs
    step(tiny_model, [short, middle], cache, 4)
    start(tiny_model, [long], other)
    cache.join(other)
    step(tiny_model, [short, middle, long], cache, 5)
    cache.leave(0)
    step(tiny_model, [long, middle], cache, 3)
    cache.leave(0)
    step(tiny_model, [middle], cache, 60)
    late = Row(tiny_model, [30, 31], [])
    start(tiny_model, [late], other)
    cache.join(other)  # shorter than what runs
    step(tiny_model, [middle, late], cache, 2)
    cache.leave(0)
    step(tiny_model, [late], cache, 2)
    assert cache.lengths == [len(late.prefix) + 4]
    for row in (short, middle, long, late):
        row.check(tiny_model)


def test_storage_that_was_never_written_has_no_effect(tiny_model: SpeechLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "empty", lambda shape: torch.full(shape, torch.nan))
    monkeypatch.setattr(torch.Tensor, "new_empty", lambda self, shape: torch.full(shape, torch.nan, dtype=self.dtype))
    short, long = Row(tiny_model, [1, 2], []), Row(tiny_model, [8], TOKENS * 2)
    cache, other = tiny_model.cache(50), tiny_model.cache(1)
    start(tiny_model, [short], cache)
    start(tiny_model, [long], other)
    cache.join(other)
    step(tiny_model, [short, long], cache, 4)
    short.check(tiny_model)
    long.check(tiny_model)


def test_the_rows_of_a_cache_that_joins_stay_usable(tiny_model: SpeechLM) -> None:
    first, second = Row(tiny_model, [1, 2], []), Row(tiny_model, [3, 4, 5], TOKENS)
    cache, other = tiny_model.cache(20), tiny_model.cache(20)
    start(tiny_model, [first], cache)
    start(tiny_model, [second], other)
    cache.join(other)
    step(tiny_model, [second], other, 3)
    second.check(tiny_model)


def test_columns_of_rows_that_left_are_used_again(tiny_model: SpeechLM) -> None:
    cache, other = tiny_model.cache(64, 2), tiny_model.cache(64)
    row = Row(tiny_model, [1, 2], [])
    start(tiny_model, [row], cache)
    for _ in range(40):
        following = Row(tiny_model, [3, 4], [])
        start(tiny_model, [following], other)
        cache.join(other)
        step(tiny_model, [row, following], cache, 5)
        cache.leave(0)
        row = following
    row.check(tiny_model)
    assert cache.column_capacity <= 256  # 200 columns were written, but no row is longer than 20


@pytest.mark.parametrize("first_to_leave", [0, 1, 2])
def test_rows_move_by_whole_blocks(tiny_model: SpeechLM, first_to_leave: int) -> None:
    short, long, middle = (Row(tiny_model, [1, 2], TOKENS[:count]) for count in (0, 16, 7))
    long.prefix, middle.prefix = long.prefix.repeat(14, 1), middle.prefix.repeat(9, 1)
    cache, other = tiny_model.cache(1), tiny_model.cache(400, 2)
    start(tiny_model, [short], cache)
    step(tiny_model, [short], cache, 2)
    start(tiny_model, [long, middle], other)
    cache.join(other)  # four blocks more than what runs
    rows = [short, long, middle]
    step(tiny_model, rows, cache, 3)
    while rows:
        leaving = first_to_leave % len(rows)
        cache.leave(leaving)
        rows[leaving] = rows[-1]
        del rows[-1]
        if rows:
            step(tiny_model, rows, cache, 70)
            assert cache.key_count - max(cache.lengths) < BLOCK_COLUMNS
            assert cache.lengths == [len(row.prefix) + len(row.tokens) for row in rows]
    for row in (short, long, middle):
        row.check(tiny_model)
    assert cache.row_count == cache.key_count == 0


def test_a_prefix_ends_anywhere_in_a_block(tiny_model: SpeechLM) -> None:
    cache = tiny_model.cache(1)
    for length in (1, BLOCK_COLUMNS - 1, BLOCK_COLUMNS, BLOCK_COLUMNS + 1, 2 * BLOCK_COLUMNS):
        row = Row(tiny_model, [1, 2], [])
        row.prefix = row.prefix.repeat(BLOCK_COLUMNS, 1)[:length]
        start(tiny_model, [row], cache)
        step(tiny_model, [row], cache, 3)
        row.check(tiny_model)
