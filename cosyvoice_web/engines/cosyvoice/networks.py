"""The three networks of a model."""

from dataclasses import dataclass

from cosyvoice_web.engines.cosyvoice.language_model.speech_lm import SpeechLM
from cosyvoice_web.engines.cosyvoice.mel_decoder.flow import MelDecoder
from cosyvoice_web.engines.cosyvoice.vocoder.hift import HiFTVocoder


@dataclass(frozen=True, slots=True)
class Networks:
    """The three stages; nothing on them changes while they speak."""

    language_model: SpeechLM
    mel_decoder: MelDecoder
    vocoder: HiFTVocoder
