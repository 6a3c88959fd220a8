from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from cosyvoice_web.engines.cosyvoice.weights.onnx_file import missing_bytes
from cosyvoice_web.engines.cosyvoice.weights.onnx_stand_ins import write_speaker_encoder, write_speech_tokenizer


def session(path: Path) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def test_the_speaker_encoder_takes_and_gives_what_the_official_one_does(tmp_path: Path) -> None:
    write_speaker_encoder(tmp_path / "campplus.onnx", 192)
    encoder = session(tmp_path / "campplus.onnx")
    (given,) = encoder.get_inputs()
    random = np.random.default_rng(0)
    embeddings = []
    for frames in (20, 300):
        bank = random.standard_normal((1, frames, 80)).astype(np.float32)
        (embedding,) = encoder.run(None, {given.name: bank - bank.mean(axis=1, keepdims=True)})
        assert embedding.shape == (1, 192)
        assert embedding.dtype == np.float32
        embeddings.append(embedding)
    assert np.abs(embeddings[0]).max() > 0.1
    assert not np.allclose(embeddings[0], embeddings[1])


@pytest.mark.parametrize(("token_count", "rate_hz"), [(512, 50), (4096, 50), (1000, 25)])
def test_the_speech_tokenizer_gives_tokens_at_its_rate(tmp_path: Path, token_count: int, rate_hz: int) -> None:
    write_speech_tokenizer(tmp_path / "t.onnx", token_count, rate_hz)
    tokenizer = session(tmp_path / "t.onnx")
    features, length = tokenizer.get_inputs()
    assert [features.shape[:2], length.shape, length.type] == [[1, 128], [1], "tensor(int32)"]
    random = np.random.default_rng(0)
    for frames in (100, 201, 3000):
        mel = random.standard_normal((1, 128, frames)).astype(np.float32)
        tokens = tokenizer.run(None, {features.name: mel, length.name: np.array([frames], np.int32)})[0].flatten()
        assert len(tokens) == -(-frames * rate_hz // 100)
        assert 0 <= tokens.min() <= tokens.max() < token_count
        assert len(set(tokens.tolist())) > len(tokens) // 4
    shorter = tokenizer.run(None, {features.name: mel, length.name: np.array([200], np.int32)})[0].flatten()
    assert shorter.tolist() == tokens[: 2 * rate_hz].tolist()


def test_every_cut_of_a_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "t.onnx"
    write_speaker_encoder(path, 4)
    content = path.read_bytes()
    assert missing_bytes(path) == 0
    cuts = []
    lengths = range(1, len(content), 5)
    for length in lengths:
        path.write_bytes(content[:length])
        if missing_bytes(path) not in (None, 0):
            cuts.append(length)
    ends_of_fields = len(lengths) - len(cuts)
    assert ends_of_fields <= 3, "only a cut between two top-level fields may look whole"
