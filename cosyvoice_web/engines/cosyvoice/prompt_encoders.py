"""The two ONNX networks that listen to recordings: whose voice it is, and which speech tokens were said."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from cosyvoice_web.engines.cosyvoice.features import speaker_filter_bank, tokenizer_log_mel
from cosyvoice_web.engines.onnx import import_onnxruntime
from cosyvoice_web.errors import FileTruncated, ShapeMismatch


class OnnxNetwork:
    """One ONNX file, read when it is first used: the published speech tokenizer is half a gigabyte."""

    def __init__(self, path: Path, num_threads: int) -> None:
        self.path = path
        self._num_threads = num_threads
        self._session: Any = None
        self._lock = threading.Lock()

    def run(self, *inputs: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """First output for the inputs, in the file's order of inputs. May be called from any thread.

        Raises:
            FileTruncated: the file is no network.
            ShapeMismatch: it takes other inputs.
        """
        session = self._opened()
        names = [node.name for node in session.get_inputs()]
        try:
            output, *_ = session.run(None, dict(zip(names, inputs, strict=True)))
        except Exception as reason:  # the runtime's own classes have no common public base
            expected = f"a network that takes inputs of shape {[array.shape for array in inputs]}"
            raise ShapeMismatch(str(self.path), f"inputs {names} that refuse them", expected) from reason
        return np.asarray(output)

    def _opened(self) -> Any:
        with self._lock:
            if self._session is None:
                onnxruntime = import_onnxruntime()
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = self._num_threads
                options.inter_op_num_threads = 1
                options.log_severity_level = 3
                # every recording has another length: a remembered allocation plan would only pile up
                options.enable_mem_pattern = False
                # the threads share their cores with everything else: sleep while there is nothing to do
                options.add_session_config_entry("session.intra_op.allow_spinning", "0")
                try:
                    self._session = onnxruntime.InferenceSession(
                        str(self.path), options, providers=["CPUExecutionProvider"]
                    )
                except Exception as reason:
                    raise FileTruncated(str(self.path), "a file that is no network", "an ONNX network") from reason
            return self._session


class PromptEncoders:
    """Speaker embedding and speech tokens of a recording at 16 kHz.

    Source: CosyVoice, cli/frontend.py, CosyVoiceFrontEnd._extract_spk_embedding and _extract_speech_token.
    """

    def __init__(
        self, speaker_encoder: Path, speech_tokenizer: Path, *, speaker_dim: int, token_count: int, num_threads: int
    ) -> None:
        """Nothing is read before the first recording comes."""
        self._speaker_encoder = OnnxNetwork(speaker_encoder, num_threads)
        self._speech_tokenizer = OnnxNetwork(speech_tokenizer, num_threads)
        self._speaker_dim = speaker_dim
        self._token_count = token_count

    def speaker(self, samples: torch.Tensor) -> torch.Tensor:
        """(samples,) float32 at 16 kHz to an embedding (1, speaker_dim) float32 of any length.

        Raises:
            CheckpointError: the file is no network, or one of another model.
        """
        embedding = self._speaker_encoder.run(speaker_filter_bank(samples).numpy())
        if embedding.size != self._speaker_dim or not np.isfinite(embedding).all():
            raise ShapeMismatch(
                str(self._speaker_encoder.path), f"output of shape {embedding.shape}", f"{self._speaker_dim} numbers"
            )
        return torch.from_numpy(embedding.astype(np.float32).reshape(1, -1))

    def speech_tokens(self, samples: torch.Tensor) -> list[int]:
        """(samples,) float32 at 16 kHz, 30 s at most, to speech token ids, 50 a second.

        Raises:
            CheckpointError: the file is no network, or one of another model.
        """
        log_mel = tokenizer_log_mel(samples).numpy()
        tokens: list[int] = self._speech_tokenizer.run(log_mel, np.array([log_mel.shape[2]], np.int32)).ravel().tolist()
        if not tokens or not 0 <= min(tokens) <= max(tokens) < self._token_count:
            found = f"ids from {min(tokens)} to {max(tokens)}" if tokens else "no token"
            raise ShapeMismatch(str(self._speech_tokenizer.path), found, f"ids from 0 to {self._token_count - 1}")
        return tokens
