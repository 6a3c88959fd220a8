"""Mel spectrograms of overlapping chunks to one that goes on: fading, and speed."""

import math

import torch

from cosyvoice_web.engines.cosyvoice.mel_decoder.length_regulator import stretch


def cross_fade(fade_in: torch.Tensor, fade_out: torch.Tensor, window: torch.Tensor) -> torch.Tensor:
    """`fade_in` with its beginning mixed with the end of `fade_out`.

    Args:
        fade_in: (1, time, ...) float32, the later piece.
        fade_out: (1, time, ...) float32, the earlier one.
        window: (2 x shared,) weights: the first half for the later piece, the second for the earlier one.

    Returns:
        A new tensor of the shape of `fade_in`; its first `shared` steps are mixed.

    Source: CosyVoice, utils/common.py, fade_in_out.
    """
    shared = window.shape[0] // 2
    weights = window.to(fade_in.dtype).view(1, -1, *(1 for _ in fade_in.shape[2:]))
    mixed = fade_in[:, :shared] * weights[:, :shared] + fade_out[:, fade_out.shape[1] - shared :] * weights[:, shared:]
    return torch.cat((mixed, fade_in[:, shared:]), dim=1)


def fading_window(shared: int) -> torch.Tensor:
    """Weights for `cross_fade`, (2 x shared,) float32: a raised cosine whose two halves add up to 1 everywhere.

    Differs: the reference takes a Hamming window. Its halves add up to 1.08 and begin at 0.08, so a steady signal
    steps by 8 % at both ends of what is shared.
    """
    rising = 0.5 - 0.5 * torch.cos(math.pi * (torch.arange(shared, dtype=torch.float32) + 0.5) / shared)
    return torch.cat((rising, 1 - rising))


class MelSeam:
    """Joins the mel of chunks that share frames: keeps the last ones back and fades them into the next chunk.

    Source: CosyVoice, cli/model.py, CosyVoiceModel.token2wav.
    """

    def __init__(self, shared_frames: int) -> None:
        """`shared_frames` frames of every chunk but the last come again at the beginning of the next."""
        self._shared_frames = shared_frames
        self._held: torch.Tensor | None = None

    def push(self, mel: torch.Tensor, *, is_last: bool) -> torch.Tensor:
        """Take in a chunk, (1, frames, mel) float32, and give out the frames that nothing will change any more."""
        if self._held is not None:
            shared = min(self._held.shape[1], mel.shape[1])
            mel = cross_fade(mel, self._held[:, :shared], fading_window(shared))
        if is_last:
            self._held = None
            return mel
        certain = max(0, mel.shape[1] - self._shared_frames)
        self._held = mel[:, certain:]
        return mel[:, :certain]


class MelStretch:
    """Changes the speed of a mel spectrogram that arrives in pieces, by linear interpolation in time.

    A single piece comes out as in the reference; several come out as one whole stretched by the same function, with
    the exact speed in place of the quotient of two whole numbers of frames.

    Source: CosyVoice, cli/model.py, CosyVoiceModel.token2wav, which does this for whole sentences only.
    """

    def __init__(self, speed: float) -> None:
        """`speed` above 1 is faster, so shorter."""
        self._speed = speed
        self._kept: torch.Tensor | None = None
        self._kept_from = 0
        self._total_frames = 0
        self._done_frames = 0

    def push(self, mel: torch.Tensor, *, is_last: bool) -> torch.Tensor:
        """Take in frames, (1, frames, mel) float32, and give out the stretched frames that lie between known ones."""
        if self._speed == 1.0:
            return mel
        if is_last and self._kept is None:
            return stretch(mel, max(1, int(mel.shape[1] / self._speed)))
        kept = mel if self._kept is None else torch.cat((self._kept, mel), dim=1)
        self._total_frames += mel.shape[1]
        positions = self._next_positions(is_last=is_last)
        before = positions.floor()
        share = (positions - before).to(mel.dtype)[None, :, None]
        left = before.long() - self._kept_from
        right = (left + 1).clamp(max=kept.shape[1] - 1)
        self._done_frames += len(positions)
        drop = min(max(0, math.floor(self._position(self._done_frames)) - self._kept_from), kept.shape[1])
        self._kept, self._kept_from = kept[:, drop:], self._kept_from + drop
        return torch.lerp(kept[:, left], kept[:, right], share)

    def _position(self, frame: int) -> float:
        """Where the centre of a stretched frame lies, in frames that came in."""
        return max(0.0, (frame + 0.5) * self._speed - 0.5)

    def _next_positions(self, *, is_last: bool) -> torch.Tensor:
        """(frames,) float64 places of the stretched frames that can be computed now."""
        limit = self._total_frames - 1
        end = self._done_frames
        if is_last:
            end = max(end, int(self._total_frames / self._speed))
        else:
            while self._position(end) < limit:
                end += 1
        places = [min(self._position(frame), float(limit)) for frame in range(self._done_frames, end)]
        return torch.tensor(places, dtype=torch.float64)
