"""Sentences of one text whose tokens are decoded in company."""

import threading
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from cosyvoice_web.engines.cosyvoice import prepared_voice
from cosyvoice_web.engines.cosyvoice.engine import CosyVoiceEngine
from cosyvoice_web.engines.cosyvoice.language_model.decoding import Decoding, DecodingEnd
from cosyvoice_web.engines.cosyvoice.language_model.speech_lm import SpeechLM
from cosyvoice_web.engines.cosyvoice.quantization import Precision
from cosyvoice_web.engines.cosyvoice.state import Synthesis
from cosyvoice_web.speech import Manner, Samples
from cosyvoice_web.text.sentences import Sentence
from tests.engines.cosyvoice.speaking import HELLO, LONGER, joined


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def engine(request: pytest.FixtureRequest, recipe_model: Path) -> Iterator[CosyVoiceEngine]:
    with closing(CosyVoiceEngine.load(recipe_model, request.param)) as engine:
        yield engine


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def exact(request: pytest.FixtureRequest, recipe_model: Path) -> Iterator[CosyVoiceEngine]:
    with closing(CosyVoiceEngine.load(recipe_model, request.param, Precision.FLOAT32)) as engine:
        yield engine


NEIGHBOURS = tuple(replace(LONGER, start=start, end=start + len(LONGER.text)) for start in range(0, 500, 50))


def prepared_with(engine: CosyVoiceEngine) -> prepared_voice.CosyVoicePreparedVoice:
    return engine.prepare(Manner(engine.voices[0]))


def spoken_together(engine: CosyVoiceEngine, sentences: Sequence[Sentence], seed: int = 1) -> list[Samples]:
    prepared = prepared_with(engine)
    prepared.announce(sentences, seed=seed)
    return [joined(prepared.speak(sentence, speed=1.0, seed=seed)) for sentence in sentences]


@pytest.mark.parametrize("count", [2, 3, 8, 10])
def test_in_float32_sentences_sound_the_same_alone_and_in_company(exact: CosyVoiceEngine, count: int) -> None:
    sentences = (HELLO, *NEIGHBOURS)[:count]
    together = spoken_together(exact, sentences)
    alone = [joined(prepared_with(exact).speak(sentence, speed=1.0, seed=1)) for sentence in sentences]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)  # halves and wholes round differently, tokens are equal


def test_a_sentence_made_ahead_at_another_speed_is_made_again(exact: CosyVoiceEngine) -> None:
    first, second = NEIGHBOURS[:2]
    prepared = prepared_with(exact)
    prepared.announce((first, second), seed=1)
    for sentence, speed in ((first, 1.0), (second, 2.0)):
        alone = joined(prepared_with(exact).speak(sentence, speed=speed, seed=1))
        np.testing.assert_allclose(joined(prepared.speak(sentence, speed=speed, seed=1)), alone, atol=1e-4)


def test_a_sentence_made_ahead_that_goes_wrong_is_tried_again_when_its_turn_comes(
    exact: CosyVoiceEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    render = Synthesis.render
    failures: list[Synthesis] = []

    def failing_once(self: Synthesis, tokens: Iterator[int], *, stream: bool) -> Iterator[torch.Tensor]:
        if not failures and threading.current_thread() is not threading.main_thread():
            failures.append(self)
            yield torch.full((10,), torch.nan)
        yield from render(self, tokens, stream=stream)

    monkeypatch.setattr(Synthesis, "render", failing_once)
    first, second, third = spoken_together(exact, NEIGHBOURS[:3])
    assert len(failures) == (1 if exact.workers.second is not None else 0)
    with_next_seed = joined(prepared_with(exact).speak(NEIGHBOURS[1], speed=1.0, seed=2 if failures else 1))
    np.testing.assert_allclose(second, with_next_seed, atol=1e-4)
    assert len(first) == len(third) == len(second)


def test_in_int8_a_text_with_a_seed_sounds_the_same_every_time(engine: CosyVoiceEngine) -> None:
    first, second = (spoken_together(engine, NEIGHBOURS[:5], seed=7) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one, other)


def test_announced_sentences_can_be_given_up_while_they_are_decoded(engine: CosyVoiceEngine) -> None:
    prepared = prepared_with(engine)
    prepared.announce(NEIGHBOURS, seed=1)
    chunks = prepared.speak(NEIGHBOURS[0], speed=1.0, seed=1)
    assert len(next(chunks).samples) == 0
    assert isinstance(chunks, Generator)
    chunks.close()
    assert len(joined(prepared.speak(HELLO, speed=1.0, seed=1))) > 0


def test_of_announced_sentences_the_one_that_does_not_end_is_tried_again_alone(
    engine: CosyVoiceEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = []

    def ending_but_for_the_second(
        model: SpeechLM, decodings: Sequence[Decoding], executor: Executor | None, round_tokens: int
    ) -> Iterator[None]:
        for decoding, end in zip(decodings, (DecodingEnd.END_OF_SPEECH, DecodingEnd.BUDGET_SPENT), strict=True):
            decoding.tokens[:] = range(30)
            decoding.end = end
        yield

    def ending(model: SpeechLM, decoding: Decoding) -> Iterator[int]:
        alone.append(decoding)
        yield from range(60)
        decoding.end = DecodingEnd.END_OF_SPEECH

    monkeypatch.setattr(prepared_voice, "decode_together", ending_but_for_the_second)
    monkeypatch.setattr(prepared_voice, "decode", ending)
    monkeypatch.setattr(prepared_voice.LoadedModel, "has_forced_lengths", False)
    first, second = spoken_together(engine, NEIGHBOURS[:2])
    assert len(alone) == 1
    assert len(second) == pytest.approx(2 * len(first), rel=0.05)
