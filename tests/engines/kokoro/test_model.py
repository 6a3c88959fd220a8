import numpy as np
import pytest

from cosyvoice_web.engines.kokoro import model as module
from cosyvoice_web.engines.kokoro.model import MAX_PHONEMES, KokoroModel
from cosyvoice_web.errors import FileMissing, FileTruncated
from tests.engines.kokoro.conftest import Speaker

STYLE = np.zeros((1, 256), np.float32)


def test_the_blob_that_it_was_loaded_from_is_gone(speaker: Speaker) -> None:
    session = speaker.engine._model._session
    assert vars(session)["_model_bytes"] is None
    assert not vars(session)["_enable_fallback"]


def test_the_session_neither_spins_nor_remembers_lengths(speaker: Speaker) -> None:
    options = speaker.engine._model._session.get_session_options()
    assert not options.enable_mem_pattern
    assert options.enable_cpu_mem_arena
    assert options.intra_op_num_threads == 1
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"


@pytest.mark.parametrize("count", [0, MAX_PHONEMES + 1])
def test_it_is_never_called_with_nothing_or_too_much(speaker: Speaker, count: int) -> None:
    with pytest.raises(ValueError, match=f"{count} phonemes"):
        speaker.engine._model.synthesize("a" * count, STYLE, 1.0)


def test_a_damaged_or_missing_part_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = module._PARTS
    monkeypatch.setattr(module, "_PARTS", parts[:1])
    with pytest.raises(FileTruncated, match="sha256"):
        KokoroModel.load(1)
    monkeypatch.setattr(module, "_PARTS", ("no_such_package",))
    with pytest.raises(FileMissing, match="requirements-voice"):
        KokoroModel.load(1)
