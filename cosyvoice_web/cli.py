"""The command line: `python -m cosyvoice_web COMMAND`. Engines are imported only by the command that needs them."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from cosyvoice_web.errors import ConfigurationError, CosyVoiceWebError
from cosyvoice_web.settings import PRECISIONS, load_settings
from cosyvoice_web.speech import VoicePrompt

RECOGNISER = Path(__file__).parent.parent / "benchmarks" / "recogniser.py"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0 done, 1 refused or failed, 2 wrong usage."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
    except CosyVoiceWebError as error:
        _say(f"Error: {error}", sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cosyvoice_web", description="CosyVoice-300M speech on a CPU.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    command = commands.add_parser("download", help="fetch a published model")
    command.add_argument("model", help="CosyVoice-300M-SFT, CosyVoice-300M, CosyVoice-300M-Instruct or OWNER/NAME")
    command.add_argument("directory", type=Path)
    command.add_argument("--mirror", metavar="URL", help="hub to fetch from (default: COSYVOICE_HUB_URL)")
    command.set_defaults(run=_download)

    command = commands.add_parser("doctor", help="check a model directory, file by file")
    command.add_argument("directory", type=Path, metavar="MODEL_DIR")
    command.set_defaults(run=_doctor)

    command = commands.add_parser(
        "make-checkpoint", help="write a model directory with recipe weights (it speaks noise)"
    )
    dimensions = command.add_mutually_exclusive_group(required=True)
    dimensions.add_argument("--size", choices=("tiny", "full"))
    dimensions.add_argument("--config", type=Path, metavar="FILE.yaml")
    command.add_argument("--kind", choices=("base", "sft", "instruct"), help="default: what DIR's name says, else sft")
    command.add_argument("directory", type=Path, metavar="DIR")
    command.set_defaults(run=_make_checkpoint)

    command = commands.add_parser("parity", help="compare a recipe model with golden values of the reference")
    command.add_argument("directory", type=Path, metavar="DIR")
    command.add_argument("golden", type=Path, metavar="GOLDEN.npz")
    command.add_argument("--precision", choices=PRECISIONS, default="float32")
    command.set_defaults(run=_parity)

    command = commands.add_parser("convert", help="write a small, quick copy of a model, for int8 only")
    command.add_argument("directory", type=Path, metavar="MODEL_DIR")
    command.add_argument("out", type=Path, metavar="OUT")
    command.set_defaults(run=_convert)

    command = commands.add_parser("bench", help="measure how fast a model speaks on this machine")
    command.add_argument("directory", type=Path, metavar="MODEL_DIR")
    command.add_argument("--tokens", type=_count, default=250, help="speech tokens of a sentence (default: 250, 5 s)")
    command.add_argument("--sentences", type=_count, default=1, help="sentences of the text (default: 1)")
    command.add_argument("--precision", choices=PRECISIONS, default=PRECISIONS[0])
    command.add_argument("--threads", type=_count, default=2, help="threads of one synthesis (default: 2)")
    command.add_argument("--flow-steps", type=_count, default=10, help="Euler steps of the flow (default: 10)")
    command.add_argument("--repeats", type=_count, default=5, help="runs that each median is of (default: 5)")
    command.add_argument("--details", action="store_true", help="also batches, a busy neighbour, fewer flow steps")
    command.add_argument("--json", action="store_true", help="one line of JSON instead of a table")
    command.set_defaults(run=_bench)

    command = commands.add_parser("verify", help="speak with a model in every way and check what comes out")
    command.add_argument("directory", type=Path, metavar="MODEL_DIR")
    command.add_argument("--recording", type=Path, metavar="FILE", help="speech to imitate (default: the model's own)")
    command.add_argument("--recording-text", metavar="TEXT", help="what is said in it, word for word")
    command.add_argument("--recogniser", metavar="PYTHON", help="Python of .venv-evaluate, to read speech back")
    command.add_argument("--keep", type=Path, metavar="DIR", help="leave what was spoken here, to be listened to")
    command.set_defaults(run=_verify)
    return parser


def _download(options: argparse.Namespace) -> int:
    from cosyvoice_web.engines.cosyvoice.download import download_model

    hub_url = options.mirror or load_settings(os.environ).hub_url or None
    names = download_model(options.model, options.directory, hub_url)
    _say(f"{options.directory} holds {', '.join(names)}. Start with COSYVOICE_MODEL_DIR={options.directory} make run")
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from cosyvoice_web.engines.cosyvoice.doctor import examine

    examination = examine(options.directory)
    _say(examination.table())
    return 0 if examination.healthy else 1


def _make_checkpoint(options: argparse.Namespace) -> int:
    from cosyvoice_web.engines.cosyvoice.make_checkpoint import SIZES, make_checkpoint
    from cosyvoice_web.engines.cosyvoice.weights.files import ModelKind

    kind = ModelKind(options.kind) if options.kind else None
    make_checkpoint(options.config or SIZES[options.size], options.directory, kind)
    _say(f"{options.directory} holds a model with recipe weights: it speaks noise.")
    return 0


def _parity(options: argparse.Namespace) -> int:
    from cosyvoice_web.engines.cosyvoice.parity import compare
    from cosyvoice_web.engines.cosyvoice.quantization import Precision

    comparison = compare(options.directory, options.golden, Precision(options.precision))
    _say(comparison.table())
    return 0 if comparison.passed else 1


def _convert(options: argparse.Namespace) -> int:
    from cosyvoice_web.engines.cosyvoice.convert import convert

    done = convert(options.directory, options.out, _say)
    was = "has been converted before" if done.was_there else "converted"
    _say(f"{done.directory}: {was}, {done.byte_count / 1e6:.0f} MB. Set COSYVOICE_MODEL_DIR to it.")
    return 0


def _bench(options: argparse.Namespace) -> int:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the server does; read once, when torch is imported
    from cosyvoice_web.engines.cosyvoice.bench import bench, report
    from cosyvoice_web.engines.cosyvoice.quantization import Precision

    figures = bench(
        options.directory,
        tokens=options.tokens,
        sentences=options.sentences,
        precision=Precision(options.precision),
        num_threads=options.threads,
        flow_steps=options.flow_steps,
        repeats=options.repeats,
        details=options.details,
    )
    _say(json.dumps(figures) if options.json else report(figures))
    return 0


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{count} is too few: give 1 or more")
    return count


def _verify(options: argparse.Namespace) -> int:
    from cosyvoice_web.engines.cosyvoice.checks import Outcome
    from cosyvoice_web.engines.cosyvoice.verify import verify

    recording = None
    if options.recording is not None:
        try:
            recording = VoicePrompt(options.recording.read_bytes(), options.recording_text)
        except OSError as error:
            raise ConfigurationError(f"--recording {options.recording} cannot be read: {error.strerror}.") from error
    recogniser = (options.recogniser, str(RECOGNISER)) if options.recogniser else ()
    threads = load_settings(os.environ).num_threads
    counts = dict.fromkeys(Outcome, 0)
    for check in verify(options.directory, threads, recording=recording, recogniser=recogniser, keep=options.keep):
        counts[check.outcome] += 1
        _say(check.line())
    _say(f"{counts[Outcome.PASSED]} passed, {counts[Outcome.FAILED]} failed, {counts[Outcome.SKIPPED]} skipped")
    return 1 if counts[Outcome.FAILED] else 0


def _say(text: str, stream: TextIO | None = None) -> None:
    print(text, file=stream or sys.stdout, flush=True)
