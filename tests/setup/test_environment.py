"""The environment that `make setup` creates: CPU only, complete, and the same versions everywhere."""

import importlib.metadata as metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CUDA = re.compile(r"^(nvidia-.*|tensorrt.*|triton|pytorch-triton.*|onnxruntime-gpu|cupy.*|deepspeed)$")


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(file: str) -> dict[str, str]:
    found = {}
    for line in (ROOT / file).read_text().splitlines():
        requirement = line.split("#")[0].split(" --hash")[0].strip()
        if requirement:
            name, separator, version = requirement.partition("==")
            assert separator, f"{file}: {requirement} is not pinned"
            found[canonical(name)] = version
    return found


INSTALLED = {canonical(d.metadata["Name"]): d.version for d in metadata.distributions()}


def test_field_report_A21_only_cpu_packages_are_installed() -> None:
    assert [name for name in INSTALLED if CUDA.match(name)] == []


@pytest.mark.parametrize("name", ["nvidia-cublas-cu12", "tensorrt-cu12", "triton", "onnxruntime-gpu"])
def test_the_pattern_knows_the_packages_that_must_not_come(name: str) -> None:
    assert CUDA.match(name)


def test_torch_is_the_cpu_build() -> None:
    import torch

    assert torch.version.cuda is None
    assert torch.__version__.split("+")[0] == pins("requirements-cpu.txt")["torch"]


def test_torchaudio_works_beside_a_cpu_torch_without_its_cuda_libraries() -> None:
    code = (
        "import torch, torchaudio, pathlib;"
        "assert not list((pathlib.Path(torchaudio.__file__).parent / 'lib').glob('*.so'));"
        "t = torch.arange(44100) / 44100;"
        "x = torchaudio.functional.resample(torch.sin(2 * torch.pi * 440 * t), 44100, 16000);"
        "assert x.shape == (16000,) and abs(float(x.abs().max()) - 1) < 0.05;"
        "f = torchaudio.compliance.kaldi.fbank(x[None], num_mel_bins=80, sample_frequency=16000);"
        "assert f.shape == (98, 80)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_everything_installed_is_pinned_and_everything_pinned_is_installed() -> None:
    runtime, development = pins("requirements-cpu.txt"), pins("requirements-dev.txt")
    assert not runtime.keys() & development.keys()
    expected = runtime | development
    assert expected.keys() - INSTALLED.keys() == set()
    assert INSTALLED.keys() - expected.keys() - {"pip", "setuptools"} == set()
    assert {n: v.split("+")[0] for n, v in INSTALLED.items() if n in expected} == expected


def test_the_hashed_packages_are_the_pinned_ones() -> None:
    hashed, runtime = pins("requirements-voice.txt"), pins("requirements-cpu.txt")
    assert hashed
    assert hashed.items() <= runtime.items()


def test_make_lists_every_command_that_the_guide_names() -> None:
    listing = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for command in ("setup", "run", "test", "test-all", "check", "evaluate", "bench"):
        assert f"make {command} " in listing


def test_ci_runs_what_a_person_would() -> None:
    assert "make check" in (ROOT / ".ci" / "run").read_text()
