import shutil
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import pytest

from cosyvoice_web.cli import main
from cosyvoice_web.engines.cosyvoice.download import download_model
from cosyvoice_web.engines.cosyvoice.weights.files import ModelKind, open_model
from cosyvoice_web.errors import ConfigurationError, FileMissing, FileTruncated
from tests.engines.cosyvoice.fake_hub import FakeHub, running

NAMES = {"cosyvoice.yaml", "llm.pt", "flow.pt", "hift.pt", "spk2info.pt", "campplus.onnx", "speech_tokenizer_v1.onnx"}


@pytest.fixture
def hub(recipe_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    # progress bars start no thread that outlives them
    monkeypatch.setattr("huggingface_hub.utils.tqdm.monitor_interval", 0)
    folder = Path(shutil.copytree(recipe_model, tmp_path / "hub"))
    (folder / "cosyvoice-web.json").unlink()
    (folder / "README.md").write_text("not needed")
    (folder / "flow.decoder.estimator.fp32.onnx").write_bytes(b"not needed either")
    with running(FakeHub("FunAudioLLM/CosyVoice-300M-Instruct", folder)) as hub:
        yield hub


def test_a_model_arrives_whole_and_only_what_speaking_needs(hub: FakeHub, tmp_path: Path) -> None:
    directory = tmp_path / "model"
    names = download_model("CosyVoice-300M-Instruct", directory, hub.url)
    assert set(names) == NAMES
    for name in NAMES:
        assert (directory / name).read_bytes() == (hub.folder / name).read_bytes()
    assert {name for name, _ in hub.gets} == NAMES
    assert open_model(directory).kind is ModelKind.INSTRUCT
    hub.gets.clear()
    download_model("CosyVoice-300M-Instruct", directory, hub.url)
    assert hub.gets == []


def test_a_broken_connection_is_taken_up_again(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "DOWNLOAD_CHUNK_SIZE", 1_000_000)
    hub.cut_after["llm.pt"] = 3_500_000
    directory = tmp_path / "model"
    download_model("CosyVoice-300M-Instruct", directory, hub.url)
    assert [start for name, start in hub.gets if name == "llm.pt"] == [0, 3_000_000]
    assert (directory / "llm.pt").read_bytes() == (hub.folder / "llm.pt").read_bytes()


def test_a_later_call_goes_on_where_an_earlier_one_stopped(hub: FakeHub, tmp_path: Path) -> None:
    directory = tmp_path / "model"
    directory.mkdir()
    whole = (hub.folder / "llm.pt").read_bytes()
    (directory / "llm.pt.part").write_bytes(whole[:5_000_000])
    (directory / "hift.pt.part").write_bytes(bytes(len(whole)))  # longer than the file can be
    download_model("CosyVoice-300M-Instruct", directory, hub.url)
    assert [start for name, start in hub.gets if name in ("llm.pt", "hift.pt")] == [5_000_000, 0]
    assert (directory / "llm.pt").read_bytes() == whole
    assert list(directory.glob("*.part")) == []


@pytest.mark.parametrize("name", ["flow.pt", "cosyvoice.yaml"])
def test_a_file_with_another_hash_is_removed(hub: FakeHub, tmp_path: Path, name: str) -> None:
    content = bytearray((hub.folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    hub.replaced[name] = bytes(content)
    with pytest.raises(FileTruncated, match=r"another (sha256|git-sha1) hash"):
        download_model("CosyVoice-300M-Instruct", tmp_path / "model", hub.url)
    assert not (tmp_path / "model" / name).exists()
    hub.replaced.clear()
    download_model("CosyVoice-300M-Instruct", tmp_path / "model", hub.url)
    open_model(tmp_path / "model")


def test_a_damaged_local_file_is_fetched_again(hub: FakeHub, tmp_path: Path) -> None:
    directory = tmp_path / "model"
    download_model("CosyVoice-300M-Instruct", directory, hub.url)
    content = bytearray((directory / "hift.pt").read_bytes())
    content[1000] ^= 1
    (directory / "hift.pt").write_bytes(content)
    download_model("CosyVoice-300M-Instruct", directory, hub.url)
    assert (directory / "hift.pt").read_bytes() == (hub.folder / "hift.pt").read_bytes()


def test_a_mirror_gets_no_token(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    download_model("CosyVoice-300M-Instruct", tmp_path / "model", hub.url)
    assert hub.tokens_seen == []


def test_a_model_without_weights_and_an_unknown_model(hub: FakeHub, tmp_path: Path) -> None:
    (hub.folder / "llm.pt").unlink()
    with pytest.raises(FileMissing, match=r"llm\.pt"):
        download_model("CosyVoice-300M-Instruct", tmp_path / "model", hub.url)
    with pytest.raises(ConfigurationError, match="FunAudioLLM/CosyVoice-400M"):
        download_model("CosyVoice-400M", tmp_path / "model", hub.url)
    with pytest.raises(ConfigurationError, match="no model"):
        download_model("a/b/c", tmp_path / "model", hub.url)
    assert not (tmp_path / "model").exists()


def test_a_hub_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not answer"):
        download_model("CosyVoice-300M-SFT", tmp_path / "model", "http://127.0.0.1:9")


def test_the_mirror_comes_from_the_setting_or_the_command_line(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COSYVOICE_HUB_URL", hub.url)
    assert main(["download", "CosyVoice-300M-Instruct", str(tmp_path / "one")]) == 0
    assert "COSYVOICE_MODEL_DIR" in capsys.readouterr().out
    monkeypatch.setenv("COSYVOICE_HUB_URL", "http://127.0.0.1:9")
    assert main(["download", "--mirror", hub.url, "CosyVoice-300M-Instruct", str(tmp_path / "two")]) == 0
    monkeypatch.setenv("COSYVOICE_HUB_URL", "ftp://somewhere")
    assert main(["download", "CosyVoice-300M-Instruct", str(tmp_path / "three")]) == 1
    assert "COSYVOICE_HUB_URL" in capsys.readouterr().err
