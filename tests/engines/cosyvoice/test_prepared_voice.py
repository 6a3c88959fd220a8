"""Sentences that go wrong, and what is done about them."""

import logging
from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest
import torch

from cosyvoice_web.engines.cosyvoice import prepared_voice
from cosyvoice_web.engines.cosyvoice.engine import CosyVoiceEngine
from cosyvoice_web.engines.cosyvoice.language_model.decoding import Decoding, DecodingEnd
from cosyvoice_web.engines.cosyvoice.language_model.speech_lm import SpeechLM
from cosyvoice_web.engines.cosyvoice.rendering import SentenceRenderer
from cosyvoice_web.errors import (
    NonFiniteAudio,
    NoSpeechProduced,
    TokenBudgetSpent,
)
from cosyvoice_web.speech import SEED_MAX, Manner
from tests.engines.cosyvoice.speaking import HELLO, joined, voice


class Script:
    """Stands for the language model: how many tokens each try makes, and whether the model ends it."""

    def __init__(self, *tries: tuple[int, DecodingEnd]) -> None:
        self.made = 0
        self.tries = 0
        self._tries = tries

    def __call__(self, model: SpeechLM, decoding: Decoding) -> Iterator[int]:
        count, end = self._tries[self.tries]
        self.tries += 1
        for token in range(count):
            self.made += 1
            yield 17 * token % 500
        decoding.end = end


def scripted(monkeypatch: pytest.MonkeyPatch, *tries: tuple[int, DecodingEnd]) -> Script:
    script = Script(*tries)
    monkeypatch.setattr(prepared_voice, "decode", script)
    return script


ENDED, SPENT = DecodingEnd.END_OF_SPEECH, DecodingEnd.BUDGET_SPENT


def test_a_sentence_that_the_model_does_not_end_is_told_after_two_tries(
    variants: dict[str, CosyVoiceEngine], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine = variants["trained"]
    scripted(monkeypatch, (60, SPENT), (60, SPENT))
    prepared = engine.prepare(Manner(voice(engine)))
    with caplog.at_level(logging.INFO), pytest.raises(TokenBudgetSpent, match=r"within \d+ speech tokens") as error:
        joined(prepared.speak(HELLO, speed=1.0, seed=1))
    assert error.value.sentence == HELLO.text
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "你好" not in caplog.text


@pytest.mark.parametrize("seed", [5, SEED_MAX])
def test_a_second_try_with_the_next_seed_can_succeed(
    variants: dict[str, CosyVoiceEngine], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    engine = variants["trained"]
    prepared = engine.prepare(Manner(voice(engine)))
    script = scripted(monkeypatch, (60, SPENT), (30, ENDED), (30, ENDED))
    retried = joined(prepared.speak(HELLO, speed=1.0, seed=seed))
    assert script.tries == 2
    following = joined(prepared.speak(HELLO, speed=1.0, seed=6 if seed == 5 else 0))
    assert np.array_equal(retried, following)


def test_a_stream_is_not_tried_again_once_something_is_out(
    variants: dict[str, CosyVoiceEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = variants["trained"]
    script = scripted(monkeypatch, (100, SPENT), (30, ENDED))
    chunks = engine.prepare(Manner(voice(engine))).speak(HELLO, speed=1.0, seed=1, stream=True)
    assert any(len(chunk.samples) for chunk in islice(chunks, 4))
    with pytest.raises(TokenBudgetSpent):
        joined(chunks)
    assert script.tries == 1


def test_a_stream_starts_long_before_the_last_token(engine: CosyVoiceEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    script = scripted(monkeypatch, (400, ENDED))
    chunks = engine.prepare(Manner(voice(engine))).speak(HELLO, speed=1.0, seed=1, stream=True)
    assert next(len(chunk.samples) for chunk in chunks if len(chunk.samples)) > 0
    assert script.made <= 50


def test_closing_ends_the_work_within_half_a_second_of_speech(
    engine: CosyVoiceEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = scripted(monkeypatch, (400, ENDED))
    chunks = engine.prepare(Manner(voice(engine))).speak(HELLO, speed=1.0, seed=1)
    assert len(next(chunks).samples) == 0
    chunks.close()  # type: ignore[attr-defined]
    assert script.made <= 25


@pytest.mark.parametrize(("value", "error"), [(0.0, NoSpeechProduced), (float("nan"), NonFiniteAudio)])
@pytest.mark.parametrize("stream", [False, True])
def test_what_is_no_sound_is_tried_twice_and_then_told(
    engine: CosyVoiceEngine,
    monkeypatch: pytest.MonkeyPatch,
    value: float,
    error: type[Exception],
    stream: bool,
) -> None:
    script = scripted(monkeypatch, (120, ENDED), (120, ENDED))
    monkeypatch.setattr(SentenceRenderer, "push", lambda self, tokens, is_last: torch.full((500,), value))
    chunks = engine.prepare(Manner(voice(engine))).speak(HELLO, speed=1.0, seed=1, stream=stream)
    with pytest.raises(error):
        assert len(joined(chunks)) == 0
    assert script.tries == 2


def test_silence_before_the_speech_is_kept(engine: CosyVoiceEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, (60, ENDED))
    monkeypatch.setattr(
        SentenceRenderer, "push", lambda self, tokens, is_last: torch.full((500,), 0.5 if is_last else 0.0)
    )
    sound = joined(engine.prepare(Manner(voice(engine))).speak(HELLO, speed=1.0, seed=1, stream=True))
    assert sound.tolist() == [0.0] * 500 + [0.5] * 500


def test_no_token_at_all_is_no_speech(engine: CosyVoiceEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    script = scripted(monkeypatch, (0, ENDED), (0, ENDED))
    with pytest.raises(NoSpeechProduced) as error:
        joined(engine.prepare(Manner(voice(engine))).speak(HELLO, speed=1.0, seed=1))
    assert error.value.sentence == HELLO.text
    assert script.tries == 2
