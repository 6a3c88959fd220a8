import hashlib
from pathlib import Path

import numpy as np
import pytest

from cosyvoice_web.engines.kokoro.engine import LANGUAGES
from cosyvoice_web.engines.kokoro.voices import STYLE_DIRECTORY, STYLE_SHAPE, VOICES, load_styles
from cosyvoice_web.errors import FileMissing, FileTruncated


def test_the_table_and_the_files_and_the_notice_agree() -> None:
    ids = {voice.id for voice in VOICES}
    notice = (STYLE_DIRECTORY / "NOTICE").read_text(encoding="utf-8")
    found = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in STYLE_DIRECTORY.glob("*.bin")}
    assert found.keys() == ids
    assert len(ids) == len(VOICES)
    for name, digest in found.items():
        assert f"{digest}  {name}.bin" in notice


def test_one_default_for_each_language() -> None:
    defaults = [(voice.language, voice.id) for voice in VOICES if voice.default]
    assert sorted(defaults) == [("en", "af_heart"), ("ja", "jf_alpha"), ("zh", "zf_xiaoxiao")]
    assert {voice.language for voice in VOICES} == LANGUAGES
    assert {voice.gender for voice in VOICES} == {"female", "male"}


def test_styles_are_whole_different_and_read_only() -> None:
    styles = load_styles()
    assert all(style.shape == STYLE_SHAPE and np.isfinite(style).all() for style in styles.values())
    assert len({style.tobytes() for style in styles.values()}) == len(VOICES)
    with pytest.raises(ValueError, match="read-only"):
        styles["zf_xiaoxiao"][0] = 0


def test_a_missing_or_short_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileMissing, match="zf_xiaoxiao"):
        load_styles(tmp_path)
    (tmp_path / "zf_xiaoxiao.bin").write_bytes(b"version https://git-lfs.github.com/spec/v1")
    with pytest.raises(FileTruncated, match="42 bytes"):
        load_styles(tmp_path)
