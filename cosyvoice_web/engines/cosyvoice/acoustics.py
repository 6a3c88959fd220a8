"""What tells speech from noise, silence and broken seams, measured on finished samples.

Samples are float32, shape (samples,), nominal range [-1, 1].
"""

from collections.abc import Sequence

import numpy as np

from cosyvoice_web.speech import Samples

FRAME_SECONDS = 0.02
SEAM_SURROUNDINGS_SECONDS = 0.01
_FLOOR = 1e-5


def level_db(samples: Samples) -> float:
    """Root mean square in decibels below full scale; -100 for silence."""
    return float(20 * np.log10(max(np.sqrt(np.mean(np.square(samples, dtype=np.float64))), _FLOOR)))


def level_range_db(samples: Samples, sample_rate_hz: int) -> float:
    """How far loud and quiet moments lie apart: speech has pauses and closures, noise is even."""
    frame_samples = round(FRAME_SECONDS * sample_rate_hz)
    frames = samples[: len(samples) // frame_samples * frame_samples].reshape(-1, frame_samples)
    if len(frames) == 0:
        return 0.0
    levels = 20 * np.log10(np.maximum(np.sqrt(np.mean(np.square(frames, dtype=np.float64), axis=1)), _FLOOR))
    quiet, loud = np.percentile(levels, (10, 95))
    return float(loud - quiet)


def energy_share_below(samples: Samples, limit_hz: float, sample_rate_hz: int) -> float:
    """Share of the energy below a frequency: that of speech lies mostly below 4 kHz."""
    power = np.square(np.abs(np.fft.rfft(samples)))
    frequencies_hz = np.fft.rfftfreq(len(samples), 1 / sample_rate_hz)
    return float(power[frequencies_hz < limit_hz].sum() / max(power.sum(), _FLOOR**2))


def worst_seam(samples: Samples, seams: Sequence[int], sample_rate_hz: int) -> float:
    """The largest step across a seam, as a multiple of the largest step in its surroundings; 0 without seams.

    A seam at n lies between the samples n - 1 and n. A click is many times as steep as what is around it.
    """
    steps = np.abs(np.diff(samples))
    reach = round(SEAM_SURROUNDINGS_SECONDS * sample_rate_hz)
    worst = 0.0
    for seam in seams:
        step = seam - 1
        around = np.concatenate((steps[max(0, step - reach) : step], steps[step + 1 : step + 1 + reach]))
        worst = max(worst, float(steps[step] / max(around.max(initial=0.0), _FLOOR)))
    return worst
