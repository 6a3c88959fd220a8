"""Speaks the golden sentences over HTTP and has a recogniser read them back; exits 1 when a limit is passed."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.golden import GOLDEN, LIMIT, VOICES
from benchmarks.running_server import ROOT, running_server


def speak_all(folder: Path) -> list[dict[str, Any]]:
    """Every golden sentence in every voice of its language, as WAV files in `folder`."""
    items: list[dict[str, Any]] = []
    with running_server() as server:
        for language, texts in GOLDEN.items():
            for voice in VOICES[language]:
                for number, text in enumerate(texts, 1):
                    answer = server.call("/tts", {"text": text, "speaker": voice})
                    if answer.status != 200:
                        raise SystemExit(f"/tts answered {answer.status} for {text}: {answer.body.decode()}")
                    path = folder / f"{voice}-{language}-{number}.wav"
                    path.write_bytes(answer.body)
                    items.append({"language": language, "voice": voice, "path": str(path), "text": text})
    return items


def main() -> int:
    """Print one row a language and voice, the worst sentences, and whether each limit holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recogniser", required=True, help="python of the environment with requirements-evaluate.txt")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        items = speak_all(Path(folder))
        command = [arguments.recogniser, str(ROOT / "benchmarks" / "recogniser.py")]
        heard = subprocess.run(command, input=json.dumps(items), capture_output=True, text=True, check=True)
    items = json.loads(heard.stdout)
    failed = False
    print("| material | voice | error rate | limit |\n| --- | --- | --- | --- |")
    for language, voices in VOICES.items():
        for voice in (*voices, "all"):
            rows = [i for i in items if i["language"] == language and voice in ("all", i["voice"])]
            rate = sum(i["errors"] for i in rows) / sum(i["length"] for i in rows)
            print(f"| {language} | {voice} | {rate:.3f} | {LIMIT[language] if voice == 'all' else ''} |")
            failed |= voice == "all" and rate > LIMIT[language]
    print("\nWorst sentences (expected / heard):")
    for item in sorted(items, key=lambda i: -i["errors"] / i["length"])[:8]:
        print(f"  {item['errors']}/{item['length']} {item['voice']}: {item['text']} / {item['heard']}")
    print("FAILED: a limit is passed" if failed else "All limits hold.")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
