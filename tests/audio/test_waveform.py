import numpy as np
import pytest

from cosyvoice_web.audio.waveform import change_tempo, is_finite, is_silent, join, resample, to_pcm16
from cosyvoice_web.errors import NonFiniteAudio
from cosyvoice_web.speech import AudioChunk
from tests.audio.signals import pitch_hz, sounding_span_seconds, speech_like

RATE = 24_000


def test_joining_keeps_every_piece_in_order() -> None:
    pieces = [AudioChunk(np.full(n, n, dtype=np.float32), RATE) for n in (3, 1, 2)]
    whole = join(pieces)
    assert whole.samples.tolist() == [3, 3, 3, 1, 2, 2]
    assert whole.sample_rate_hz == RATE
    assert whole.samples.dtype == np.float32


@pytest.mark.parametrize("rates", [(), (24_000, 22_050)])
def test_joining_refuses_what_no_header_could_describe(rates: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="sample rate"):
        join([AudioChunk(np.zeros(1, np.float32), rate) for rate in rates])


def test_loud_samples_are_clipped_and_never_wrap_round() -> None:
    samples = np.array([1.0, 1.2, -1.0, -1.2, 0.0, 0.5, 100.0], dtype=np.float32)
    assert to_pcm16(samples).tolist() == [32767, 32767, -32767, -32767, 0, 16384, 32767]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_samples_that_are_not_numbers_are_refused(bad: float) -> None:
    samples = np.array([0.0, bad, 0.1], dtype=np.float32)
    assert not is_finite(samples)
    with pytest.raises(NonFiniteAudio):
        to_pcm16(samples)


def test_silence_is_told_from_quiet_speech() -> None:
    assert is_silent(np.zeros(0, np.float32))
    assert is_silent(np.zeros(100, np.float32))
    assert is_silent(np.full(100, 1e-4, np.float32))
    assert not is_silent(0.01 * speech_like(0.5, RATE, lead_seconds=0.0))


@pytest.mark.parametrize("to_hz", [8_000, 11_025, 16_000, 22_050, 24_000, 44_100, 44_101, 48_000])
def test_resampling_keeps_duration_and_pitch(to_hz: int) -> None:
    samples = speech_like(1.3, 22_050)
    result = resample(samples, 22_050, to_hz)
    assert len(result) == round(len(samples) * to_hz / 22_050)
    assert result.dtype == np.float32
    assert pitch_hz(result, to_hz) == pytest.approx(pitch_hz(samples, 22_050), abs=1.0)


@pytest.mark.parametrize("tempo", [0.5, 0.55, 0.625, 0.8, 1.2, 1.6, 2.0])
@pytest.mark.parametrize("rate", [22_050, 24_000])
def test_tempo_scales_time_and_loses_no_end(tempo: float, rate: int) -> None:
    samples = speech_like(3.0, rate)
    result = change_tempo(samples, tempo, rate)
    assert len(result) == round(len(samples) / tempo)
    assert result.dtype == np.float32
    begin, end = sounding_span_seconds(samples, rate)
    new_begin, new_end = sounding_span_seconds(result, rate)
    assert new_begin * tempo == pytest.approx(begin, abs=0.03)
    assert new_end * tempo == pytest.approx(end, abs=0.03)
    assert result.std() == pytest.approx(samples.std(), rel=0.2)


@pytest.mark.parametrize("tempo", [0.5, 0.8, 1.6, 2.0])
def test_tempo_leaves_the_pitch_alone(tempo: float) -> None:
    time = np.arange(2 * RATE) / RATE
    tone = np.asarray(sum(0.2 * np.sin(2 * np.pi * 150 * k * time) / k for k in range(1, 10)), np.float32)
    assert pitch_hz(change_tempo(tone, tempo, RATE), RATE) == pytest.approx(150, abs=1)


@pytest.mark.parametrize("tempo", [0.5, 0.51, 0.7, 2.0])
def test_speech_that_begins_and_ends_at_the_very_edge_is_kept(tempo: float) -> None:
    samples = speech_like(2.0, RATE, lead_seconds=0.0)[: round(1.95 * RATE)]
    result = change_tempo(samples, tempo, RATE)
    edge, new_edge = round(0.05 * RATE), round(0.05 * RATE / tempo)
    assert result[:new_edge].std() > 0.6 * samples[:edge].std()
    assert result[-new_edge:].std() > 0.6 * samples[-edge:].std()


@pytest.mark.parametrize("tempo", [0.4, 0.5, 0.6, 0.75, 1.3, 2.0])
def test_the_same_speech_gives_the_same_samples(tempo: float) -> None:
    samples = speech_like(3.0, RATE)
    samples += np.random.default_rng(0).normal(0, 0.01, len(samples)).astype(np.float32)
    before = samples.copy()
    assert np.array_equal(change_tempo(samples, tempo, RATE), change_tempo(samples, tempo, RATE))
    assert np.array_equal(samples, before)


@pytest.mark.parametrize("sample_count", [0, 1, 7, 500])
def test_tiny_pieces_survive_a_tempo_change(sample_count: int) -> None:
    result = change_tempo(np.ones(sample_count, np.float32), 2.0, RATE)
    assert len(result) == max(min(sample_count, 1), round(sample_count / 2))
    assert is_finite(result)


def test_nothing_to_change_touches_nothing() -> None:
    samples = speech_like(0.5, RATE)
    assert change_tempo(samples, 1.0, RATE) is samples
    assert resample(samples, RATE, RATE) is samples
