from pathlib import Path

import pytest

from cosyvoice_web.engines.cosyvoice.yaml_data import MAX_BYTES, Tagged, load_yaml_data, resolve
from cosyvoice_web.errors import FileMissing, FileTruncated


def load(tmp_path: Path, text: str) -> dict[str, object]:
    path = tmp_path / "cosyvoice.yaml"
    path.write_text(text, encoding="utf-8")
    return load_yaml_data(path)


def test_nothing_that_tags_name_is_run(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    data = load(
        tmp_path,
        f"""
seed: !apply:os.mkdir ["{witness}"]
new: !new:subprocess.Popen {{args: [mkdir, "{witness}"]}}
name: !name:os.system
python: !!python/object/apply:os.mkdir ["{witness}"]
other: !anything [1]
""",
    )
    assert not witness.exists()
    assert data["seed"] == Tagged("apply:os.mkdir", [str(witness)])
    assert data["other"] == Tagged("anything", [1])
    node = data["new"]
    assert isinstance(node, Tagged)
    assert node.class_name == "Popen"


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("<size>", 8),
        ("<again>", 8),
        ("<section.width>", 3),
        ("<section[width]>", 3),
        ("<rows[1]>", 20),
        ("<size> * 4", 32),
        ("<size> // 3 + <section.width> - -1", 6),
    ],
)
def test_references_are_followed(tmp_path: Path, reference: str, expected: int) -> None:
    text = f"size: 8\nagain: !ref <size>\nsection: !new:a.B {{width: 3}}\nrows: [10, 20]\nx: !ref '{reference}'\n"
    data = load(tmp_path, text)
    assert resolve(data["x"], data) == expected


@pytest.mark.parametrize(
    "reference", ["<absent>", "<x>", "<word> * 2", "<size>.__class__", "open('f')", "<size> / 0", "2 ** 9999999"]
)
def test_a_reference_that_cannot_be_followed_stays_as_it_is(tmp_path: Path, reference: str) -> None:
    data = load(tmp_path, f'size: 8\nword: abc\nx: !ref "{reference}"\n')
    assert resolve(data["x"], data) == Tagged("ref", reference)


@pytest.mark.parametrize("text", ["a: [1", "- 1\n- 2", "just text", "", "1: 2", "? [a]\n: b", "a: !<tag:x,1:y> {b: }}"])
def test_what_is_no_mapping_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileTruncated) as caught:
        load(tmp_path, text)
    assert caught.value.path.endswith("cosyvoice.yaml")
    assert "YAML" in caught.value.found


def test_a_binary_or_huge_or_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cosyvoice.yaml"
    with pytest.raises(FileMissing):
        load_yaml_data(path)
    path.write_bytes(b"PK\x03\x04\xff\xfe")
    with pytest.raises(FileTruncated):
        load_yaml_data(path)
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(FileTruncated, match=str(MAX_BYTES)):
        load_yaml_data(path)
