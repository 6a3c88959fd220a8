import numpy as np
import pytest

from cosyvoice_web.engines.kokoro.pauses import with_natural_edges
from cosyvoice_web.speech import Samples

RATE_HZ = 24_000


def speech(lead_seconds: float = 0.4, trail_seconds: float = 0.8, peak: float = 0.5) -> Samples:
    tone = peak * np.sin(np.arange(RATE_HZ) / 10)
    parts = np.zeros(round(lead_seconds * RATE_HZ)), tone, np.zeros(round(trail_seconds * RATE_HZ))
    return np.concatenate(parts).astype(np.float32)


@pytest.mark.parametrize(
    ("phonemes", "after_seconds"), [("a.", 0.4), ("a?”", 0.4), ("a,", 0.2), ("a", 0.04), ("", 0.04)]
)
def test_the_pause_follows_the_mark(phonemes: str, after_seconds: float) -> None:
    kept = with_natural_edges(speech(), phonemes, 1.0)
    assert len(kept) / RATE_HZ == pytest.approx(0.15 + 1.0 + after_seconds, abs=0.001)


def test_a_pause_is_never_made_longer() -> None:
    assert len(with_natural_edges(speech(0.01, 0.02), "a.", 1.0)) == len(speech(0.01, 0.02))


def test_pauses_shrink_with_speed() -> None:
    assert len(with_natural_edges(speech(), "a.", 2.0)) / RATE_HZ == pytest.approx(1.275, abs=0.001)


def test_loud_speech_is_scaled_not_clipped_and_the_input_is_not_touched() -> None:
    loud = speech(peak=1.3)
    before = loud.copy()
    kept = with_natural_edges(loud, "a.", 1.0)
    assert np.abs(kept).max() == pytest.approx(0.99)
    assert kept.dtype == np.float32
    assert np.array_equal(loud, before)


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_what_is_no_speech_is_left_to_the_caller(value: float) -> None:
    samples = np.full(100, value, np.float32)
    assert with_natural_edges(samples, "a.", 1.0) is samples
