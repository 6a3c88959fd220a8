"""Settings: every variable is checked, none is ignored."""

import os
from pathlib import Path

import pytest

from cosyvoice_web import settings as room
from cosyvoice_web.errors import ConfigurationError
from cosyvoice_web.settings import KNOBS, load_settings, usable_cpu_count


def test_without_variables_the_embedded_engine_gets_the_defaults() -> None:
    found = load_settings({"PATH": "/bin", "PORT": "80"})
    assert found.engine == "kokoro"
    assert found.model_dir is None
    assert found.num_threads == usable_cpu_count()
    assert (found.rate_limit_default, found.rate_limit_tts) == ("20 per minute", "5 per minute")
    assert (found.trusted_proxy_hops, found.log_text) == (0, False)


def test_a_model_directory_chooses_the_engine(tmp_path: Path) -> None:
    assert load_settings({"COSYVOICE_MODEL_DIR": str(tmp_path)}).engine == "cosyvoice"
    assert load_settings({"COSYVOICE_MODEL_DIR": str(tmp_path), "COSYVOICE_ENGINE": "kokoro"}).engine == "kokoro"


def test_the_engine_cosyvoice_needs_a_model_directory() -> None:
    with pytest.raises(ConfigurationError, match="needs COSYVOICE_MODEL_DIR"):
        load_settings({"COSYVOICE_ENGINE": "cosyvoice"})


@pytest.mark.parametrize(
    ("name", "near"),
    [("COSYVOICE_NUM_THREAD", "COSYVOICE_NUM_THREADS"), ("COSYVOICE_RATE_LIMIT_TSS", "COSYVOICE_RATE_LIMIT_TTS")],
)
def test_an_unknown_name_is_refused_with_the_nearest_known_one(name: str, near: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} is not a setting.*Did you mean {near}"):
        load_settings({name: "1"})


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("ENGINE", "piper", "kokoro or cosyvoice"),
        ("NUM_THREADS", "-1", "0 to 256"),
        ("NUM_THREADS", "two", "0 to 256"),
        ("MAX_TEXT_CHARS", "0", "from 1"),
        ("MAX_WAITING", "1.5", "whole number"),
        ("REQUEST_TIMEOUT_SECONDS", "nan", "a number from"),
        ("REQUEST_TIMEOUT_SECONDS", "0", "a number from"),
        ("RATE_LIMIT_TTS", "often", "5 per minute"),
        ("TRUSTED_PROXY_HOPS", "11", "0 to 10"),
        ("LOG_TEXT", "perhaps", "true, false"),
    ],
)
def test_a_value_out_of_bounds_is_refused_with_what_is_allowed(name: str, value: str, allowed: str) -> None:
    with pytest.raises(ConfigurationError, match=f"COSYVOICE_{name}='{value}'.*{allowed}"):
        load_settings({f"COSYVOICE_{name}": value})


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_an_empty_variable_means_the_default(knob: room.Knob) -> None:
    assert load_settings({knob.variable: "  "}) == load_settings({})


@pytest.mark.parametrize(
    ("quota", "count"), [("max 100000", 64), ("150000 100000", 2), ("50000 100000", 1), ("400000 100000", 4)]
)
def test_threads_follow_the_cpu_quota_of_the_container(monkeypatch: pytest.MonkeyPatch, quota: str, count: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    monkeypatch.setattr(Path, "read_text", lambda path: quota if path.name == "cpu.max" else "")
    assert usable_cpu_count() == count


def test_threads_follow_the_quota_of_the_first_cgroup_version(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"cpu.cfs_quota_us": "300000\n", "cpu.cfs_period_us": "100000\n"}

    def read(path: Path) -> str:
        if path.name not in files:
            raise FileNotFoundError(path)
        return files[path.name]

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    monkeypatch.setattr(Path, "read_text", read)
    assert usable_cpu_count() == 3
    files.clear()
    assert usable_cpu_count() == 64
