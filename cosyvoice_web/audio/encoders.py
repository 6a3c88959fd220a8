"""From samples to the bytes of a finished file, in memory.

Which rates a format takes is one rule: WAV, FLAC and OGG take every whole rate that a request may name; MP3 takes the
nine rates that MPEG defines, and any other is refused rather than replaced behind the caller's back.

OGG carries Vorbis, not Opus: Opus knows 8, 12, 16, 24 and 48 kHz only, which leaves out the 22050 Hz and 44100 Hz of
engines and players; Vorbis takes every rate and decodes to exactly the samples that went in. MP3 files carry the
LAME tag, by which players drop the encoder's delay and padding, so they too decode to the same length.
"""

import io
import zlib

import soundfile

from cosyvoice_web.audio.waveform import to_pcm16
from cosyvoice_web.errors import InvalidRequest
from cosyvoice_web.speech import SAMPLE_RATE_MAX_HZ, SAMPLE_RATE_MIN_HZ, AudioFormat, Samples

MP3_RATES_HZ = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
"""MPEG 1, 2 and 2.5 layer III. Source: ISO/IEC 11172-3, 13818-3 and the 2.5 extension."""

CONTAINER = {
    AudioFormat.WAV: ("WAV", "PCM_16"),
    AudioFormat.FLAC: ("FLAC", "PCM_16"),
    AudioFormat.OGG: ("OGG", "VORBIS"),
    AudioFormat.MP3: ("MP3", "MPEG_LAYER_III"),
}

BLOCK_SAMPLES = 65_536
"""Samples handed over in one piece: libvorbis keeps a whole piece on the stack and crashes the process on minutes."""

_OGG_SERIAL = b"CVW1"
_BIT_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def check_sample_rate(audio_format: AudioFormat, sample_rate_hz: int) -> None:
    """Refuse a rate that the format cannot carry, before any speech is made for it.

    Raises:
        InvalidRequest: names the field `sample_rate` and what is possible.
    """
    if not SAMPLE_RATE_MIN_HZ <= sample_rate_hz <= SAMPLE_RATE_MAX_HZ:
        raise InvalidRequest(
            f"sample_rate {sample_rate_hz} is out of range: "
            f"give a whole number from {SAMPLE_RATE_MIN_HZ} to {SAMPLE_RATE_MAX_HZ}.",
            field="sample_rate",
        )
    if audio_format is AudioFormat.MP3 and sample_rate_hz not in MP3_RATES_HZ:
        rates = ", ".join(map(str, MP3_RATES_HZ))
        raise InvalidRequest(
            f"MP3 cannot carry sample_rate {sample_rate_hz}: give one of {rates}, or choose wav, flac or ogg.",
            field="sample_rate",
        )


def encode(samples: Samples, sample_rate_hz: int, audio_format: AudioFormat) -> bytes:
    """A complete mono file: 16-bit PCM in WAV and FLAC, Vorbis in OGG, layer III in MP3; equal input, equal bytes.

    Raises:
        NonFiniteAudio: a sample is NaN or infinite.
        InvalidRequest: the format cannot carry the rate.
    """
    check_sample_rate(audio_format, sample_rate_hz)
    pcm = to_pcm16(samples)
    container, subtype = CONTAINER[audio_format]
    file = io.BytesIO()
    with soundfile.SoundFile(file, "w", sample_rate_hz, 1, subtype, format=container) as writer:
        for start in range(0, len(pcm), BLOCK_SAMPLES):
            writer.write(pcm[start : start + BLOCK_SAMPLES])
    data = file.getvalue()
    return with_fixed_ogg_serial(data) if audio_format is AudioFormat.OGG else data


def with_fixed_ogg_serial(data: bytes) -> bytes:
    """Replace the stream serial that the writer draws from the clock, so equal speech is equal bytes.

    Source: RFC 3533, section 6 (page header: serial at byte 14, checksum at 22, segment table at 27).
    """
    pages = bytearray(data)
    start = 0
    while start < len(pages):
        segment_count = pages[start + 26]
        header_bytes = 27 + segment_count
        end = start + header_bytes + sum(pages[start + 27 : start + header_bytes])
        pages[start + 14 : start + 18] = _OGG_SERIAL
        pages[start + 22 : start + 26] = bytes(4)
        pages[start + 22 : start + 26] = _ogg_checksum(bytes(pages[start:end]))
        start = end
    return bytes(pages)


def _ogg_checksum(page: bytes) -> bytes:
    """CRC-32 with polynomial 0x04c11db7, unreflected, from 0, as four little-endian bytes.

    It is zlib's CRC with every bit order reversed and both of its inversions taken back.
    """
    mirrored = zlib.crc32(page.translate(_BIT_REVERSED), 0xFFFF_FFFF) ^ 0xFFFF_FFFF
    return mirrored.to_bytes(4, "big").translate(_BIT_REVERSED)
