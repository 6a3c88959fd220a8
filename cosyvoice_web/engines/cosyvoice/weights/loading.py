"""From a checked model directory to the three networks, ready to speak."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import nn

from cosyvoice_web.engines.cosyvoice.config import CosyVoiceConfig
from cosyvoice_web.engines.cosyvoice.language_model.speech_lm import SpeechLM
from cosyvoice_web.engines.cosyvoice.mel_decoder.flow import MelDecoder
from cosyvoice_web.engines.cosyvoice.networks import Networks
from cosyvoice_web.engines.cosyvoice.vocoder.hift import HiFTVocoder
from cosyvoice_web.engines.cosyvoice.weights.checkpoint_file import open_checkpoint
from cosyvoice_web.engines.cosyvoice.weights.files import LANGUAGE_MODEL, MEL_DECODER, VOCODER, ModelFiles
from cosyvoice_web.engines.cosyvoice.weights.flow_keys import mel_decoder_state
from cosyvoice_web.engines.cosyvoice.weights.hift_keys import vocoder_state
from cosyvoice_web.engines.cosyvoice.weights.lite import place_layers, read_weights
from cosyvoice_web.engines.cosyvoice.weights.llm_keys import language_model_state
from cosyvoice_web.engines.cosyvoice.weights.tensor_source import TensorSource
from cosyvoice_web.errors import ShapeMismatch

State = dict[str, torch.Tensor]

_STATES: Mapping[str, Callable[[TensorSource, CosyVoiceConfig], State]] = {
    LANGUAGE_MODEL: lambda source, config: language_model_state(source, config.language_model),
    MEL_DECODER: lambda source, config: mel_decoder_state(source, config.mel_decoder),
    VOCODER: lambda source, config: vocoder_state(source, config.vocoder),
}


@dataclass(frozen=True, slots=True)
class CheckpointState:
    """Our modules' tensors from one file; `dropped` holds the entries left unused, each with the reason."""

    tensors: State
    dropped: Mapping[str, str]


def load_networks(files: ModelFiles) -> Networks:
    """Build the three networks around the tensors of the files, which stay mapped: do not change them meanwhile.

    Raises:
        FileTruncated: a file cannot be read as tensors.
        KeyMismatch: tensors are missing, or there are some that the model does not have.
        ShapeMismatch: a tensor has another shape than `cosyvoice.yaml` implies.
    """
    config = files.config
    with _blaming(files.directory):
        return Networks(
            SpeechLM.from_state(config.language_model, *_state(files, LANGUAGE_MODEL)),
            MelDecoder.from_state(config.mel_decoder, *_state(files, MEL_DECODER)),
            HiFTVocoder.from_state(config.vocoder, *_state(files, VOCODER)),
        )


def _state(files: ModelFiles, name: str) -> tuple[State, Callable[[nn.Module], None] | None]:
    path = files.weights(name)
    if not files.is_lite:
        return read_state(path, files.config).tensors, None
    kept = read_weights(path)
    return kept, partial(place_layers, kept=kept)


@contextmanager
def _blaming(directory: Path) -> Iterator[None]:
    """Tensors that do not fit their modules can only be those of a lite directory: official ones have been compared."""
    try:
        yield
    except (RuntimeError, AttributeError) as reason:
        raise ShapeMismatch(
            str(directory), "weights of another model than its cosyvoice.yaml describes", "those of one conversion"
        ) from reason


def read_state(path: Path, config: CosyVoiceConfig) -> CheckpointState:
    """The tensors of `llm.pt`, `flow.pt` or `hift.pt` under the names of our modules, float32.

    Raises:
        CheckpointError: see `load_networks`.
    """
    source = open_checkpoint(path)
    state = _STATES[path.name](source, config)
    source.finish()
    return CheckpointState(state, source.dropped)
