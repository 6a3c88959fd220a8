import pytest
import torch

from cosyvoice_web.engines.cosyvoice.config import OVERLAP_TOKENS
from cosyvoice_web.engines.cosyvoice.rendering import SentenceRenderer, TokenWindows, WindowPlan
from tests.engines.cosyvoice.golden_files import golden
from tests.engines.cosyvoice.stages import cloned_voice, plain_voice, tiny_mel_decoder, tiny_vocoder

TOKENS = (golden("tiny").ids("speech") * 4)[:200]


def windows_of(count: int, plan: WindowPlan) -> list[list[int]]:
    """All windows of the tokens 0, 1, ..., count - 1, handed in one by one."""
    windows, found = TokenWindows(plan), []
    for token in range(count):
        windows.add(token)
        if (window := windows.next_window()) is not None:
            found.append(window)
    return [*found, windows.last_window()]


def renderer(seed: int = 1, speed: float = 1.0, *, is_cloned: bool = False) -> SentenceRenderer:
    voice = cloned_voice() if is_cloned else plain_voice()
    generator = torch.Generator().manual_seed(seed)
    return SentenceRenderer(tiny_mel_decoder(), tiny_vocoder(), voice, generator, speed=speed)


def rendered_in_windows(
    tokens: list[int], plan: WindowPlan, speed: float = 1.0, *, is_cloned: bool = False
) -> torch.Tensor:
    sentence = renderer(speed=speed, is_cloned=is_cloned)
    spans = windows_of(len(tokens), plan)
    pieces = []
    for index, span in enumerate(spans):
        pieces.append(sentence.push([tokens[place] for place in span], is_last=index == len(spans) - 1))
    return torch.cat(pieces)


@pytest.mark.parametrize("count", [1, 20, 59, 60, 61, 140, 161, 400])
def test_windows_overlap_and_lose_no_token(count: int) -> None:
    plan = WindowPlan(first_tokens=40, growth=2.0, most_tokens=100)
    first, *others = windows_of(count, plan)
    joined = first
    for window in others:
        assert window[:OVERLAP_TOKENS] == joined[-OVERLAP_TOKENS:]
        assert len(window) > OVERLAP_TOKENS
        joined = joined + window[OVERLAP_TOKENS:]
    assert joined == list(range(count))


def test_windows_grow_from_the_first_to_the_longest() -> None:
    lengths = [len(window) for window in windows_of(500, WindowPlan(40, 2.0, 100))]
    assert lengths[:4] == [60, 100, 120, 120]


@pytest.mark.parametrize("is_cloned", [False, True])
def test_a_stream_is_as_long_as_the_whole_but_for_rounding(is_cloned: bool) -> None:
    whole = renderer(is_cloned=is_cloned).push(TOKENS, is_last=True)
    pieces = rendered_in_windows(TOKENS, WindowPlan(), is_cloned=is_cloned)
    assert len(whole) == int(200 / 50 * 22050 / 256) * 256
    assert abs(len(pieces) - len(whole)) <= 3 * 256


@pytest.mark.parametrize("speed", [0.6, 1.7])
def test_speed_works_while_streaming(speed: float) -> None:
    plain = len(rendered_in_windows(TOKENS, WindowPlan()))
    assert abs(len(rendered_in_windows(TOKENS, WindowPlan(), speed)) - plain / speed) <= 2 * 256


def test_a_seed_repeats_the_samples_and_another_changes_them() -> None:
    first, again, other = (renderer(seed).push(TOKENS[:50], is_last=True) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.allclose(first, other, atol=1e-3)


def test_two_sentences_at_once_do_not_disturb_each_other() -> None:
    alone = rendered_in_windows(TOKENS, WindowPlan())
    one, two = renderer(), renderer(seed=2)
    spans = windows_of(len(TOKENS), WindowPlan())
    pieces = []
    for index, span in enumerate(spans):
        tokens, is_last = [TOKENS[place] for place in span], index == len(spans) - 1
        pieces.append(one.push(tokens, is_last=is_last))
        two.push(tokens, is_last=is_last)
    assert torch.equal(torch.cat(pieces), alone)
