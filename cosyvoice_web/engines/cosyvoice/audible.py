"""What a model made of a sentence, checked: numbers, and something to hear."""

from collections.abc import Iterable, Iterator

import torch

from cosyvoice_web.errors import NonFiniteAudio, NoSpeechProduced

SILENCE_PEAK = 1e-3
"""A sentence whose highest magnitude is below this has not been spoken."""


def audible(pieces: Iterable[torch.Tensor], sentence: str) -> Iterator[torch.Tensor]:
    """Let pieces of (samples,) float32 through, silent ones only once something has been heard.

    Raises:
        NonFiniteAudio: a sample is no number.
        NoSpeechProduced: nothing is heard to the end.
    """
    is_heard = False
    silent: list[torch.Tensor] = []
    for samples in pieces:
        if not bool(torch.isfinite(samples).all()):
            raise NonFiniteAudio("The model produced samples that are not numbers.", sentence)
        if not is_heard and len(samples) > 0:
            silent.append(samples)
            samples = samples[:0]
            if float(silent[-1].abs().max()) >= SILENCE_PEAK:
                is_heard = True
                samples = torch.cat(silent)
        yield samples
    if not is_heard:
        raise NoSpeechProduced("The model produced no audible speech for a part of the text.", sentence)
