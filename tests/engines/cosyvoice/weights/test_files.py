"""Every way in which a model directory is known to be broken, through the checks and through a full examination."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from cosyvoice_web.engines.cosyvoice.doctor import examine
from cosyvoice_web.engines.cosyvoice.make_checkpoint import SIZES
from cosyvoice_web.engines.cosyvoice.weights.files import ModelKind, named_kind, open_model
from cosyvoice_web.engines.cosyvoice.weights.loading import load_networks
from cosyvoice_web.errors import (
    CheckpointError,
    FileMissing,
    FileTruncated,
    KeyMismatch,
    ShapeMismatch,
    WrongModelFamily,
)
from cosyvoice_web.speech import SpeechMode

LFS_POINTER = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4665615cee1a5d30ad9b7a51a8f5a4d5a0fe9d9a2c9a5c4a0dbd5f3c9a2f1b7e\nsize 1242994835\n"
)
NAMES = ("cosyvoice.yaml", "llm.pt", "flow.pt", "hift.pt", "spk2info.pt", "campplus.onnx", "speech_tokenizer_v1.onnx")
WEIGHTS = ("llm.pt", "flow.pt", "hift.pt")

Break = Callable[[Path], None]


def load(directory: Path) -> None:
    load_networks(open_model(directory))


def change_tensors(path: Path, change: Callable[[dict[str, object]], object]) -> None:
    content = torch.load(path, weights_only=True)
    changed = change(content)
    torch.save(content if changed is None else changed, path)


def assert_broken(directory: Path, kind: type[CheckpointError], *words: str) -> None:
    """The load fails, and the examination shows the same words and says that it would."""
    with pytest.raises(kind) as caught:
        load(directory)
    examination = examine(directory)
    table = examination.table()
    assert not examination.healthy
    for word in (caught.value.found, caught.value.expected, *words):
        assert word in table
    assert caught.value.path in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_a_whole_directory_is_healthy(recipe_model: Path) -> None:
    load(recipe_model)
    examination = examine(recipe_model)
    assert examination.healthy
    assert [check.name for check in examination.checks] == list(NAMES)
    assert "中文女" in examination.table()


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("onnx")])
def test_a_missing_file(model_copy: Path, name: str) -> None:
    (model_copy / name).unlink()
    assert_broken(model_copy, FileMissing, name, "no file")


@pytest.mark.parametrize("name", NAMES)
def test_a_git_lfs_pointer(model_copy: Path, name: str) -> None:
    (model_copy / name).write_text(LFS_POINTER)
    assert_broken(model_copy, FileTruncated, name, "Git LFS pointer of 135 bytes to 1243.0 MB", "git lfs pull")


@pytest.mark.parametrize("name", NAMES)
def test_a_web_page_in_place_of_the_file(model_copy: Path, name: str) -> None:
    (model_copy / name).write_text("\n<!DOCTYPE html><html><title>404</title></html>")
    assert_broken(model_copy, FileTruncated, name, "web page")


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_file(model_copy: Path, name: str) -> None:
    (model_copy / name).write_bytes(b"")
    assert_broken(model_copy, FileTruncated, name, "an empty file")


@pytest.mark.parametrize("share", [0.001, 0.5, 0.999])
@pytest.mark.parametrize("name", NAMES[1:])
def test_a_truncated_file(model_copy: Path, name: str, share: float) -> None:
    content = (model_copy / name).read_bytes()
    (model_copy / name).write_bytes(content[: max(20, int(len(content) * share))])
    assert_broken(model_copy, FileTruncated, name)


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_file_of_another_format(model_copy: Path, name: str) -> None:
    (model_copy / name).write_bytes(b"\x7fELF" + bytes(4096))
    assert_broken(model_copy, FileTruncated, name, "another format")


def test_a_download_that_reserved_its_size_and_stopped(model_copy: Path) -> None:
    content = bytearray((model_copy / "flow.pt").read_bytes())
    middle = len(content) // 2
    content[middle : middle + len(content) // 3] = bytes(len(content) // 3)
    (model_copy / "flow.pt").write_bytes(content)
    assert_broken(model_copy, FileTruncated, "flow.pt", "never written")


def test_a_zip_archive_of_something_else(model_copy: Path) -> None:
    np.savez(model_copy / "flow.npz", a=np.ones(3))
    (model_copy / "flow.npz").rename(model_copy / "flow.pt")
    assert_broken(model_copy, FileTruncated, "flow.pt", "other content")


def test_a_dangling_link_and_a_directory_of_the_name(model_copy: Path) -> None:
    (model_copy / "llm.pt").unlink()
    (model_copy / "llm.pt").symlink_to("/no/such/blob")
    assert_broken(model_copy, FileMissing, "/no/such/blob")
    (model_copy / "llm.pt").unlink()
    (model_copy / "llm.pt").mkdir()
    assert_broken(model_copy, FileMissing, "a directory")


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    assert_broken(tmp_path / "absent", FileMissing, "no such directory")
    (tmp_path / "file").write_text("x")
    assert_broken(tmp_path / "file", FileMissing, "a file")


@pytest.mark.parametrize("later", ["cosyvoice2.yaml", "cosyvoice3.yaml"])
def test_a_directory_of_a_later_family(model_copy: Path, later: str) -> None:
    (model_copy / "cosyvoice.yaml").rename(model_copy / later)
    assert_broken(model_copy, WrongModelFamily, later)


def test_a_later_familys_description_under_the_usual_name(model_copy: Path) -> None:
    (model_copy / "cosyvoice.yaml").write_text("qwen_pretrain_path: ''\nllm: {}\nflow: {}\nhift: {}\n")
    assert_broken(model_copy, WrongModelFamily, "qwen_pretrain_path")


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_missing_and_an_unknown_tensor(model_copy: Path, name: str) -> None:
    def change(content: dict[str, object]) -> None:
        key = list(content)[5]
        content["surplus.weight"] = content.pop(key)

    change_tensors(model_copy / name, change)
    assert_broken(model_copy, KeyMismatch, name, "1 tensors missing", "1 unknown (surplus.weight)")


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_of_another_size(model_copy: Path, name: str) -> None:
    text = SIZES["tiny"].read_text(encoding="utf-8")
    for before, after in (
        ("num_mid_blocks: 2", "num_mid_blocks: 3"),
        ("base_channels: 32", "base_channels: 64"),
        ("linear_units: 128, num_blocks: 3", "linear_units: 64, num_blocks: 3"),
    ):
        if {"num_mid_blocks": "flow.pt", "base_channels": "hift.pt"}.get(before.split(":")[0], "llm.pt") == name:
            (model_copy / "cosyvoice.yaml").write_text(text.replace(before, after), encoding="utf-8")
    kind = KeyMismatch if name == "flow.pt" else ShapeMismatch
    assert_broken(model_copy, kind, name)


def test_a_pickle_that_would_run_code(model_copy: Path, tmp_path: Path) -> None:
    class Payload:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "witness",))

    torch.save({"a": Payload()}, model_copy / "hift.pt")
    assert_broken(model_copy, FileTruncated, "hift.pt", "neither tensors nor plain values")
    torch.save({"中文女": Payload()}, model_copy / "spk2info.pt")
    with pytest.raises(FileTruncated):
        open_model(model_copy)
    assert not (tmp_path / "witness").exists()


def test_a_list_or_a_text_among_the_tensors(model_copy: Path) -> None:
    torch.save([torch.ones(1)], model_copy / "hift.pt")
    assert_broken(model_copy, FileTruncated, "hift.pt", "a list")
    torch.save({"optimizer": "adam"}, model_copy / "hift.pt")
    assert_broken(model_copy, ShapeMismatch, "optimizer")


def test_leftovers_of_training_are_dropped_with_a_reason(model_copy: Path) -> None:
    change_tensors(model_copy / "llm.pt", lambda content: content.update(epoch=7, step=1234))
    change_tensors(
        model_copy / "hift.pt",
        lambda content: (
            {f"generator.{name}": tensor for name, tensor in content.items()}
            | {"discriminator.mpd.0.weight": torch.ones(2)}
        ),
    )
    load(model_copy)
    table = examine(model_copy).table()
    for word in ("epoch (counts training epochs)", "step (counts", "discriminator.mpd.0.weight (belongs"):
        assert word in table


def test_both_spellings_of_weight_norm_load_alike(recipe_model: Path, model_copy: Path) -> None:
    names = {"parametrizations.weight.original0": "weight_g", "parametrizations.weight.original1": "weight_v"}

    def respell(content: dict[str, object]) -> dict[str, object]:
        return {
            next((name.replace(new, old) for new, old in names.items() if name.endswith(new)), name): tensor
            for name, tensor in content.items()
        }

    change_tensors(model_copy / "hift.pt", respell)
    assert any(name.endswith("weight_g") for name in torch.load(model_copy / "hift.pt", weights_only=True))
    ours = load_networks(open_model(model_copy)).vocoder.state_dict()
    theirs = load_networks(open_model(recipe_model)).vocoder.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_the_older_torch_format_and_half_precision_load(model_copy: Path) -> None:
    content = torch.load(model_copy / "flow.pt", weights_only=True)
    torch.save(content, model_copy / "flow.pt", _use_new_zipfile_serialization=False)
    change_tensors(
        model_copy / "llm.pt",
        lambda tensors: {name: tensor.half() for name, tensor in tensors.items()},  # type: ignore[attr-defined]
    )
    networks = load_networks(open_model(model_copy))
    assert {tensor.dtype for tensor in networks.language_model.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("CosyVoice-300M", ModelKind.BASE),
        ("CosyVoice-300M-25Hz", ModelKind.BASE),
        ("CosyVoice-300M-SFT", ModelKind.SFT),
        ("cosyvoice-300m-instruct", ModelKind.INSTRUCT),
        ("models--FunAudioLLM--CosyVoice-300M-Instruct/snapshots/abc", ModelKind.INSTRUCT),
        ("anything", None),
    ],
)
def test_a_published_name_says_what_a_model_is(tmp_path: Path, name: str, kind: ModelKind | None) -> None:
    assert named_kind(tmp_path / name) == kind


def test_modes_of_an_sft_directory(recipe_model: Path) -> None:
    files = open_model(recipe_model)
    assert files.kind is ModelKind.SFT
    assert files.refusals().keys() == {SpeechMode.INSTRUCT}


def test_modes_of_an_instruct_directory(model_copy: Path) -> None:
    instruct = model_copy.rename(model_copy.with_name("CosyVoice-300M-Instruct"))
    files = open_model(instruct)
    assert files.kind is ModelKind.INSTRUCT
    assert files.refusals().keys() == {SpeechMode.CROSS_LINGUAL}
    (instruct / "cosyvoice-web.json").write_text(json.dumps({"kind": "sft"}))
    assert open_model(instruct).kind is ModelKind.SFT
    assert "no: only CosyVoice-300M-Instruct" in examine(instruct).table()


def test_modes_of_a_base_directory(model_copy: Path) -> None:
    torch.save({}, model_copy / "spk2info.pt")
    files = open_model(model_copy)
    assert files.kind is ModelKind.BASE
    assert files.refusals().keys() == {SpeechMode.SFT, SpeechMode.INSTRUCT}
    base = model_copy.rename(model_copy.with_name("CosyVoice-300M"))
    (base / "spk2info.pt").unlink()
    assert open_model(base).refusals().keys() == {SpeechMode.SFT, SpeechMode.INSTRUCT}


def test_modes_without_onnx_files(model_copy: Path) -> None:
    (model_copy / "campplus.onnx").unlink()
    refusals = open_model(model_copy).refusals()
    assert refusals.keys() == {
        SpeechMode.ZERO_SHOT,
        SpeechMode.CROSS_LINGUAL,
        SpeechMode.VOICE_CONVERSION,
        SpeechMode.INSTRUCT,
    }
    assert "campplus.onnx" in refusals[SpeechMode.ZERO_SHOT]
    table = examine(model_copy).table()
    assert "absent" in table
    torch.save({}, model_copy / "spk2info.pt")
    assert_broken(model_copy, FileMissing, "no voices and no way to read recordings")


def test_several_broken_files_all_stand_in_the_table(model_copy: Path) -> None:
    (model_copy / "llm.pt").unlink()
    (model_copy / "hift.pt").write_text(LFS_POINTER)
    states = {check.name: check.error is not None for check in examine(model_copy).checks}
    assert [name for name, is_broken in states.items() if is_broken] == ["llm.pt", "hift.pt"]
