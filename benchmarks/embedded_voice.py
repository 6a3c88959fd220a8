"""Start-up, speed and memory of the embedded voice, over HTTP from a fresh server: `make bench`."""

import importlib.metadata
import os
import platform
import sys
from pathlib import Path
from statistics import median

from benchmarks.golden import TEN_SECONDS
from benchmarks.running_server import running_server

STARTS, REPEATS = 5, 5
FIRST_REQUEST = "你好，欢迎使用。"


def machine() -> str:
    """Processor, cores, Python and the packages that do the work."""
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        "",
    )
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("onnxruntime", "numpy", "gunicorn"))
    return f"{model}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}, {versions}"


def main() -> int:
    """Measure and print; every figure is a median unless it says peak."""
    healthy, ready, first, peak = [], [], [], []
    factors: dict[str, list[float]] = {language: [] for language in TEN_SECONDS}
    waits: dict[str, list[float]] = {language: [] for language in TEN_SECONDS}
    lengths: dict[str, float] = {}
    for start in range(STARTS):
        with running_server() as server:
            healthy.append(server.seconds_to_healthy)
            ready.append(server.seconds_to_ready)
            first.append(server.call("/tts", {"text": FIRST_REQUEST}).seconds)
            for language, text in TEN_SECONDS.items():
                for _ in range(REPEATS if start == 0 else 1):
                    answer = server.call("/tts", {"text": text})
                    lengths[language] = float(answer.headers["x-audio-seconds"])
                    factors[language].append(answer.seconds / lengths[language])
                    waits[language].append(server.first_audio_seconds(text))
            peak.append(server.worker_memory_mb()["peak"])
    print(f"Machine: {machine()}\n\n| what | figure |\n| --- | --- |")
    print(f"| process start to /healthz 200 | {median(healthy):.2f} s |")
    print(f"| process start to /readyz 200, prewarmed in three languages | {median(ready):.2f} s |")
    print(f"| first request after that (one short sentence) | {median(first):.2f} s |")
    for language, values in factors.items():
        print(f"| real-time factor, {language}, {lengths[language]:.1f} s of audio | {median(values):.3f} |")
    for language, values in waits.items():
        print(f"| first audio of a stream of that text, {language} | {median(values):.2f} s |")
    print(f"| peak resident memory of the worker, three languages used | {median(peak):.0f} MB |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
