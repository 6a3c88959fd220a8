"""Every exception that crosses a room, in one tree.

CosyVoiceWebError                 .code, a stable string; str(error) is safe to show to anybody
├── RequestError                  the caller can mend it; .field names the part of the request
│   ├── InvalidRequest(message, field)
│   ├── NothingToSpeak()
│   ├── TextTooLong(limit, actual)
│   ├── UnknownVoice(name, available)
│   ├── UnsupportedLanguage(language, available)
│   └── UnsupportedFormat(name, available)
├── CapacityError                 try again; .retry_after_seconds
│   ├── RateLimited
│   ├── ServiceBusy
│   └── DeadlineExceeded
├── AvailabilityError             the server cannot speak now; .retry_after_seconds
│   ├── EngineNotReady(state, reason)
│   ├── EngineFailed(reason)
│   └── ShuttingDown
├── SynthesisError                the engine ran and the result may not be sent
│   ├── NoSpeechProduced(sentence)
│   ├── TokenBudgetSpent(sentence)
│   └── NonFiniteAudio(sentence)
├── ClientGone                    nobody is left to answer
├── CheckpointError               loading only: .path, what was found, what was expected
│   ├── FileMissing
│   ├── FileTruncated
│   ├── KeyMismatch(missing, unexpected)
│   ├── ShapeMismatch
│   └── WrongModelFamily
└── ConfigurationError            start only: names the variable, the value, the allowed range

No HTTP word stands here: `web/error_handlers.py` holds the only table from these classes to statuses.
"""

from collections.abc import Iterable


class CosyVoiceWebError(Exception):
    """Base of everything this package raises on purpose."""

    code = "error"


class RequestError(CosyVoiceWebError):
    """The request cannot be served as it is; `field` names the part to change, where there is one."""

    code = "invalid_request"

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class InvalidRequest(RequestError):
    """A field is missing, malformed or out of range."""


class NothingToSpeak(RequestError):
    """The text holds nothing that can be spoken: blank, punctuation or symbols only."""

    code = "nothing_to_speak"

    def __init__(self, field: str | None = "text") -> None:
        super().__init__("The text holds nothing to speak: send at least one letter, digit or word.", field)


class TextTooLong(RequestError):
    """The text is longer than the configured limit; both are in characters."""

    code = "text_too_long"

    def __init__(self, limit: int, actual: int, field: str | None = "text") -> None:
        super().__init__(
            f"The text has {actual} characters, the limit is {limit}: send it in parts of at most {limit}.", field
        )
        self.limit = limit
        self.actual = actual


class UnknownVoice(RequestError):
    """No voice of the loaded engine has this name."""

    code = "unknown_voice"

    def __init__(self, name: str, available: Iterable[str], field: str | None = "speaker") -> None:
        self.name = name
        self.available = tuple(available)
        super().__init__(f"No voice is called {name!r}. Available: {', '.join(self.available)}.", field)


class UnsupportedLanguage(RequestError):
    """The loaded engine has no rules for this language."""

    code = "unsupported_language"

    def __init__(self, language: str, available: Iterable[str], field: str | None = "text") -> None:
        self.language = language
        self.available = tuple(available)
        super().__init__(f"This server cannot speak {language}. It speaks: {', '.join(self.available)}.", field)


class UnsupportedFormat(RequestError):
    """No encoder for the audio format that was asked for."""

    code = "unsupported_format"

    def __init__(self, name: str, available: Iterable[str], field: str | None = "format") -> None:
        self.name = name
        self.available = tuple(available)
        super().__init__(f"Audio format {name!r} is not offered. Available: {', '.join(self.available)}.", field)


class CapacityError(CosyVoiceWebError):
    """The request is fine, there is no room for it now."""

    def __init__(self, message: str, retry_after_seconds: int = 1) -> None:
        super().__init__(message)
        self.retry_after_seconds = max(1, retry_after_seconds)


class RateLimited(CapacityError):
    """The caller has spent its allowance."""

    code = "rate_limited"


class ServiceBusy(CapacityError):
    """The waiting room is full."""

    code = "busy"


class DeadlineExceeded(CapacityError):
    """The request did not finish within its time."""

    code = "deadline_exceeded"


class AvailabilityError(CosyVoiceWebError):
    """The server cannot speak at the moment."""

    def __init__(self, message: str, retry_after_seconds: int = 5) -> None:
        super().__init__(message)
        self.retry_after_seconds = max(1, retry_after_seconds)


class EngineNotReady(AvailabilityError):
    """The engine is still loading or warming."""

    code = "not_ready"

    def __init__(self, state: str, retry_after_seconds: int = 5) -> None:
        super().__init__(f"The voice engine is not ready yet (state: {state}). Try again shortly.", retry_after_seconds)
        self.state = state


class EngineFailed(AvailabilityError):
    """The engine could not be loaded; `reason` says why and what to do."""

    code = "engine_failed"

    def __init__(self, reason: str, retry_after_seconds: int = 60) -> None:
        super().__init__(f"The voice engine could not be loaded: {reason}", retry_after_seconds)
        self.reason = reason


class ShuttingDown(AvailabilityError):
    """The server is draining; another replica or a later try will answer."""

    code = "shutting_down"


class SynthesisError(CosyVoiceWebError):
    """The engine ran, and what came out may not be sent as speech."""

    code = "synthesis_failed"

    def __init__(self, message: str, sentence: str = "") -> None:
        super().__init__(message)
        self.sentence = sentence


class NoSpeechProduced(SynthesisError):
    """The engine returned no samples, or silence."""

    code = "no_speech_produced"


class TokenBudgetSpent(SynthesisError):
    """The language model did not end the sentence within its budget of speech tokens."""

    code = "token_budget_spent"


class NonFiniteAudio(SynthesisError):
    """The engine returned NaN or infinite samples."""

    code = "non_finite_audio"


class ClientGone(CosyVoiceWebError):
    """The client left before the answer was complete."""

    code = "client_gone"


class CheckpointError(CosyVoiceWebError):
    """A model directory cannot be loaded: says the file, what was found and what was expected."""

    code = "checkpoint"

    def __init__(self, path: str, found: str, expected: str) -> None:
        super().__init__(f"{path}: found {found}; expected {expected}")
        self.path = path
        self.found = found
        self.expected = expected


class FileMissing(CheckpointError):
    """A required file of the model directory does not exist."""

    code = "file_missing"


class FileTruncated(CheckpointError):
    """A file is incomplete, a Git LFS pointer, or not the format its name says."""

    code = "file_truncated"


class KeyMismatch(CheckpointError):
    """The checkpoint lacks tensors that the model needs, or holds some that it does not know."""

    code = "key_mismatch"

    def __init__(self, path: str, missing: Iterable[str], unexpected: Iterable[str]) -> None:
        self.missing = tuple(missing)
        self.unexpected = tuple(unexpected)
        found = f"{len(self.missing)} tensors missing {_some(self.missing)}, {len(self.unexpected)} unknown"
        super().__init__(
            path, f"{found} {_some(self.unexpected)}", "exactly the tensors of the model in cosyvoice.yaml"
        )


class ShapeMismatch(CheckpointError):
    """A tensor has another shape than cosyvoice.yaml implies."""

    code = "shape_mismatch"


class WrongModelFamily(CheckpointError):
    """The directory holds another model family, such as CosyVoice2 or 3."""

    code = "wrong_model_family"


class ConfigurationError(CosyVoiceWebError):
    """A setting cannot be used; the message names the variable, its value and what is allowed."""

    code = "configuration"


def _some(names: tuple[str, ...], limit: int = 3) -> str:
    shown = ", ".join(names[:limit])
    return f"({shown}{', ...' if len(names) > limit else ''})" if names else ""
