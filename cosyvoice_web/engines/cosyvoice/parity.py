"""Compares our modules with golden values of the reference, array by array, on recipe weights.

A golden file stores some inputs; the others are `recipe.input_tensor` of a label. Its arrays are channels first, ours
channels last. Lengths are taken from the arrays, dimensions from the model's configuration.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from cosyvoice_web.engines.cosyvoice.mel_decoder.flow import DecodedMel, FlowVoice
from cosyvoice_web.engines.cosyvoice.parity_front_end import FRONT_END_INPUTS, front_end_outputs, list_comparisons
from cosyvoice_web.engines.cosyvoice.quantization import Precision, prepare_linears
from cosyvoice_web.engines.cosyvoice.text_table import text_table
from cosyvoice_web.engines.cosyvoice.vocoder.hift import HiFTVocoder
from cosyvoice_web.engines.cosyvoice.weights.files import ModelFiles, open_model
from cosyvoice_web.engines.cosyvoice.weights.loading import load_networks
from cosyvoice_web.engines.cosyvoice.weights.recipe import input_tensor
from cosyvoice_web.errors import FileMissing, FileTruncated

TOLERANCE = 1e-4
"""Largest absolute difference allowed, relative to the golden array's largest absolute value."""
FLOAT32_ALLOWANCE = 10 * TOLERANCE
"""How far float32 may be off where float64 decides, see `_without_rounding`."""
INPUTS = frozenset({"text", "speaker", "speech", "prompt_text", "prompt_speech", "prompt_feat", "noise_shapes",
                    "source_f0"}) | FRONT_END_INPUTS  # fmt: skip
_NOISE_ORDER = ("mel_sft", "mel_short", "mel_zero_shot", "mel_stream_1", "mel_stream_2")
ESTIMATOR_TIME = 0.3

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class ArrayComparison:
    """One golden array: `error` is relative to its largest value, None where the two cannot be compared."""

    name: str
    error: float | None
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether ours is equal within the tolerance."""
        return self.error is not None and self.error <= TOLERANCE


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every array of a golden file that is no input."""

    arrays: tuple[ArrayComparison, ...]

    @property
    def passed(self) -> bool:
        """Whether there was anything to compare and all of it is equal."""
        return bool(self.arrays) and all(array.passed for array in self.arrays)

    def table(self) -> str:
        """Name, error and verdict, a line each."""
        rows = [
            (array.name, "-" if array.error is None else f"{array.error:.2e}", "pass" if array.passed else "FAIL",
             array.note)
            for array in self.arrays
        ]  # fmt: skip
        return text_table(("array", "max error / max", "verdict", ""), rows)


def compare(directory: Path, golden_path: Path) -> Comparison:
    """Compute every array of a golden file with the model in `directory`.

    Raises:
        CheckpointError: the model cannot be loaded, or the golden file not read.
    """
    golden = _read_golden(golden_path)
    model = _RecipeModel(open_model(directory), golden)
    outputs: Mapping[str, Callable[[], Array]] = model.outputs() | front_end_outputs(model.files.config, golden)
    arrays = [_compare(name, golden[name], outputs) for name in golden if name not in INPUTS]
    arrays = [_without_rounding(array, golden, model) for array in arrays]
    for name, is_equal in list_comparisons(golden_path, golden).items():
        arrays.append(ArrayComparison(name, 0.0 if is_equal else None, "equal lists" if is_equal else "lists differ"))
    return Comparison(tuple(arrays))


def _read_golden(path: Path) -> dict[str, Array]:
    if not path.is_file():
        raise FileMissing(str(path), "no file", "golden values (.npz)")
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, AttributeError) as reason:
        raise FileTruncated(str(path), "a file that is no array archive", "golden values (.npz)") from reason


def _compare(name: str, golden: Array, outputs: Mapping[str, Callable[[], Array]]) -> ArrayComparison:
    if name not in outputs:
        return ArrayComparison(name, None, "nobody here computes an array of this name")
    try:
        ours = outputs[name]()
    except KeyError as missing:
        return ArrayComparison(name, None, f"the golden file lacks its input {missing.args[0]}")
    if ours.shape != golden.shape:
        return ArrayComparison(name, None, f"shape {ours.shape}, golden {golden.shape}")
    difference = np.abs(ours.astype(np.float64) - golden.astype(np.float64))
    if not np.isfinite(difference).all():
        return ArrayComparison(name, None, "not finite")
    scale = float(np.abs(golden).max(initial=0.0)) or 1.0
    return ArrayComparison(name, float(difference.max(initial=0.0)) / scale)


def _without_rounding(single: ArrayComparison, golden: Mapping[str, Array], model: "_RecipeModel") -> ArrayComparison:
    """A waveform that float32 misses by little, compared once more in float64.

    Recipe weights make waves of a hundred times full scale before the limiter, so a last digit counts for 1e-4 of what
    comes out: golden files of large models hold that much rounding of the machine that made them, and another
    processor's convolutions add theirs. What float32 misses by more is no rounding.
    """
    is_near = single.error is not None and TOLERANCE < single.error <= FLOAT32_ALLOWANCE
    if single.name != "hift_audio" or not is_near:
        return single
    double = _compare(single.name, golden[single.name], {single.name: model.audio_in_float64})
    return replace(double, note=f"in float64; float32 {single.error:.1e} apart, by rounding")


class _RecipeModel:
    """The networks, the golden file's inputs, and one function for each array that can be computed from them."""

    def __init__(self, files: ModelFiles, golden: Mapping[str, Array]) -> None:
        self.files = files
        self._golden = golden
        self._networks = load_networks(files)
        prepare_linears(self._networks, Precision.FLOAT32, 1)

    def outputs(self) -> dict[str, Callable[[], Array]]:
        lm, flow = self._networks.language_model, self._networks.mel_decoder
        functions: dict[str, Callable[[], torch.Tensor]] = {
            "text_encoded": lambda: lm.text_encoder(self._tensor("text").long()),
            "logp_sft": lambda: self._log_probabilities("logp_sft", with_speaker=True, with_prompt=False),
            "logp_zero_shot": lambda: self._log_probabilities("logp_zero_shot", with_speaker=True, with_prompt=True),
            "logp_instruct": lambda: self._log_probabilities("logp_instruct", with_speaker=False, with_prompt=False),
            "flow_encoded": lambda: flow.token_encoder(self._tensor("speech")),
            "mel_sft": lambda: self._mel("mel_sft").mel.mT,
            "mel_short": lambda: self._mel("mel_short").mel.mT,
            "mel_zero_shot": lambda: self._mel("mel_zero_shot", with_prompt=True).mel.mT,
            "mel_stream_1": lambda: self._first_chunk.mel.mT,
            "flow_cache_1": lambda: torch.stack((self._first_chunk.cache.noise, self._first_chunk.cache.encoded), -1)
            .transpose(1, 2),
            "mel_stream_2": lambda: self._mel("mel_stream_2", after=self._first_chunk).mel.mT,
            "estimator_out": self._velocity,
            "hift_f0": lambda: self._networks.vocoder.f0_predictor(self._vocoder_mel("hift_f0")),
            "source_no_noise_zero_phase": self._source,
            "hift_audio": lambda: self._audio(self._networks.vocoder, torch.float32),
        }  # fmt: skip
        return {name: lambda function=function: _run(function) for name, function in functions.items()}  # type: ignore[misc]

    @cached_property
    def _first_chunk(self) -> DecodedMel:
        return self._mel("mel_stream_1")

    @property
    def _overlap_frames(self) -> int | None:
        """What the golden file's first chunk handed on, less its prompt, which it had none of."""
        return self._golden["flow_cache_1"].shape[2] if "flow_cache_1" in self._golden else None

    def audio_in_float64(self) -> Array:
        """`hift_audio` with the vocoder's float32 weights and inputs, computed in float64."""
        return _run(lambda: self._audio(copy.deepcopy(self._networks.vocoder), torch.float64))

    def _tensor(self, name: str) -> torch.Tensor:
        return torch.from_numpy(self._golden[name])

    def _ids(self, name: str) -> list[int]:
        ids: list[int] = self._tensor(name).flatten().tolist()
        return ids

    def _log_probabilities(self, name: str, *, with_speaker: bool, with_prompt: bool) -> torch.Tensor:
        """With neither speaker nor prompt it is the style text that stands before the text."""
        lm = self._networks.language_model
        prefix = lm.prefix(
            self._ids("text"),
            prompt_text=self._ids("prompt_text") if with_prompt or not with_speaker else (),
            speaker=self._tensor("speaker") if with_speaker else None,
            prompt_speech=self._ids("prompt_speech") if with_prompt else (),
        )
        return lm.score(prefix, self._ids("speech")[: len(self._golden[name]) - 1])

    def _mel(self, name: str, *, with_prompt: bool = False, after: DecodedMel | None = None) -> DecodedMel:
        config = self.files.config.mel_decoder
        speech, frames = self._tensor("speech"), self._golden[name].shape[2]
        token_count = next((n for n in range(1, speech.shape[1] + 1) if config.mel_frames(n) >= frames), 0)
        tokens = speech[:, -token_count:] if after else speech[:, :token_count]
        voice = FlowVoice.without_prompt(self._tensor("speaker"), config)
        if with_prompt:
            voice = FlowVoice(voice.speaker, self._tensor("prompt_speech"), self._tensor("prompt_feat"))
        call = _NOISE_ORDER.index(name)
        noise = input_tensor(f"noise{call + 1}", self._golden["noise_shapes"][call].tolist()).mT
        with torch.inference_mode():
            return self._networks.mel_decoder.decode(
                tokens, voice, noise, cache=after.cache if after else None, overlap_frames=self._overlap_frames
            )

    def _velocity(self) -> torch.Tensor:
        net = self._networks.mel_decoder.velocity_net
        batch, mel_channels, frames = self._golden["estimator_out"].shape
        shape = (batch, mel_channels, frames)
        speaker = input_tensor("est_spk", shape[:2])[:, :, None].expand(-1, -1, frames)
        parts = (input_tensor("est_x", shape), input_tensor("est_mu", shape), speaker, input_tensor("est_cond", shape))
        time_bias = net.time_biases(torch.tensor([ESTIMATOR_TIME]))[0]
        velocity: torch.Tensor = net(torch.cat(parts, dim=1).mT, time_bias)
        return velocity.mT

    def _vocoder_mel(self, name: str) -> torch.Tensor:
        frames = self._golden[name].shape[-1]
        if name == "hift_audio":
            frames //= self.files.config.vocoder.samples_per_frame
        return input_tensor("hift_mel", (1, self.files.config.vocoder.mel_channels, frames)).mT

    def _source(self) -> torch.Tensor:
        source = self._networks.vocoder.harmonic_source
        phases = torch.zeros(self.files.config.vocoder.harmonic_count + 1, 1, dtype=torch.float64)
        excitation: torch.Tensor = source(self._tensor("source_f0"), phases, None)[0]
        return excitation[:, None]

    def _audio(self, vocoder: HiFTVocoder, dtype: torch.dtype) -> torch.Tensor:
        samples = self._golden["hift_audio"].shape[1]
        source = 0.1 * input_tensor("source", (1, 1, samples))[:, 0]
        return vocoder.to(dtype).decode(self._vocoder_mel("hift_audio").to(dtype), source.to(dtype))


def _run(function: Callable[[], torch.Tensor]) -> Array:
    with torch.inference_mode():
        return function().contiguous().numpy()
