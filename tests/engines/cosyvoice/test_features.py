import math

import numpy as np
import torch

from cosyvoice_web.engines.cosyvoice.features import prompt_log_mel, speaker_filter_bank, tokenizer_log_mel
from tests.engines.cosyvoice.golden_files import GOLDEN_DIR, assert_close, golden


def golden_signal(sample_rate_hz: int) -> torch.Tensor:
    count = 2 * sample_rate_hz
    seconds = np.arange(count) / sample_rate_hz
    tones = 0.3 * np.sin(2 * np.pi * 220 * seconds) + 0.1 * np.sin(2 * np.pi * 1760 * seconds)
    noise = 0.01 * np.random.default_rng(7).standard_normal(count)
    return torch.from_numpy((tones + noise).astype(np.float32))


def expected(name: str) -> torch.Tensor:
    return torch.from_numpy(np.load(GOLDEN_DIR / "frontend.npz")[name])


def test_features_are_those_of_the_reference() -> None:
    mel = prompt_log_mel(golden_signal(22_050), golden("full").config.mel_features)
    assert_close(mel.transpose(1, 2), expected("mel_22050"))
    assert_close(tokenizer_log_mel(golden_signal(16_000)), expected("whisper_log_mel_128"))
    assert_close(speaker_filter_bank(golden_signal(16_000))[0], expected("fbank_80_mean_removed"))


def test_a_prompt_mel_has_one_frame_a_hop_and_a_floor() -> None:
    mel = prompt_log_mel(torch.zeros(22_050), golden("full").config.mel_features)
    assert mel.shape == (1, 22_050 // 256, 80)
    assert math.isclose(float(mel.max()), math.log(1e-5), abs_tol=1e-3) or mel.max() < -8
