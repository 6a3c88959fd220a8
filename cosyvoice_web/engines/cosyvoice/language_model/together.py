"""Decodes the sentences of one text in company, on two threads where there are two."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor

from cosyvoice_web.engines.cosyvoice.language_model.decoding import Decoding, DecodingBatch
from cosyvoice_web.engines.cosyvoice.language_model.speech_lm import SpeechLM

MOST_TOGETHER = 8
"""Sequences decoded at once: the weights are read once a step for all rows of a batch, and beyond four rows a thread
the attention of each row, which nothing shares, takes most of the time."""

FEWEST_ON_TWO_THREADS = 4
"""Fewer are faster in one batch on one thread: two threads read all weights twice, and a step waits for memory."""


def decode_together(
    model: SpeechLM, decodings: Sequence[Decoding], executor: Executor | None, round_tokens: int
) -> Iterator[None]:
    """Decode all to their ends; yields after every `round_tokens` steps, moments at which the consumer may stop.

    With an executor every second of FEWEST_ON_TWO_THREADS or more is made by a worker of it, in a batch of its own.
    Which decodings share a batch depends on their order alone: equal arguments give equal tokens, at any precision.
    """
    is_split = executor is not None and len(decodings) >= FEWEST_ON_TWO_THREADS
    shares = (decodings[0::2], decodings[1::2]) if is_split else (decodings,)
    batches = [(DecodingBatch(model), share) for share in shares]

    def advance(batch: DecodingBatch, starting: Sequence[Decoding]) -> None:
        if starting:
            batch.join(starting)
        for _ in range(round_tokens):
            batch.step()

    while any(starting or batch.running for batch, starting in batches):
        beside = [executor.submit(advance, *batch) for batch in batches[1:]] if executor is not None else []
        try:
            advance(*batches[0])
        finally:  # whatever happened here, nothing of this text may still be worked on when this returns
            errors = [future.exception() for future in beside]
        for error in errors:
            if error is not None:
                raise error
        batches = [(batch, ()) for batch, _ in batches]
        yield
