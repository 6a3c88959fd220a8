"""How fast a model directory speaks on this machine, stage by stage and as a whole.

Every figure is a median, and all of them come from one run, next to the speed of plain matrix products in the same
process: machines differ, and the products say by how much.
"""

import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import torch

from cosyvoice_web.engines.cosyvoice.engine import CosyVoiceEngine
from cosyvoice_web.engines.cosyvoice.language_model.decoding import Decoding, DecodingBatch, TokenLimits
from cosyvoice_web.engines.cosyvoice.language_model.together import decode_together
from cosyvoice_web.engines.cosyvoice.layers.linears import Int8Linear, Kernels
from cosyvoice_web.engines.cosyvoice.mel_decoder.flow import FlowVoice
from cosyvoice_web.engines.cosyvoice.mel_decoder.ode_solver import DEFAULT_STEP_COUNT
from cosyvoice_web.engines.cosyvoice.quantization import Precision
from cosyvoice_web.engines.cosyvoice.vocoder.stream import VocoderStream
from cosyvoice_web.speech import Manner
from cosyvoice_web.text.sentences import Run, Sentence

TEXT = "今天天气很好，我们一起去公园散步吧。"
PREFIX_POSITIONS = 30
STEPS_TIMED = 20
CONTEXTS = (100, 300, 500)
BATCHES = (1, 2, 4, 8)
STEP_DISTANCES = (4, 5, 6, 8)
MATRIX = 1024


def bench(
    model_dir: Path,
    *,
    tokens: int,
    sentences: int,
    precision: Precision,
    num_threads: int,
    repeats: int,
    flow_steps: int,
    details: bool = False,
) -> dict[str, Any]:
    """Measure a model; nothing else should run meanwhile.

    Args:
        model_dir: a model directory, recipe weights included.
        tokens: speech tokens of a sentence, whatever the model says.
        sentences: sentences of the text that is spoken as a whole.
        precision: numbers that the networks compute in.
        num_threads: threads of one synthesis.
        repeats: runs that each median is of.
        flow_steps: Euler steps of the flow.
        details: measure batches, contexts, a busy neighbour and fewer flow steps as well, which takes minutes.

    Raises:
        CheckpointError: the model cannot be loaded.
    """
    started_at = time.perf_counter()
    with closing(CosyVoiceEngine.load(model_dir, num_threads, precision, flow_steps, exact_tokens=tokens)) as engine:
        load_seconds = time.perf_counter() - started_at
        text = [
            Sentence(TEXT, start, start + len(TEXT), "zh", (Run(TEXT, "zh"),))
            for start in range(0, sentences * len(TEXT), len(TEXT))
        ]
        audio_seconds = _speak(engine, text)  # which warms everything up, too
        seconds = statistics.median(_seconds(lambda: _speak(engine, text)) for _ in range(repeats))
        figures = {
            "machine": _processor(),
            "torch": torch.__version__,
            "precision": precision.value,
            "threads": num_threads,
            "tokens": tokens,
            "sentences": sentences,
            "flow_steps": flow_steps,
            "load_seconds": load_seconds,
            "audio_seconds": audio_seconds,
            "seconds": seconds,
            "real_time_factor": seconds / audio_seconds,
            "first_audio_seconds": _median(repeats, lambda: _first_audio(engine, text[0])),
            "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,  # of speaking only
            "stage_seconds": _stages(engine, tokens, flow_steps, repeats),
            "matrix_products_gflops": _matrix_products(repeats),
        }
        if details:
            figures["busy_neighbour_ratio"] = _beside_a_busy_core(engine, text[:1], repeats)
            figures["decode_step"] = _decode_steps(engine)
            figures["flow_distance"] = _flow_distances(engine, tokens)
        return figures


def report(figures: dict[str, Any]) -> str:
    """The figures of `bench` for people, a line each."""
    lines = []
    for name, value in figures.items():
        parts = value.items() if isinstance(value, dict) else [("", value)]
        for part, figure in parts:
            shown = f"{figure:.4g}" if isinstance(figure, float) else str(figure)
            lines.append(f"{' '.join((name, part)).strip():<44} {shown}")
    return "\n".join(lines)


def _speak(engine: CosyVoiceEngine, text: list[Sentence]) -> float:
    """Speak the text as a request without a stream is spoken; answers the seconds of audio."""
    voice = engine.prepare(Manner(engine.voices[0]))
    voice.announce(text, seed=1)
    chunks = (chunk for sentence in text for chunk in voice.speak(sentence, speed=1.0, seed=1))
    return sum(chunk.seconds for chunk in chunks)


def _first_audio(engine: CosyVoiceEngine, sentence: Sentence) -> None:
    voice = engine.prepare(Manner(engine.voices[0]))
    for chunk in voice.speak(sentence, speed=1.0, seed=1, stream=True):
        if len(chunk.samples) > 0:
            return


def _beside_a_busy_core(engine: CosyVoiceEngine, text: list[Sentence], repeats: int) -> float:
    """Time of a sentence beside a process that keeps one core busy, over the time without, pair by pair."""
    ratios = []
    for _ in range(repeats):
        alone = _seconds(lambda: _speak(engine, text))
        with _busy_core():
            ratios.append(_seconds(lambda: _speak(engine, text)) / alone)
    return statistics.median(ratios)


@contextmanager
def _busy_core() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


@torch.inference_mode()
def _stages(engine: CosyVoiceEngine, tokens: int, flow_steps: int, repeats: int) -> dict[str, float]:
    """Seconds of each stage for one sentence, one after the other."""
    networks, executor = engine.networks, engine.workers.second

    def language_model() -> None:
        batch = DecodingBatch(networks.language_model)
        batch.join([_decoding(engine, tokens)])
        while batch.running:
            batch.step()

    mel = _mel(engine, tokens, flow_steps)
    noise = torch.Generator().manual_seed(1)
    seconds = _median(repeats, language_model)
    return {
        "language_model": seconds,
        "language_model_ms_a_token": 1000 * seconds / tokens,
        "flow": _median(repeats, lambda: _mel(engine, tokens, flow_steps)),
        "vocoder": _median(repeats, lambda: VocoderStream(networks.vocoder, noise, executor).push(mel, is_last=True)),
    }


def _mel(engine: CosyVoiceEngine, tokens: int, flow_steps: int) -> torch.Tensor:
    """The mel of made-up speech; equal arguments start from equal noise."""
    decoder, token_count = engine.networks.mel_decoder, engine.networks.language_model.config.speech_token_count
    chance = torch.Generator().manual_seed(1)
    speech = torch.randint(0, token_count, (1, tokens), generator=chance)
    voice = FlowVoice.without_prompt(torch.ones(1, decoder.config.speaker_dim), decoder.config)
    return decoder.decode(speech, voice, chance, step_count=flow_steps, executor=engine.workers.second).mel


def _decoding(engine: CosyVoiceEngine, tokens: int) -> Decoding:
    config = engine.networks.language_model.config.decoder
    prefix = torch.randn(PREFIX_POSITIONS, config.model_dim, generator=torch.Generator().manual_seed(2))
    return Decoding(prefix, TokenLimits(tokens, tokens), torch.Generator().manual_seed(3))


def _decode_steps(engine: CosyVoiceEngine) -> dict[str, float]:
    """Milliseconds of a step with so many positions before it, and tokens a second of all rows.

    Rows are shared out among the threads as the sentences of a text are.
    """
    figures = {}
    for context in CONTEXTS:
        for size in BATCHES:
            milliseconds = 1000 * _decode_step(engine, context, size)
            figures[f"T={context} batch={size} ms"] = milliseconds
            figures[f"T={context} batch={size} tokens/s"] = 1000 * size / milliseconds
    figures["growth from T=100 to T=500"] = figures["T=500 batch=1 ms"] / figures["T=100 batch=1 ms"]
    return figures


def _decode_step(engine: CosyVoiceEngine, context: int, size: int) -> float:
    decodings = [_decoding(engine, context - PREFIX_POSITIONS + 2 * STEPS_TIMED) for _ in range(size)]
    steps = decode_together(engine.networks.language_model, decodings, engine.workers.second, 1)
    while len(decodings[0].tokens) < context - PREFIX_POSITIONS:
        next(steps)
    return statistics.median(_seconds(lambda: next(steps)) for _ in range(STEPS_TIMED))


@torch.inference_mode()
def _flow_distances(engine: CosyVoiceEngine, tokens: int) -> dict[str, float]:
    """How far mels of fewer steps are from those of DEFAULT_STEP_COUNT: mean difference over mean deviation."""
    full = _mel(engine, tokens, DEFAULT_STEP_COUNT)
    spread = (full - full.mean()).abs().mean()
    return {
        f"{count} steps": float((_mel(engine, tokens, count) - full).abs().mean() / spread) for count in STEP_DISTANCES
    }


@torch.inference_mode()
def _matrix_products(repeats: int) -> dict[str, float]:
    """Billions of operations a second of one thread in products of MATRIX rows and columns."""
    square = torch.randn(MATRIX, MATRIX, generator=torch.Generator().manual_seed(5))
    linear = torch.nn.Linear(MATRIX, MATRIX)
    operations = 2 * MATRIX**3 / 1e9
    figures = {"float32": operations / _median(4 * repeats, lambda: square @ square)}
    if Int8Linear.is_available():
        for kernels in Kernels:
            layer = Int8Linear.of(linear, kernels)
            figures[f"int8 {kernels.value}"] = operations / _median(4 * repeats, lambda layer=layer: layer(square))  # type: ignore[misc]
    return figures


def _median(repeats: int, work: Callable[[], object]) -> float:
    work()
    return statistics.median(_seconds(work) for _ in range(repeats))


def _seconds(work: Callable[[], object]) -> float:
    started_at = time.perf_counter()
    work()
    return time.perf_counter() - started_at


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    vnni = "8-bit dot products" if torch.cpu._is_vnni_supported() else "no 8-bit dot products"
    return f"{names[0] if names else platform.processor()}, {len(names) or '?'} cores, {vnni}"
