import io
import wave

import numpy as np
import pytest
import soundfile

from cosyvoice_web.audio.encoders import encode
from cosyvoice_web.audio.streams import STREAMABLE, UNKNOWN_SIZE, StreamEncoder, check_streamable
from cosyvoice_web.audio.waveform import resample
from cosyvoice_web.errors import InvalidRequest, NonFiniteAudio
from cosyvoice_web.speech import AudioFormat, Samples
from tests.audio.signals import speech_like

RATE_HZ = 24_000


def streamed(
    samples: Samples, audio_format: AudioFormat, to_hz: int = RATE_HZ, *, piece_samples: int = 3_000
) -> list[bytes]:
    encoder = StreamEncoder(audio_format, RATE_HZ, to_hz)
    pieces = [encoder.encode(samples[at : at + piece_samples]) for at in range(0, len(samples), piece_samples)]
    return [*pieces, encoder.finish()]


def decode(data: bytes) -> tuple[Samples, int]:
    samples, rate = soundfile.read(io.BytesIO(data), dtype="float32")
    return samples, rate


@pytest.mark.parametrize("to_hz", [8_000, 22_050, 24_000, 48_000])
@pytest.mark.parametrize("piece_samples", [1, 480, 30_001])
def test_a_wav_stream_is_one_header_and_the_samples_of_the_finished_file(to_hz: int, piece_samples: int) -> None:
    samples = speech_like(0.4 if piece_samples == 1 else 2.0, RATE_HZ)
    data = b"".join(streamed(samples, AudioFormat.WAV, to_hz, piece_samples=piece_samples))
    whole = encode(resample(samples, RATE_HZ, to_hz), to_hz, AudioFormat.WAV)
    assert data[44:] == whole[44:]
    assert data.count(b"RIFF") == data.count(b"WAVEfmt ") == 1
    sizes = (data[4:8], data[40:44])
    assert {int.from_bytes(size, "little") for size in sizes} == {UNKNOWN_SIZE}
    assert data[8:40] == whole[8:40]


def test_readers_take_a_wav_of_unknown_length() -> None:
    samples = speech_like(1.0, RATE_HZ)
    data = b"".join(streamed(samples, AudioFormat.WAV))
    decoded, rate_hz = decode(data)
    assert (len(decoded), rate_hz) == (len(samples), RATE_HZ)
    with wave.open(io.BytesIO(data)) as reader:
        assert len(reader.readframes(reader.getnframes())) == 2 * len(samples)


@pytest.mark.parametrize("to_hz", [8_000, 22_050, 48_000])
def test_an_ogg_stream_is_the_finished_file(to_hz: int) -> None:
    samples = speech_like(6.0, RATE_HZ)
    pieces = streamed(samples, AudioFormat.OGG, to_hz)
    assert b"".join(pieces) == encode(resample(samples, RATE_HZ, to_hz), to_hz, AudioFormat.OGG)
    assert len([piece for piece in pieces if piece]) > 4


@pytest.mark.parametrize("to_hz", [8_000, 22_050, 24_000, 44_100])
def test_an_mp3_stream_is_decoded_to_its_end(to_hz: int) -> None:
    quiet_then_loud = np.concatenate([0.01 * speech_like(3.0, RATE_HZ), speech_like(3.0, RATE_HZ)])
    pieces = streamed(quiet_then_loud, AudioFormat.MP3, to_hz)
    assert len([piece for piece in pieces if piece]) > 20
    decoded, rate_hz = decode(b"".join(pieces))
    assert rate_hz == to_hz
    late = len(decoded) - len(quiet_then_loud) * to_hz / RATE_HZ
    assert 0 <= late <= 4 * 1_152  # the encoder's delay, an empty first frame and the filling of the last
    expected = np.sqrt(np.mean(resample(quiet_then_loud, RATE_HZ, to_hz)[-2 * to_hz :] ** 2))
    assert np.sqrt(np.mean(decoded[-round(2 * to_hz + late) :] ** 2)) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("audio_format", STREAMABLE)
def test_bytes_come_soon_and_an_encoder_holds_little(audio_format: AudioFormat) -> None:
    encoder = StreamEncoder(audio_format, RATE_HZ, RATE_HZ)
    samples = speech_like(20.0, RATE_HZ)
    sizes = [len(encoder.encode(samples[at : at + 2_400])) for at in range(0, len(samples), 2_400)]
    longest_wait = max(np.diff([0, *np.flatnonzero(sizes), len(sizes)]))
    assert longest_wait <= 20  # tenths of a second
    assert len(encoder.finish()) < 10_000


def test_flac_is_refused_with_the_others_named() -> None:
    with pytest.raises(InvalidRequest, match="wav, ogg, mp3") as refusal:
        check_streamable(AudioFormat.FLAC)
    assert refusal.value.field == "format"
    with pytest.raises(InvalidRequest, match="flac cannot be streamed"):
        StreamEncoder(AudioFormat.FLAC, RATE_HZ, RATE_HZ)


def test_mp3_refuses_rates_that_mpeg_lacks() -> None:
    with pytest.raises(InvalidRequest, match="11025"):
        StreamEncoder(AudioFormat.MP3, RATE_HZ, 11_111)


@pytest.mark.parametrize("audio_format", STREAMABLE)
@pytest.mark.parametrize("to_hz", [RATE_HZ, 16_000])
def test_samples_that_are_not_numbers_are_never_sent(audio_format: AudioFormat, to_hz: int) -> None:
    encoder = StreamEncoder(audio_format, RATE_HZ, to_hz)
    encoder.encode(speech_like(1.0, RATE_HZ))
    with pytest.raises(NonFiniteAudio):
        encoder.encode(np.full(4_000, np.nan, np.float32))
    encoder.close()


@pytest.mark.parametrize("audio_format", STREAMABLE)
def test_an_encoder_may_be_closed_at_any_time_and_twice(audio_format: AudioFormat) -> None:
    for prepare in (lambda encoder: None, lambda encoder: encoder.encode(speech_like(1.0, RATE_HZ))):
        encoder = StreamEncoder(audio_format, RATE_HZ, 16_000)
        prepare(encoder)
        encoder.close()
        encoder.close()
