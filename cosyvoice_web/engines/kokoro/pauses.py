"""The edges of a rendered piece: pauses of natural length, and no sample beyond full scale."""

import numpy as np

from cosyvoice_web.engines.kokoro.model import SAMPLE_RATE_HZ
from cosyvoice_web.speech import Samples

_AUDIBLE = 0.004
"""Magnitude (-48 dBFS) above which a sample is speech; the model's silence is far below."""

_BEFORE_SECONDS = 0.15
"""A recogniser mishears first sounds behind 0.08 s; behind 0.15 s it hears as well as behind the whole silence."""

_AFTER_SECONDS = {".": 0.4, "!": 0.4, "?": 0.4, "…": 0.4, ",": 0.2, ";": 0.25, ":": 0.2, "—": 0.2}
_AFTER_WORD_SECONDS = 0.04
_FULL_SCALE = 0.99


def with_natural_edges(samples: Samples, phonemes: str, speed: float) -> Samples:
    """Shorten the silence around a piece and bring its loudest sample below full scale.

    The model puts 0.3 to 0.4 s before and 0.5 to 0.8 s behind everything it renders, which would tear apart a sentence
    that is rendered in pieces. The pause that stays follows the mark at the end of `phonemes`; nothing audible is cut.

    Args:
        samples: (samples,) float32 at 24 kHz; not changed.
        phonemes: what was rendered.
        speed: pauses shrink with it as speech does.

    Returns:
        (kept samples,) float32; `samples` itself where all is silent or not finite, for the caller to judge.
    """
    magnitudes = np.abs(samples)
    audible = np.flatnonzero(magnitudes > _AUDIBLE)
    if not audible.size or not np.isfinite(samples).all():
        return samples
    mark = phonemes.rstrip(')”"')[-1:]
    before = round(_BEFORE_SECONDS / speed * SAMPLE_RATE_HZ)
    after = round(_AFTER_SECONDS.get(mark, _AFTER_WORD_SECONDS) / speed * SAMPLE_RATE_HZ)
    kept = samples[max(0, int(audible[0]) - before) : int(audible[-1]) + 1 + after]
    peak = float(magnitudes.max())
    return kept * np.float32(_FULL_SCALE / peak) if peak > _FULL_SCALE else kept
