from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor

import pytest
import torch

from cosyvoice_web.engines.cosyvoice.language_model.decoding import Decoding, DecodingEnd, TokenLimits, decode
from cosyvoice_web.engines.cosyvoice.language_model.speech_lm import SpeechLM
from cosyvoice_web.engines.cosyvoice.language_model.together import decode_together

LENGTHS = (12, 0, 30, 7, 30)


def decodings(prefix: torch.Tensor) -> list[Decoding]:
    return [
        Decoding(prefix[: len(prefix) - seed], TokenLimits(most, most), torch.Generator().manual_seed(seed))
        for seed, most in enumerate(LENGTHS)
    ]


@pytest.fixture(params=[False, True], ids=["one thread", "two threads"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor | None]:
    with ThreadPoolExecutor(1) as second:
        yield second if request.param else None


def test_tokens_are_those_of_each_alone(
    tiny_model: SpeechLM, sft_prefix: torch.Tensor, executor: Executor | None
) -> None:
    together, alone = decodings(sft_prefix), decodings(sft_prefix)
    rounds = sum(1 for _ in decode_together(tiny_model, together, executor, 10))
    assert rounds == 3
    for one, other in zip(together, alone, strict=True):
        assert one.tokens == list(decode(tiny_model, other))
        assert one.end is DecodingEnd.BUDGET_SPENT


@pytest.mark.parametrize("broken", [0, 1], ids=["here", "beside"])
def test_an_error_of_either_thread_arrives_once_both_are_done(
    tiny_model: SpeechLM, sft_prefix: torch.Tensor, broken: int
) -> None:
    work = decodings(sft_prefix)[:1] + decodings(sft_prefix)[2:]
    work[broken].prefix = torch.zeros(3, 1)
    with ThreadPoolExecutor(1) as executor, pytest.raises(RuntimeError):
        for _ in decode_together(tiny_model, work, executor, 10):
            pass
    assert len(work[1 - broken].tokens) > 0
