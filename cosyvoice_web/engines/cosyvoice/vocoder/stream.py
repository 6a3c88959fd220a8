"""The vocoder over a mel spectrogram that arrives in pieces."""

from concurrent.futures import Executor

import torch

from cosyvoice_web.engines.cosyvoice.vocoder.f0_predictor import CONVOLUTION_COUNT, KERNEL_SIZE
from cosyvoice_web.engines.cosyvoice.vocoder.hift import HiFTVocoder

F0_CONTEXT_FRAMES = CONVOLUTION_COUNT * (KERNEL_SIZE // 2)
"""Frames to either side that can change a frame's fundamental frequency."""
_PARALLEL_PARTS = 2
_MIN_PARALLEL_FRAMES = 100


class VocoderStream:
    """One synthesis in the vocoder: what has come in, what has gone out, and the phases of the excitation.

    A frame goes out once everything that can change its waveform has come in, and is decoded beside as much of its past
    as can. The pieces put together are therefore the waveform of the whole: there are no seams to hide.

    Source: CosyVoice, cli/model.py, CosyVoiceModel.token2wav, for the idea of a cache of mel and excitation.
    Differs: the reference decodes 20 frames twice and fades from one result to the other, with an excitation whose
    phases jump. Here a chunk costs up to 17 frames of decoding more, and is exact.
    """

    def __init__(self, vocoder: HiFTVocoder, generator: torch.Generator, executor: Executor | None = None) -> None:
        """Phases and noise come from `generator`; a worker of `executor` takes half of the work where given."""
        self._vocoder = vocoder
        self._generator = generator
        self._executor = executor
        self._phases = vocoder.harmonic_source.random_phases(generator)
        self._mel = torch.zeros(1, 0, vocoder.config.mel_channels)
        self._source = torch.zeros(1, 0)
        self._done_frames = 0
        """Frames of `_mel` whose samples have gone out: they stay as context."""

    @torch.inference_mode()
    def push(self, mel: torch.Tensor, *, is_last: bool) -> torch.Tensor:
        """Take in the next frames and give out the samples that are certain now.

        Args:
            mel: (1, frames, mel) float32 log mel, any number of frames, none included.
            is_last: nothing follows, so everything goes out.

        Returns:
            (1, samples) float32 at the model's rate; before the last piece 21 frames or so are still to come.
        """
        vocoder, per_frame = self._vocoder, self._vocoder.config.samples_per_frame
        self._mel = torch.cat((self._mel, mel), dim=1)
        frames = self._mel.shape[1]
        sourced = frames if is_last else max(frames - F0_CONTEXT_FRAMES, self._source.shape[1] // per_frame)
        ready = sourced if is_last else sourced - vocoder.context_frames
        self._extend_source(sourced)
        if ready <= self._done_frames:
            return torch.zeros(1, 0)
        samples = self._decode(self._mel[:, :sourced])[:, self._done_frames * per_frame : ready * per_frame]
        kept_from = max(0, ready - vocoder.context_frames)
        self._mel = self._mel[:, kept_from:]
        self._source = self._source[:, kept_from * per_frame :]
        self._done_frames = ready - kept_from
        return samples

    def _extend_source(self, frames: int) -> None:
        """Let the excitation reach to `frames` frames of the kept mel."""
        start = self._source.shape[1] // self._vocoder.config.samples_per_frame
        if frames <= start:
            return
        f0_hz = self._vocoder.f0_predictor(self._mel)[:, start:frames]
        source, self._phases = self._vocoder.harmonic_source(f0_hz, self._phases, self._generator)
        self._source = torch.cat((self._source, source), dim=1)

    def _decode(self, mel: torch.Tensor) -> torch.Tensor:
        if self._executor is None or mel.shape[1] < _MIN_PARALLEL_FRAMES:
            return self._vocoder.decode(mel, self._source)
        return self._vocoder.decode_in_parts(mel, self._source, _PARALLEL_PARTS, self._executor)
