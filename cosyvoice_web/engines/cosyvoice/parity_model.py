"""A recipe model and the inputs of a golden file, and every array of the file that can be computed from the two."""

import copy
from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch

from cosyvoice_web.engines.cosyvoice.mel_decoder.flow import DecodedMel, FlowVoice
from cosyvoice_web.engines.cosyvoice.quantization import Precision, prepare_layers
from cosyvoice_web.engines.cosyvoice.vocoder.hift import HiFTVocoder
from cosyvoice_web.engines.cosyvoice.weights.files import ModelFiles
from cosyvoice_web.engines.cosyvoice.weights.loading import load_networks
from cosyvoice_web.engines.cosyvoice.weights.recipe import input_tensor

_NOISE_ORDER = ("mel_sft", "mel_short", "mel_zero_shot", "mel_stream_1", "mel_stream_2")
ESTIMATOR_TIME = 0.3

Array = npt.NDArray[np.generic]


class RecipeModel:
    """The networks, the golden file's inputs, and one function for each array that can be computed from them."""

    def __init__(self, files: ModelFiles, golden: Mapping[str, Array], precision: Precision) -> None:
        self.files = files
        self._golden = golden
        self._networks = load_networks(files)
        prepare_layers(self._networks, precision, 1)

    def outputs(self) -> dict[str, Callable[[], Array]]:
        """A function for each array, channels first as in the golden file; KeyError: an input of it is not there."""
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
