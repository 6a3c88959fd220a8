import numpy as np
import pytest

from cosyvoice_web.engines.cosyvoice.acoustics import energy_share_below, level_db, level_range_db, worst_seam
from tests.engines.cosyvoice.recordings import syllables

RATE_HZ = 22_050
NOISE = np.random.default_rng(1).uniform(-0.1, 0.1, 2 * RATE_HZ).astype(np.float32)
SPEECH = syllables(2.0)
SILENCE = np.zeros(RATE_HZ, np.float32)


def test_levels_are_decibels_below_full_scale() -> None:
    assert level_db(np.full(100, 0.1, np.float32)) == pytest.approx(-20.0)
    assert level_db(SILENCE) == -100.0


def test_speech_has_pauses_and_noise_has_none() -> None:
    assert level_range_db(SPEECH, RATE_HZ) > 30
    assert level_range_db(NOISE, RATE_HZ) < 5
    assert level_range_db(SILENCE, RATE_HZ) == 0.0
    assert level_range_db(SPEECH[:10], RATE_HZ) == 0.0


def test_speech_is_low_and_noise_is_everywhere() -> None:
    assert energy_share_below(SPEECH, 4000.0, RATE_HZ) > 0.99
    assert energy_share_below(NOISE, 4000.0, RATE_HZ) == pytest.approx(4000 / (RATE_HZ / 2), abs=0.03)
    assert energy_share_below(SILENCE, 4000.0, RATE_HZ) == 0.0


def test_a_click_at_a_seam_stands_out_and_a_smooth_seam_does_not() -> None:
    tone = (0.3 * np.sin(2 * np.pi * 220 * np.arange(RATE_HZ) / RATE_HZ)).astype(np.float32)
    assert worst_seam(tone, (5_000, 10_000), RATE_HZ) <= 1.01
    clicked = tone.copy()
    clicked[10_000:] += 0.1
    assert worst_seam(clicked, (5_000, 10_000), RATE_HZ) > 4
    assert worst_seam(clicked, (5_000,), RATE_HZ) <= 1.01
    assert worst_seam(clicked, (), RATE_HZ) == 0.0
