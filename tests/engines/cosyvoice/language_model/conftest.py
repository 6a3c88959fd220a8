from functools import cache

import pytest
import torch

from cosyvoice_web.engines.cosyvoice.language_model.speech_lm import SpeechLM
from cosyvoice_web.engines.cosyvoice.weights.llm_keys import language_model_state
from cosyvoice_web.engines.cosyvoice.weights.tensor_source import TensorSource
from tests.engines.cosyvoice.golden_files import golden


def build(size: str) -> SpeechLM:
    config = golden(size).config.language_model
    source = TensorSource("llm.pt", golden(size).checkpoint("llm"))
    state = language_model_state(source, config)
    source.finish()
    return SpeechLM.from_state(config, state)


@cache
def _tiny() -> SpeechLM:
    return build("tiny")


@pytest.fixture
def tiny_model() -> SpeechLM:
    """The tiny language model; nothing may change it."""
    return _tiny()


@pytest.fixture
def sft_prefix(tiny_model: SpeechLM) -> torch.Tensor:
    return tiny_model.prefix(golden("tiny").ids("text"), speaker=golden("tiny").tensor("speaker")[0])
