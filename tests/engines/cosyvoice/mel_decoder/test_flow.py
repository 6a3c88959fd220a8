from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from cosyvoice_web.engines.cosyvoice.mel_decoder.flow import DecodedMel, MelDecoder
from cosyvoice_web.engines.cosyvoice.weights.recipe import input_tensor
from tests.engines.cosyvoice.golden_files import assert_close, golden
from tests.engines.cosyvoice.stages import (
    build_mel_decoder,
    cloned_voice,
    frames_last,
    plain_voice,
    starting_noise,
    tiny_mel_decoder,
)

ROUNDING = 2e-6


def check_goldens(decoder: MelDecoder, size: str) -> None:
    values, plain = golden(size), plain_voice(size)
    speech = values.tensor("speech")
    with torch.inference_mode():
        values.assert_equal(decoder.token_encoder(speech), "flow_encoded")

    def decode(call: int, tokens: torch.Tensor, voice=plain, cache=None) -> DecodedMel:  # type: ignore[no-untyped-def]
        return decoder.decode(tokens, voice, starting_noise(size, call), cache=cache)

    values.assert_equal(frames_last(decode(1, speech).mel), "mel_sft")
    values.assert_equal(frames_last(decode(2, speech[:, :25]).mel), "mel_short")
    values.assert_equal(frames_last(decode(3, speech, cloned_voice(size)).mel), "mel_zero_shot")
    first = decode(4, speech[:, :50])
    values.assert_equal(frames_last(first.mel), "mel_stream_1")
    handed_on = torch.stack((frames_last(first.cache.noise), frames_last(first.cache.encoded)), dim=-1)
    values.assert_equal(handed_on, "flow_cache_1")
    second = decode(5, speech[:, 10:], cache=first.cache)
    values.assert_equal(frames_last(second.mel), "mel_stream_2")


def check_velocity(decoder: MelDecoder, size: str) -> None:
    frames = golden(size).arrays["estimator_out"].shape[2]
    shape = (2, decoder.config.mel_channels, frames)
    speaker = input_tensor("est_spk", shape[:2])[:, :, None].expand(shape)
    noisy, encoded, condition = (input_tensor(f"est_{name}", shape) for name in ("x", "mu", "cond"))
    inputs = torch.cat((noisy, encoded, speaker, condition), dim=1).transpose(1, 2)
    net = decoder.velocity_net
    with torch.inference_mode():
        velocity = net(inputs, net.time_biases(torch.tensor([0.3]))[0])
    golden(size).assert_equal(frames_last(velocity), "estimator_out")


def test_tiny_computes_what_the_reference_computes() -> None:
    check_goldens(tiny_mel_decoder(), "tiny")
    check_velocity(tiny_mel_decoder(), "tiny")


@pytest.mark.slow
def test_full_computes_what_the_reference_computes() -> None:
    decoder = build_mel_decoder("full")
    check_goldens(decoder, "full")
    check_velocity(decoder, "full")


@pytest.mark.parametrize("frames", [1, 2, 7, 30])
def test_both_guidance_branches_may_run_apart(frames: int) -> None:
    decoder, speech = tiny_mel_decoder(), golden("tiny").tensor("speech")[:, :frames]
    noise = torch.randn(1, decoder.config.mel_frames(frames), 80, generator=torch.Generator().manual_seed(3))
    together = decoder.decode(speech, plain_voice(), noise).mel
    with ThreadPoolExecutor(1) as executor:
        apart = decoder.decode(speech, plain_voice(), noise, executor=executor).mel
    assert_close(apart, together, ROUNDING)


def test_a_seed_repeats_the_mel_and_inputs_stay_as_they_are() -> None:
    decoder, speech, voice = tiny_mel_decoder(), golden("tiny").tensor("speech"), cloned_voice()
    first = decoder.decode(speech, voice, torch.Generator().manual_seed(5))
    cache = (first.cache.noise.clone(), first.cache.encoded.clone())
    prompt = voice.prompt_mel.clone()
    noise = torch.randn(1, 154, 80, generator=torch.Generator().manual_seed(5))
    given = noise.clone()
    again = decoder.decode(speech, voice, given)
    decoder.decode(speech, voice, torch.Generator().manual_seed(6), cache=first.cache)
    assert torch.equal(first.mel, again.mel)
    assert torch.equal(given, noise)
    assert torch.equal(voice.prompt_mel, prompt)
    assert torch.equal(first.cache.noise, cache[0])
    assert torch.equal(first.cache.encoded, cache[1])


def test_fewer_steps_come_near_the_same_mel() -> None:
    decoder, speech = tiny_mel_decoder(), golden("tiny").tensor("speech")
    noise = starting_noise("tiny", 1)
    ten, six = (decoder.decode(speech, plain_voice(), noise, step_count=steps).mel for steps in (10, 6))
    assert 0 < (ten - six).abs().mean() < 0.2 * ten.abs().mean()


def test_a_prompt_hands_on_its_frames_and_those_of_the_overlap() -> None:
    decoder, speech, voice = tiny_mel_decoder(), golden("tiny").tensor("speech"), cloned_voice()
    cache = decoder.decode(speech, voice, torch.Generator().manual_seed(1)).cache
    assert cache.noise.shape[1] == voice.prompt_mel.shape[1] + decoder.config.overlap_frames
    assert decoder.config.overlap_frames == 34


def test_noise_of_a_wrong_shape_and_no_tokens_are_refused() -> None:
    decoder, speech = tiny_mel_decoder(), golden("tiny").tensor("speech")
    with pytest.raises(ValueError, match=r"\(1, 103, 80\) needed"):
        decoder.decode(speech, plain_voice(), torch.zeros(1, 80, 103))
    with pytest.raises(ValueError, match="no speech tokens"):
        decoder.decode(speech[:, :0], plain_voice(), torch.Generator())
