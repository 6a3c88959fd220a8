"""Euler steps along the flow, with classifier-free guidance."""

import math
from concurrent.futures import Executor, wait

import torch

from cosyvoice_web.engines.cosyvoice.mel_decoder.velocity_net import VelocityNet

DEFAULT_STEP_COUNT = 10


def time_points(step_count: int, schedule: str) -> torch.Tensor:
    """The flow's times from 0 to 1 at which its steps begin and end, (step_count + 1,) float32.

    `schedule` "linear": equal steps; "cosine": short steps first.

    Source: CosyVoice, flow/flow_matching.py, ConditionalCFM.forward.
    """
    points = torch.linspace(0, 1, step_count + 1, dtype=torch.float32)
    return 1 - torch.cos(points * 0.5 * math.pi) if schedule == "cosine" else points


def solve(
    net: VelocityNet,
    noise: torch.Tensor,
    encoded: torch.Tensor,
    speaker: torch.Tensor,
    prompt_mel: torch.Tensor,
    *,
    guidance_rate: float,
    schedule: str,
    step_count: int = DEFAULT_STEP_COUNT,
    executor: Executor | None = None,
) -> torch.Tensor:
    """Follow the flow from noise to a mel spectrogram.

    Every step evaluates the network with and without the conditions and extrapolates away from the latter by
    `guidance_rate`.

    Args:
        net: the velocity network.
        noise: (1, frames, mel) float32, standard normal.
        encoded: (1, frames, mel) float32, what the length regulator made of the tokens.
        speaker: (1, mel) float32, projected speaker embedding.
        prompt_mel: (1, frames, mel) float32, log mel of the prompt and zeros after it.
        guidance_rate: weight of the difference between the two branches.
        schedule: see `time_points`.
        step_count: Euler steps; fewer are faster and rougher.
        executor: where given, a worker of it evaluates the branch without conditions while the caller's thread
            evaluates the other; else both are one batch of two.

    Returns:
        (1, frames, mel) float32 log mel.

    Source: CosyVoice, flow/flow_matching.py, ConditionalCFM.solve_euler; Ho and Salimans 2022, "Classifier-Free
    Diffusion Guidance".
    Differs: time biases of all steps at once; the input of both branches is one buffer that every step reuses.
    """
    channels = noise.shape[2]
    inputs = noise.new_zeros(2, noise.shape[1], net.input_channels)
    inputs[0, :, channels : 2 * channels] = encoded[0]
    inputs[0, :, 2 * channels : 3 * channels] = speaker
    inputs[0, :, 3 * channels :] = prompt_mel[0]
    times, deltas = _steps(time_points(step_count, schedule))
    mel = noise[0].clone()
    for delta, time_bias in zip(deltas, net.time_biases(times), strict=True):
        inputs[:, :, :channels] = mel
        guided, free = _both_branches(net, inputs, time_bias, executor)
        mel.add_(guided, alpha=delta * (1 + guidance_rate)).sub_(free, alpha=delta * guidance_rate)
    return mel.unsqueeze(0)


def _steps(points: torch.Tensor) -> tuple[torch.Tensor, list[float]]:
    """Times at which the steps begin and their lengths, summed up in float32 as the reference does."""
    time = points[0]
    times, deltas = [], []
    for end in points[1:]:
        delta = end - time
        times.append(time)
        deltas.append(float(delta))
        time = time + delta
    return torch.stack(times), deltas


def _both_branches(
    net: VelocityNet, inputs: torch.Tensor, time_bias: torch.Tensor, executor: Executor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Velocities (frames, mel) with and without the conditions."""
    if executor is None:
        guided, free = net(inputs, time_bias)
        return guided, free
    pending = executor.submit(_one_branch, net, inputs[1:], time_bias)
    try:
        guided = _one_branch(net, inputs[:1], time_bias)
    finally:
        wait([pending])
    return guided, pending.result()


def _one_branch(net: VelocityNet, inputs: torch.Tensor, time_bias: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        velocity: torch.Tensor = net(inputs, time_bias)[0]
        return velocity
