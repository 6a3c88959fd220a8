"""From samples to the bytes of a file that is sent while it is made: what was handed out is never touched again.

A header is written before the length is known, so a WAV stream says 0xFFFFFFFF for both of its sizes, which decoders
take as "until the end". OGG is made for streams: its bytes equal those of the finished file. MP3 is sent at a constant
bit rate, because a decoder guesses the length of a variable one from its first frame, and stops too early. FLAC is not
offered: its header holds the length, and common readers refuse a file without.
"""

import io
from typing import Protocol

import numpy as np
import numpy.typing as npt
import soundfile
import soxr

from cosyvoice_web.audio.encoders import BLOCK_SAMPLES, CONTAINER, check_sample_rate, with_fixed_ogg_serial
from cosyvoice_web.audio.waveform import to_pcm16
from cosyvoice_web.errors import InvalidRequest
from cosyvoice_web.speech import AudioFormat, Samples

STREAMABLE = (AudioFormat.WAV, AudioFormat.OGG, AudioFormat.MP3)

UNKNOWN_SIZE = 0xFFFF_FFFF

MP3_COMPRESSION = 0.5
"""Half way between the best and the smallest: 32 to 160 kbit/s, by the sample rate."""

Pcm = npt.NDArray[np.int16]


def check_streamable(audio_format: AudioFormat) -> None:
    """Refuse a format that cannot be sent while it is made.

    Raises:
        InvalidRequest: names the field `format` and what is possible.
    """
    if audio_format not in STREAMABLE:
        names = ", ".join(each.suffix for each in STREAMABLE)
        raise InvalidRequest(
            f"{audio_format.suffix} cannot be streamed, as its header holds the length: choose one of {names}, "
            "or leave stream out.",
            field="format",
        )


class StreamEncoder:
    """Encodes one stream: `encode` pieces in order, then `finish`; `close` gives up before. Holds a moment of audio."""

    def __init__(self, audio_format: AudioFormat, from_hz: int, to_hz: int) -> None:
        """Samples come at `from_hz` and go out at `to_hz`.

        Raises:
            InvalidRequest: the format cannot be streamed, or not at this rate.
        """
        check_streamable(audio_format)
        check_sample_rate(audio_format, to_hz)
        self._resampler = _Resampler(from_hz, to_hz)
        self._writer: _Writer = (
            _WavWriter(to_hz) if audio_format is AudioFormat.WAV else _FileWriter(audio_format, to_hz)
        )

    def encode(self, samples: Samples) -> bytes:
        """The bytes that are final after these samples; none at all when the encoder wants more first.

        Raises:
            NonFiniteAudio: a sample is NaN or infinite.
        """
        return self._writer.write(to_pcm16(self._resampler.resample(samples)))

    def finish(self) -> bytes:
        """The last bytes."""
        return self._writer.write(to_pcm16(self._resampler.finish())) + self._writer.finish()

    def close(self) -> None:
        """Free the encoder, finished or not."""
        self._writer.finish()


class _Resampler:
    """The same samples as resampling the whole at once, to the last bit. Source: libsoxr, quality HQ."""

    def __init__(self, from_hz: int, to_hz: int) -> None:
        self._ratio = to_hz / from_hz
        self._stream = (
            None if from_hz == to_hz else soxr.ResampleStream(from_hz, to_hz, 1, dtype="float32", quality="HQ")
        )
        self._taken = self._given = 0

    def resample(self, samples: Samples) -> Samples:
        if self._stream is None:
            return samples
        self._taken += len(samples)
        resampled: Samples = self._stream.resample_chunk(samples)
        self._given += len(resampled)
        return resampled

    def finish(self) -> Samples:
        """What the filter still holds, cut or padded to the duration that went in."""
        if self._stream is None:
            return np.zeros(0, np.float32)
        rest: Samples = self._stream.resample_chunk(np.zeros(0, np.float32), last=True)
        missing = max(0, round(self._taken * self._ratio) - self._given)
        return np.pad(rest, (0, max(0, missing - len(rest))))[:missing]


class _Writer(Protocol):
    """Turns PCM into the bytes of a file."""

    def write(self, pcm: Pcm) -> bytes: ...

    def finish(self) -> bytes: ...


class _WavWriter:
    """One header, then nothing but samples. Source: Multimedia Programming Interface and Data Specifications 1.0."""

    def __init__(self, sample_rate_hz: int) -> None:
        sizes = UNKNOWN_SIZE.to_bytes(4, "little")
        numbers = ((16, 4), (1, 2), (1, 2), (sample_rate_hz, 4), (2 * sample_rate_hz, 4), (2, 2), (16, 2))
        layout = b"".join(number.to_bytes(width, "little") for number, width in numbers)
        self._header = b"RIFF" + sizes + b"WAVEfmt " + layout + b"data" + sizes

    def write(self, pcm: Pcm) -> bytes:
        header, self._header = self._header, b""
        return header + pcm.astype("<i2").tobytes()

    def finish(self) -> bytes:
        return b""


class _FileWriter:
    """A container of libsndfile, whose bytes are taken away as soon as they are written."""

    def __init__(self, audio_format: AudioFormat, sample_rate_hz: int) -> None:
        container, subtype = CONTAINER[audio_format]
        constant = {"bitrate_mode": "CONSTANT", "compression_level": MP3_COMPRESSION}
        self._is_ogg = audio_format is AudioFormat.OGG
        self._file = _DrainedFile()
        self._encoder = soundfile.SoundFile(
            self._file, "w", sample_rate_hz, 1, subtype, format=container, **({} if self._is_ogg else constant)
        )

    def write(self, pcm: Pcm) -> bytes:
        for start in range(0, len(pcm), BLOCK_SAMPLES):
            self._encoder.write(pcm[start : start + BLOCK_SAMPLES])
        return self._take()

    def finish(self) -> bytes:
        self._encoder.close()
        return self._take()

    def _take(self) -> bytes:
        data = self._file.take()
        return with_fixed_ogg_serial(data) if self._is_ogg else data  # it writes whole pages


class _DrainedFile(io.RawIOBase):
    """A file from whose front bytes are taken; what is later written over those is dropped."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._taken_count = 0
        self._position = 0

    def take(self) -> bytes:
        """Everything that was written since the last time."""
        data = bytes(self._data)
        self._taken_count += len(data)
        self._data.clear()
        return data

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]  # a buffer of the library's
        kept = piece[max(0, self._taken_count - self._position) :]
        start = max(0, self._position - self._taken_count)
        self._data[start : start + len(kept)] = kept
        self._position += len(piece)
        return len(piece)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        end = self._taken_count + len(self._data)
        self._position = offset + (0, self._position, end)[whence]
        return self._position

    def tell(self) -> int:
        return self._position
