"""The whole way from a text to a file, with the embedded voice: nothing is scripted here."""

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import soundfile

from cosyvoice_web.engines.kokoro.engine import KokoroEngine
from cosyvoice_web.service.lifecycle import EngineState
from cosyvoice_web.service.speech_service import SpeechService
from cosyvoice_web.speech import AudioFormat, AudioOutput, Samples, SpeechRequest

GREETING = SpeechRequest("你好，欢迎使用。", seed=3)


@pytest.fixture(scope="module")
def service() -> Iterator[SpeechService]:
    service = SpeechService(
        lambda: KokoroEngine.load(1), max_waiting=8, request_timeout_seconds=300, max_text_chars=500
    )
    service.warm_up()
    yield service
    service.close()
    assert service.status().state is EngineState.CLOSED


@pytest.fixture(scope="module")
def greeting(service: SpeechService) -> Samples:
    return decode(service.render(GREETING, AudioOutput()).data)[0]


def decode(data: bytes) -> tuple[Samples, int]:
    samples, rate_hz = soundfile.read(io.BytesIO(data), dtype="float32")
    return samples, rate_hz


def loudness(samples: Samples, rate_hz: int) -> Samples:
    """Root mean square of each tenth of a second."""
    step = rate_hz // 10
    frames = samples[: len(samples) // step * step].reshape(-1, step)
    return np.asarray(np.sqrt((frames**2).mean(axis=1)), np.float32)


@pytest.mark.parametrize(
    ("audio_format", "sample_rate_hz"),
    [(AudioFormat.WAV, None), (AudioFormat.FLAC, 16_000), (AudioFormat.OGG, 22_050), (AudioFormat.MP3, 44_100)],
)
def test_every_format_carries_the_same_speech(
    service: SpeechService, greeting: Samples, audio_format: AudioFormat, sample_rate_hz: int | None
) -> None:
    rendered = service.render(GREETING, AudioOutput(audio_format, sample_rate_hz))
    samples, rate_hz = decode(rendered.data)
    assert rate_hz == rendered.sample_rate_hz == (sample_rate_hz or 24_000)
    assert rendered.audio_seconds == pytest.approx(len(greeting) / 24_000, abs=0.001)
    assert 1 < rendered.audio_seconds < 4
    assert len(samples) / rate_hz == pytest.approx(rendered.audio_seconds, abs=0.1)
    expected, heard = loudness(greeting, 24_000), loudness(samples, rate_hz)
    shared = min(len(expected), len(heard))
    assert np.corrcoef(expected[:shared], heard[:shared])[0, 1] > 0.98
    assert rendered.voice is not None
    assert rendered.voice.language == "zh"
    assert rendered.synthesis_seconds > 0


@pytest.mark.parametrize("speed", [0.5, 2.0])
def test_speed_scales_real_speech_beyond_what_the_model_can(
    service: SpeechService, greeting: Samples, speed: float
) -> None:
    rendered = service.render(SpeechRequest(GREETING.text, speed=speed), AudioOutput())
    samples, rate_hz = decode(rendered.data)
    # The model's own part of the change is not exact; speed 2 must still be clearly a half and speed 0.5 the double.
    assert rendered.audio_seconds * speed == pytest.approx(len(greeting) / 24_000, rel=0.15)
    assert loudness(samples, rate_hz).max() > 0.5 * loudness(greeting, 24_000).max()


def test_equal_requests_are_equal_bytes_also_side_by_side(service: SpeechService) -> None:
    requests = [
        SpeechRequest("你好。", seed=1),
        SpeechRequest("Hi. 你好。", seed=1),
        SpeechRequest("散歩。", seed=1),
    ]
    alone = [service.render(request, AudioOutput()).data for request in requests]
    assert len(set(alone)) == 3
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda request: service.render(request, AudioOutput()).data, requests))
    assert together == alone
