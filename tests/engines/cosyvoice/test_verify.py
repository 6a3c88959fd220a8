import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import soundfile
import torch

from cosyvoice_web.cli import main
from cosyvoice_web.engines.cosyvoice import prepared_voice
from cosyvoice_web.engines.cosyvoice.checks import Check, Outcome
from cosyvoice_web.engines.cosyvoice.engine import CosyVoiceEngine
from cosyvoice_web.engines.cosyvoice.language_model.decoding import Decoding, DecodingEnd
from cosyvoice_web.engines.cosyvoice.language_model.speech_lm import SpeechLM
from cosyvoice_web.engines.cosyvoice.rendering import SentenceRenderer
from cosyvoice_web.engines.cosyvoice.verify import verify
from cosyvoice_web.engines.cosyvoice.weights.files import MARKER
from cosyvoice_web.speech import VoicePrompt
from tests.engines.cosyvoice.recordings import speech_file, syllables

VOICES = ["中文女", "中文男", "日语男", "粤语女", "英文女", "英文男", "韩语女"]
RATE_HZ = 22_050


def by_outcome(checks: list[Check], outcome: Outcome) -> list[str]:
    return [check.name for check in checks if check.outcome is outcome]


def mark(directory: Path, content: dict[str, object]) -> None:
    (directory / MARKER).write_text(json.dumps(content))


def test_noise_passes_what_is_mechanical_and_fails_what_only_trained_weights_can(
    recipe_model: Path, tmp_path: Path
) -> None:
    checks = list(verify(recipe_model, 1, keep=tmp_path / "kept"))
    spoken = [*VOICES, "zero_shot", "cross_lingual"]
    assert by_outcome(checks, Outcome.SKIPPED) == ["instruct", "read back"]
    assert by_outcome(checks, Outcome.PASSED) == [
        "files",
        *(f"{voice} length" for voice in VOICES),
        "seed repeats",
        "another seed differs",
        "stream length",
        "stream seams",
        "zero_shot length",
        "cross_lingual length",
        "voice_conversion length",
    ]
    assert sorted(by_outcome(checks, Outcome.FAILED)) == sorted(
        [
            "trained weights",
            *(f"{name} ends" for name in spoken),
            *(f"{name} sounds like speech" for name in [*spoken, "voice_conversion"]),
            "zero_shot is the recording's voice",
            "cross_lingual is the recording's voice",
        ]
    )
    kept = {path.stem: soundfile.info(path).duration for path in (tmp_path / "kept").iterdir()}
    assert set(kept) == {*spoken, "voice_conversion"}
    assert min(kept.values()) > 1


def test_random_weights_that_pass_for_trained_do_not_end_what_they_say(model_copy: Path) -> None:
    mark(model_copy, {})
    checks = list(verify(model_copy, 1))
    assert "trained weights" in by_outcome(checks, Outcome.PASSED)
    endless = [check for check in checks if check.name.endswith(" ends") and check.outcome is Outcome.FAILED]
    assert endless  # the others end by chance, and which do depends on the processor
    assert all("did not end a sentence within" in check.found for check in endless)
    assert not any(name.endswith("like speech") for name in by_outcome(checks, Outcome.PASSED))


@pytest.fixture
def as_if_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    """A language model that ends, and sound like speech: what the checks are to let through."""

    def decode(model: SpeechLM, decoding: Decoding) -> Iterator[int]:
        offset = int(torch.randint(400, (1,), generator=decoding.generator))
        yield from (offset + token % 100 for token in range(170))
        decoding.end = DecodingEnd.END_OF_SPEECH

    def push(renderer: SentenceRenderer, tokens: list[int], *, is_last: bool) -> torch.Tensor:
        level = 0.3 + tokens[0] / 10_000
        new = len(tokens) if is_last else len(tokens) - 20
        return torch.from_numpy(syllables(new / 50, level=level))

    monkeypatch.setattr(prepared_voice, "decode", decode)
    monkeypatch.setattr(SentenceRenderer, "push", push)
    voices = iter(torch.eye(16).repeat(10, 1).unsqueeze(1))
    monkeypatch.setattr(CosyVoiceEngine, "speaker_of", lambda self, recording: next(voices))


@pytest.mark.usefixtures("as_if_trained")
def test_what_sounds_like_speech_passes(model_copy: Path) -> None:
    mark(model_copy, {"kind": "instruct"})
    checks = list(verify(model_copy, 1, recording=VoicePrompt(speech_file(2.0), "你好")))
    failed = {check.name: check.found for check in checks if check.outcome is Outcome.FAILED}
    assert list(failed) == ["zero_shot is the recording's voice"]
    assert failed["zero_shot is the recording's voice"].startswith("likeness 0.00")
    assert {"instruct ends", "instruct sounds like speech", "stream seams"} <= set(by_outcome(checks, Outcome.PASSED))
    assert by_outcome(checks, Outcome.SKIPPED) == ["cross_lingual", "read back"]


def test_a_model_without_voices_needs_a_recording(model_copy: Path) -> None:
    torch.save({}, model_copy / "spk2info.pt")
    skipped = by_outcome(list(verify(model_copy, 1)), Outcome.SKIPPED)
    assert skipped == ["sft", "instruct", "speech", "read back"]
    checks = list(verify(model_copy, 1, recording=VoicePrompt(speech_file(2.0))))
    assert by_outcome(checks, Outcome.SKIPPED) == ["sft", "instruct", "zero_shot", "read back"]
    assert {"seed repeats", "cross_lingual length", "voice_conversion length"} <= set(
        by_outcome(checks, Outcome.PASSED)
    )


def test_a_broken_directory_is_one_failed_check(model_copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (model_copy / "flow.pt").write_bytes(b"cut")
    assert main(["verify", str(model_copy)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("FAIL  files: flow.pt")
    assert lines[1:] == ["0 passed, 1 failed, 0 skipped"]


RECOGNISER = """
import json, pathlib, sys
items = json.load(sys.stdin)
for item in items:
    assert pathlib.Path(item["path"]).read_bytes()[:4] == b"RIFF"
    length = len(item["text"])
    item |= {"heard": "x", "errors": length // 2 if item["language"] == "ja" else 1, "length": length}
json.dump(items, sys.stdout)
"""


@pytest.mark.usefixtures("as_if_trained")
def test_a_recogniser_judges_each_language_that_it_knows(model_copy: Path) -> None:
    checks = list(verify(model_copy, 1, recogniser=(sys.executable, "-c", RECOGNISER)))
    judged = {check.name: check.outcome for check in checks if check.name.startswith("read back")}
    passed, failed = Outcome.PASSED, Outcome.FAILED
    assert judged == {"read back en": passed, "read back ja": failed, "read back zh": passed}


@pytest.mark.usefixtures("as_if_trained")
@pytest.mark.parametrize(
    "command", [("/no/such/python", "x"), (sys.executable, "-c", "1 / 0"), (sys.executable, "-c", "")]
)
def test_a_recogniser_that_fails_is_a_failed_check(recipe_model: Path, command: tuple[str, ...]) -> None:
    *_, last = verify(recipe_model, 1, recogniser=command)
    assert (last.name, last.outcome) == ("read back", Outcome.FAILED)


@pytest.mark.usefixtures("as_if_trained")
def test_the_command_exits_with_0_only_when_nothing_fails(
    model_copy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COSYVOICE_NUM_THREADS", "1")
    (model_copy / "campplus.onnx").unlink()
    mark(model_copy, {})
    assert main(["verify", str(model_copy)]) == 0
    *checks, total = capsys.readouterr().out.splitlines()
    assert len(checks) == 32
    assert total == "27 passed, 0 failed, 5 skipped"
    mark(model_copy, {"forced_tokens_per_text_token": 10})
    assert main(["verify", str(model_copy)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "19 passed, 8 failed, 5 skipped"


def test_a_recording_that_is_not_there_is_named(recipe_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(recipe_model), "--recording", "/no/such.wav"]) == 1
    assert "/no/such.wav" in capsys.readouterr().err
