import io

import numpy as np
import pytest
import soundfile

from cosyvoice_web.audio.encoders import encode
from cosyvoice_web.audio.recordings import DURATION_MAX_SECONDS, duration_seconds
from cosyvoice_web.errors import InvalidRequest
from cosyvoice_web.speech import AudioFormat
from tests.audio.signals import speech_like


@pytest.mark.parametrize("audio_format", AudioFormat)
def test_the_header_says_how_long_a_recording_is(audio_format: AudioFormat) -> None:
    recording = encode(speech_like(1.5, 16_000), 16_000, audio_format)
    assert duration_seconds(recording, "source_audio") == pytest.approx(1.5, abs=0.1)


def test_a_header_that_claims_days_is_not_believed() -> None:
    buffer = io.BytesIO()
    soundfile.write(buffer, np.zeros(100, np.float32), 8_000, format="FLAC")
    claiming = bytearray(buffer.getvalue())
    claiming[21:26] = bytes([claiming[21] | 0x0F, 0xFF, 0xFF, 0xFF, 0xFF])  # the sample count of STREAMINFO
    assert duration_seconds(bytes(claiming), "source_audio") == DURATION_MAX_SECONDS


@pytest.mark.parametrize("recording", [b"", b"RIFF", b"<html>", bytes(1_000), b"\xff" * 1_000])
def test_what_is_no_audio_is_refused_by_the_name_of_its_field(recording: bytes) -> None:
    with pytest.raises(InvalidRequest, match="source_audio is no audio") as refusal:
        duration_seconds(recording, "source_audio")
    assert refusal.value.field == "source_audio"
