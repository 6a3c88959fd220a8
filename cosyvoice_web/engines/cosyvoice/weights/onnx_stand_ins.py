"""Small stand-ins for the two official ONNX files: same inputs and outputs, recipe weights, a few kilobytes.

Like the originals they depend on what they are given: another recording gives another embedding and other tokens.
"""

from pathlib import Path

import numpy as np

from cosyvoice_web.engines.cosyvoice.weights.onnx_file import Node, Value, write_onnx
from cosyvoice_web.engines.cosyvoice.weights.recipe import standard_normal

FBANK_CHANNELS = 80
LOG_MEL_CHANNELS = 128
LOG_MEL_RATE_HZ = 100


def write_speaker_encoder(path: Path, speaker_dim: int) -> None:
    """`campplus.onnx`: `input` (batch, frames, 80) float32 filter bank -> `output` (batch, speaker_dim) float32.

    Mean magnitude of each channel, projected. Frames have no mean left, so magnitudes are what tells speakers apart.
    """
    weight = standard_normal("campplus.weight", (FBANK_CHANNELS, speaker_dim)).numpy() / np.float32(8.0)
    write_onnx(
        path,
        nodes=(
            Node("Abs", ("input",), "magnitude", {}),
            Node("ReduceMean", ("magnitude",), "mean", {"axes": [1], "keepdims": 0}),
            Node("MatMul", ("mean", "weight"), "output", {}),
        ),
        inputs=(Value("input", np.float32, ("batch", "frames", FBANK_CHANNELS)),),
        outputs=(Value("output", np.float32, ("batch", speaker_dim)),),
        constants={"weight": weight},
    )


def write_speech_tokenizer(path: Path, token_count: int, token_rate_hz: int) -> None:
    """`speech_tokenizer_v1.onnx`: `feats` (1, 128, frames), `feats_length` (1,) int32 -> `indices` (1, tokens) int32.

    Frames come at 100 a second; one token for every started 100 / `token_rate_hz` frames of `feats_length`. The signs
    of a few convolution channels are the bits of a token's number.
    """
    stride = max(1, LOG_MEL_RATE_HZ // token_rate_hz)
    bits = max(1, (token_count - 1).bit_length())
    kernel = standard_normal("speech_tokenizer_v1.weight", (bits, LOG_MEL_CHANNELS, 3)).numpy()
    write_onnx(
        path,
        nodes=(
            Node("Conv", ("feats", "kernel"), "channels", {"strides": [stride], "pads": [1, 1], "kernel_shape": [3]}),
            Node("Sign", ("channels",), "signs", {}),
            Node("Relu", ("signs",), "bits", {}),
            Node("Mul", ("bits", "values"), "weighted", {}),
            Node("ReduceSum", ("weighted", "axis"), "sum", {"keepdims": 0}),
            Node("Cast", ("sum",), "number", {"to": 6}),
            Node("Mod", ("number", "token_count"), "tokens", {}),
            Node("Add", ("feats_length", "round_up"), "rounded", {}),
            Node("Div", ("rounded", "stride"), "end", {}),
            Node("Slice", ("tokens", "start", "end", "time_axis"), "indices", {}),
        ),
        inputs=(
            Value("feats", np.float32, (1, LOG_MEL_CHANNELS, "frames")),
            Value("feats_length", np.int32, (1,)),
        ),
        outputs=(Value("indices", np.int32, (1, "tokens")),),
        constants={
            "kernel": kernel,
            "values": (2.0 ** np.arange(bits)).astype(np.float32).reshape(1, bits, 1),
            "axis": np.array([1], np.int64),
            "token_count": np.array(token_count, np.int32),
            "round_up": np.array([stride - 1], np.int32),
            "stride": np.array([stride], np.int32),
            "start": np.array([0], np.int32),
            "time_axis": np.array([1], np.int32),
        },
    )
