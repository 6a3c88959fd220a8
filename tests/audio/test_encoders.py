import io
import struct
import wave

import numpy as np
import pytest
import soundfile

from cosyvoice_web.audio.encoders import MP3_RATES_HZ, check_sample_rate, encode
from cosyvoice_web.errors import InvalidRequest, NonFiniteAudio
from cosyvoice_web.speech import AudioFormat, Samples
from tests.audio.signals import speech_like

MAGIC = {AudioFormat.WAV: b"RIFF", AudioFormat.FLAC: b"fLaC", AudioFormat.OGG: b"OggS"}


def decode(data: bytes) -> tuple[Samples, int]:
    samples, rate = soundfile.read(io.BytesIO(data), dtype="float32")
    return samples, rate


@pytest.mark.parametrize("rate", [8_000, 22_050, 24_000, 44_101])
def test_wav_sizes_are_exact_and_samples_are_pcm16_mono(rate: int) -> None:
    samples = speech_like(0.7, rate)
    data = encode(samples, rate, AudioFormat.WAV)
    assert struct.unpack("<4sI4s", data[:12]) == (b"RIFF", len(data) - 8, b"WAVE")
    assert struct.unpack("<4sI", data[36:44]) == (b"data", len(data) - 44)
    assert len(data) == 44 + 2 * len(samples)
    with wave.open(io.BytesIO(data)) as reader:
        assert (reader.getnchannels(), reader.getsampwidth(), reader.getframerate()) == (1, 2, rate)
        assert reader.getnframes() == len(samples)


@pytest.mark.parametrize("audio_format", AudioFormat)
@pytest.mark.parametrize("rate", MP3_RATES_HZ)
def test_every_format_decodes_to_the_same_speech_at_the_same_time(audio_format: AudioFormat, rate: int) -> None:
    samples = speech_like(1.5, rate)
    data = encode(samples, rate, audio_format)
    assert data.startswith(MAGIC.get(audio_format, b"\xff"))
    decoded, decoded_rate = decode(data)
    assert decoded_rate == rate
    assert len(decoded) / rate == pytest.approx(len(samples) / rate, abs=0.1)
    shared = min(len(decoded), len(samples))
    assert np.corrcoef(decoded[:shared], samples[:shared])[0, 1] > 0.97


def test_mp3_tells_players_its_delay() -> None:
    data = encode(speech_like(1.0, 24_000), 24_000, AudioFormat.MP3)
    assert b"LAME" in data[:300]


@pytest.mark.parametrize("rate", [11_111, 44_101, 22_051])
def test_mp3_refuses_rates_that_mpeg_lacks_and_names_the_others(rate: int) -> None:
    with pytest.raises(InvalidRequest, match="22050") as refusal:
        encode(np.zeros(10, np.float32), rate, AudioFormat.MP3)
    assert refusal.value.field == "sample_rate"
    for audio_format in (AudioFormat.WAV, AudioFormat.FLAC, AudioFormat.OGG):
        samples = speech_like(0.5, rate)
        decoded, decoded_rate = decode(encode(samples, rate, audio_format))
        assert (len(decoded), decoded_rate) == (len(samples), rate)


@pytest.mark.parametrize("audio_format", AudioFormat)
@pytest.mark.parametrize("rate", [0, -1, 7_999, 48_001])
def test_rates_out_of_range_are_refused(audio_format: AudioFormat, rate: int) -> None:
    with pytest.raises(InvalidRequest, match="8000 to 48000") as refusal:
        check_sample_rate(audio_format, rate)
    assert refusal.value.field == "sample_rate"


@pytest.mark.parametrize("audio_format", AudioFormat)
def test_equal_samples_are_equal_bytes(audio_format: AudioFormat) -> None:
    samples = speech_like(1.0, 24_000)
    assert encode(samples, 24_000, audio_format) == encode(samples, 24_000, audio_format)


def test_ogg_keeps_one_fixed_serial_and_true_checksums() -> None:
    data = encode(speech_like(6.0, 24_000), 24_000, AudioFormat.OGG)
    pages = data.split(b"OggS")[1:]
    assert len(pages) > 3
    assert {page[10:14] for page in pages} == {b"CVW1"}
    damaged = bytearray(data)
    damaged[-100] ^= 0xFF
    assert len(decode(bytes(damaged))[0]) != len(decode(data)[0])  # decoders drop a page with a false checksum


@pytest.mark.parametrize("audio_format", AudioFormat)
def test_samples_that_are_not_numbers_never_become_a_file(audio_format: AudioFormat) -> None:
    with pytest.raises(NonFiniteAudio):
        encode(np.array([0.0, np.nan], np.float32), 24_000, audio_format)


def test_five_minutes_of_ogg_do_not_crash_the_encoder() -> None:
    samples = np.tile(speech_like(3.0, 8_000), 100)
    decoded, _ = decode(encode(samples, 8_000, AudioFormat.OGG))
    assert len(decoded) == len(samples)


@pytest.mark.parametrize("audio_format", AudioFormat)
def test_encoding_opens_no_file(audio_format: AudioFormat, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    real_init = soundfile.SoundFile.__init__

    def recorded(self: object, file: object, *args: object, **kwargs: object) -> None:
        opened.append(file)
        real_init(self, file, *args, **kwargs)

    monkeypatch.setattr(soundfile.SoundFile, "__init__", recorded)
    encode(speech_like(0.2, 24_000), 24_000, audio_format)
    assert [type(file) for file in opened] == [io.BytesIO]
