"""From the fields of a request body to a SpeechRequest; everything that can be wrong with them is said here.

One set of rules for all body types: null and the empty string mean the default, numbers, true and false may be written
as strings, true and false are no numbers. Unknown fields are ignored, so that a client written for a later version
works, except names that are plainly meant for one of ours: those are refused with the right name, because speech in
the wrong voice is worse than an error.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from cosyvoice_web.errors import InvalidRequest, UnsupportedFormat
from cosyvoice_web.speech import (
    AUTO_LANGUAGE,
    SAMPLE_RATE_MAX_HZ,
    SAMPLE_RATE_MIN_HZ,
    SEED_MAX,
    SPEED_MAX,
    SPEED_MIN,
    AudioFormat,
    AudioOutput,
    ConversionRequest,
    SpeechRequest,
    VoicePrompt,
)

OUTPUT_FIELDS = ("speed", "format", "sample_rate", "seed", "stream")
SPEECH_FIELDS = ("text", "speaker", "language", "prompt_audio", "prompt_text", "instruct_text", *OUTPUT_FIELDS)
CONVERSION_FIELDS = ("source_audio", "speaker", "prompt_audio", *OUTPUT_FIELDS)
# what other programs call our fields, where difflib would not find them
FOREIGN_NAMES = {
    "input": "text", "tts_text": "text", "message": "text",
    "voice": "speaker", "voice_id": "speaker", "spk_id": "speaker", "spk": "speaker",
    "lang": "language", "locale": "language",
    "rate": "speed", "response_format": "format", "sampling_rate": "sample_rate",
    "prompt": "prompt_audio", "prompt_wav": "prompt_audio", "prompt_speech": "prompt_audio",
    "ref_audio": "prompt_audio", "reference_audio": "prompt_audio",
    "ref_text": "prompt_text", "reference_text": "prompt_text",
    "instruct": "instruct_text", "instruction": "instruct_text", "instructions": "instruct_text",
    "source": "source_audio", "source_wav": "source_audio", "streaming": "stream",
}  # fmt: skip
NAME_CHARS_MAX = 200
NUMBER_MAX = 1e15  # whole numbers are exact in a float up to here
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_T = TypeVar("_T")
_LANGUAGE = re.compile(r"([a-z]{2,3}|auto)([-_][a-z0-9_-]{1,30})?", re.ASCII)


def parse_speech(fields: Mapping[str, Any]) -> tuple[SpeechRequest, AudioOutput]:
    """Check every field and its range; what only the engine knows (voices, languages, text length) is not checked here.

    Raises:
        InvalidRequest: a field is missing, of the wrong kind or out of range; `field` names it.
        UnsupportedFormat: an audio format without an encoder.
    """
    refuse_misspelt(fields, SPEECH_FIELDS, FOREIGN_NAMES)
    text = fields.get("text")
    if text is None:
        raise InvalidRequest(f"The field text is missing.{_json_hint(fields)}", "text")
    speech = SpeechRequest(
        text=_string("text", text),
        voice_id=_optional(fields, "speaker", _name),
        language=_optional(fields, "language", _language) or AUTO_LANGUAGE,
        speed=_speed(fields),
        seed=_seed(fields),
        prompt=_prompt(fields, _words(fields, "prompt_text")),
        instruction=_words(fields, "instruct_text"),
    )
    return speech, _output(fields)


def parse_conversion(fields: Mapping[str, Any]) -> tuple[ConversionRequest, AudioOutput]:
    """As `parse_speech`, for a recording that is to be spoken in another voice.

    Raises:
        InvalidRequest, UnsupportedFormat: as `parse_speech`.
    """
    refuse_misspelt(fields, CONVERSION_FIELDS, FOREIGN_NAMES)
    recording = _optional(fields, "source_audio", _file)
    if recording is None:
        raise InvalidRequest("The file source_audio is missing: send the recording to convert.", "source_audio")
    conversion = ConversionRequest(
        recording=recording,
        voice_id=_optional(fields, "speaker", _name),
        speed=_speed(fields),
        seed=_seed(fields),
        prompt=_prompt(fields, None),
    )
    return conversion, _output(fields)


def parse_stream(fields: Mapping[str, Any]) -> bool:
    """Whether the answer is to be sent while it is made.

    Raises:
        InvalidRequest: neither true nor false.
    """
    return _optional(fields, "stream", _truth) or False


def _output(fields: Mapping[str, Any]) -> AudioOutput:
    rate_hz = _optional(
        fields, "sample_rate", lambda name, value: _integer(name, value, SAMPLE_RATE_MIN_HZ, SAMPLE_RATE_MAX_HZ)
    )
    audio_format = _optional(fields, "format", _format) or AudioFormat.WAV
    return AudioOutput(audio_format, rate_hz)


def refuse_misspelt(fields: Iterable[str], known: Iterable[str], foreign: Mapping[str, str]) -> None:
    """Raise InvalidRequest for an unknown field whose name is plainly meant for a known one."""
    known = tuple(known)
    for name in fields:
        if name in known:
            continue
        word = name.strip().lower()
        near = [word] if word in known else difflib.get_close_matches(word, known, n=1, cutoff=0.8)
        meant = foreign.get(word) or (near[0] if near else None)
        if meant in known:
            raise InvalidRequest(f"There is no field {name[:40]!r}: did you mean {meant!r}?", name[:40])


def _json_hint(fields: Mapping[str, Any]) -> str:
    if any(name.lstrip().startswith("{") for name in fields):
        return " The body looks like JSON: send the header Content-Type: application/json."
    return ""


def _optional(fields: Mapping[str, Any], name: str, parse: Callable[[str, Any], _T]) -> _T | None:
    value = fields.get(name)
    if value is None or value == "":
        return None
    return parse(name, value)


def _string(name: str, value: Any) -> str:
    if isinstance(value, bytes):
        raise InvalidRequest(f"The field {name} is a file: send its content as text.", name)
    if not isinstance(value, str):
        raise InvalidRequest(f"The field {name} must be a string.", name)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidRequest(
            f"The field {name} holds half of a character (a lone UTF-16 surrogate): send whole characters.", name
        ) from None
    return value


def _name(name: str, value: Any) -> str:
    word = _string(name, value)
    if len(word) > NAME_CHARS_MAX:
        raise InvalidRequest(f"The field {name} is longer than {NAME_CHARS_MAX} characters.", name)
    return word


def _words(fields: Mapping[str, Any], name: str) -> str | None:
    words = _optional(fields, name, _string)
    return words if words and not words.isspace() else None


def _file(name: str, value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise InvalidRequest(f"The field {name} must be a file: send it as a file of a multipart/form-data body.", name)
    if not value:
        raise InvalidRequest(f"The file {name} is empty.", name)
    return value


def _prompt(fields: Mapping[str, Any], text: str | None) -> VoicePrompt | None:
    audio = _optional(fields, "prompt_audio", _file)
    if audio is not None:
        return VoicePrompt(audio, text)
    if text is not None:
        raise InvalidRequest("prompt_text says what is said in prompt_audio, which is missing.", "prompt_text")
    return None


def _truth(name: str, value: Any) -> bool:
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value.strip().lower())
    if not isinstance(value, bool):
        raise InvalidRequest(f"The field {name} must be true or false.", name)
    return value


def _language(name: str, value: Any) -> str:
    match = _LANGUAGE.fullmatch(_name(name, value).strip().lower())
    if match is None:
        raise InvalidRequest(f"The field {name} must be auto or a language code such as zh, en, ja or zh-CN.", name)
    return match[1]


def _format(name: str, value: Any) -> AudioFormat:
    word = _name(name, value).strip().lower()
    for audio_format in AudioFormat:
        if word == audio_format.suffix:
            return audio_format
    raise UnsupportedFormat(word, [audio_format.suffix for audio_format in AudioFormat], name)


def _number(name: str, value: Any) -> float:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()) is not None:
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidRequest(f"The field {name} must be a number.", name)
    if not abs(value) < NUMBER_MAX:  # NaN fails this too
        raise InvalidRequest(f"The field {name} must be a finite number below {NUMBER_MAX:g}.", name)
    return value


def _speed(fields: Mapping[str, Any]) -> float:
    speed = _optional(fields, "speed", _number)
    if speed is None:
        return 1.0
    if not SPEED_MIN <= speed <= SPEED_MAX:
        raise InvalidRequest(f"The field speed must be from {SPEED_MIN} to {SPEED_MAX}; it is {speed:g}.", "speed")
    return float(speed)


def _seed(fields: Mapping[str, Any]) -> int | None:
    return _optional(fields, "seed", lambda name, value: _integer(name, value, 0, SEED_MAX))


def _integer(name: str, value: Any, low: int, high: int) -> int:
    number = _number(name, value)
    if number != int(number) or not low <= number <= high:
        raise InvalidRequest(f"The field {name} must be a whole number from {low} to {high}.", name)
    return int(number)
