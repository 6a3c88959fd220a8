"""From a request to the engine's work: what is refused, who speaks, and in which parts.

`check_alone` says what can be told without an engine, `plan` the rest.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from cosyvoice_web.audio.recordings import duration_seconds
from cosyvoice_web.errors import InvalidRequest, NothingToSpeak, TextTooLong, UnknownVoice
from cosyvoice_web.service.engine_port import SpeechEngine
from cosyvoice_web.service.utterance import Part, spoken_units
from cosyvoice_web.speech import (
    SEED_MAX,
    SPEED_MAX,
    SPEED_MIN,
    ConversionRequest,
    Manner,
    SpeechRequest,
    Voice,
)
from cosyvoice_web.text import prepare
from cosyvoice_web.text.characters import is_speakable
from cosyvoice_web.text.sentences import Sentence

FIRST_LANGUAGE_WEIGHT = 1.5
"""How much more another language must have than the one a text begins with to choose the voice."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the engine is to do for one request."""

    manner: Manner
    parts: tuple[Part, ...]


def check_alone(request: SpeechRequest | ConversionRequest, max_text_chars: int) -> None:
    """Everything that can be told without an engine.

    Raises:
        RequestError: the caller can mend it.
    """
    if isinstance(request, SpeechRequest):
        _check_words(request.text, "text", max_text_chars)
        if request.instruction is not None:
            _check_words(request.instruction, "instruct_text", max_text_chars)
            if request.prompt is not None:
                raise InvalidRequest(
                    "instruct_text needs a stored voice: send it without prompt_audio.", "instruct_text"
                )
    if request.prompt is not None:
        if request.voice_id is not None:
            raise InvalidRequest("speaker and prompt_audio both say whose voice it is: choose one.", "prompt_audio")
        if request.prompt.text is not None:
            _check_words(request.prompt.text, "prompt_text", max_text_chars)
    if not (math.isfinite(request.speed) and SPEED_MIN <= request.speed <= SPEED_MAX):
        raise InvalidRequest(f"speed {request.speed} is out of range: give {SPEED_MIN} to {SPEED_MAX}.", "speed")
    if request.seed is not None and not 0 <= request.seed <= SEED_MAX:
        raise InvalidRequest(f"seed {request.seed} is out of range: give a whole number 0 to {SEED_MAX}.", "seed")


def plan(request: SpeechRequest | ConversionRequest, engine: SpeechEngine, *, stream: bool = False) -> Plan:
    """The work for a request that passed `check_alone`; `stream`: the first audio should come soon.

    Raises:
        RequestError: this engine cannot do it.
    """
    if isinstance(request, ConversionRequest):
        voice = None if request.prompt else _conversion_voice(engine, request)
        manner = Manner(voice, request.prompt)
        engine.check(manner, converting=True)
        seconds = duration_seconds(request.recording, "source_audio")
        parts: tuple[Part, ...] = (Part.of_recording(request.recording, seconds, stream=stream),)
    else:
        sentences = prepare.prepare_text(
            request.text, request.language, engine.languages, keep_speech_marks=engine.obeys_speech_marks
        )
        parts = tuple(Part.of_sentence(sentence, stream=stream) for sentence in sentences)
        voice = None if request.prompt else _speaking_voice(engine, request, sentences)
        manner = Manner(voice, request.prompt, request.instruction)
        engine.check(manner)
    return Plan(manner, parts)


def _check_words(text: str, field: str, max_text_chars: int) -> None:
    if len(text) > max_text_chars:
        raise TextTooLong(max_text_chars, len(text), field)
    if not any(map(is_speakable, text)):
        raise NothingToSpeak(field)


def _speaking_voice(engine: SpeechEngine, request: SpeechRequest, sentences: Sequence[Sentence]) -> Voice:
    """The voice that was asked for, or the default one of the text's main language.

    That is the language it begins with, unless there is clearly more of another.
    """
    if request.voice_id is not None:
        return _voice_called(engine, request.voice_id)
    _require_voices(engine)
    shares: defaultdict[str, float] = defaultdict(float)
    for sentence in sentences:
        shares[sentence.language] += spoken_units(sentence)
    shares[sentences[0].language] *= FIRST_LANGUAGE_WEIGHT
    return engine.default_voice(max(shares, key=lambda language: shares[language]))


def _conversion_voice(engine: SpeechEngine, request: ConversionRequest) -> Voice:
    if request.voice_id is None:
        raise InvalidRequest("Whose voice it shall be is missing: send speaker or prompt_audio.", "speaker")
    return _voice_called(engine, request.voice_id)


def _voice_called(engine: SpeechEngine, voice_id: str) -> Voice:
    _require_voices(engine)
    for voice in engine.voices:
        if voice.id == voice_id:
            return voice
    raise UnknownVoice(voice_id, [voice.id for voice in engine.voices])


def _require_voices(engine: SpeechEngine) -> None:
    if not engine.voices:
        raise InvalidRequest(
            "The loaded model has no stored voices: send a recording as prompt_audio instead of a speaker.",
            "prompt_audio",
        )
