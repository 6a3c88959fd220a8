"""The parts of golden files that no network computes: features, cross-fade, token ids, candidate sets."""

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from cosyvoice_web.engines.cosyvoice.config import CosyVoiceConfig
from cosyvoice_web.engines.cosyvoice.features import prompt_log_mel, speaker_filter_bank, tokenizer_log_mel
from cosyvoice_web.engines.cosyvoice.language_model.sampling import nucleus
from cosyvoice_web.engines.cosyvoice.mel_decoder.stream import cross_fade
from cosyvoice_web.engines.cosyvoice.tokenizer import LANGUAGE_MARKS, TextTokenizer

FRONT_END_INPUTS = frozenset({"nucleus_logp", "fade_in", "fade_out"})
SIGNAL_SECONDS = 2
_FADED = re.compile(r"faded_(\d+)")
_NUCLEUS = re.compile(r"nucleus_sets_top_p_([\d.]+)_top_k_(\d+)")
_LANGUAGE = re.compile(rf"<\|({'|'.join(LANGUAGE_MARKS)})\|>")
Array = npt.NDArray[np.generic]


def formula_signal(sample_rate_hz: int) -> torch.Tensor:
    """0.3 sin(2 pi 220 t) + 0.1 sin(2 pi 1760 t) + 0.01 normal numbers of seed 7: two seconds, float32."""
    count = SIGNAL_SECONDS * sample_rate_hz
    time = np.arange(count) / sample_rate_hz
    signal = 0.3 * np.sin(2 * np.pi * 220 * time) + 0.1 * np.sin(2 * np.pi * 1760 * time)
    signal += 0.01 * np.random.default_rng(7).standard_normal(count)
    return torch.from_numpy(signal.astype(np.float32))


def front_end_outputs(config: CosyVoiceConfig, golden: Mapping[str, Array]) -> dict[str, Callable[[], Array]]:
    """A function for each array of a front-end golden file; `faded_n` is a cross-fade over a window of n."""
    features = config.mel_features
    outputs: dict[str, Callable[[], Array]] = {
        "mel_22050": lambda: prompt_log_mel(formula_signal(features.sample_rate_hz), features).mT.numpy(),
        "whisper_log_mel_128": lambda: tokenizer_log_mel(formula_signal(16_000)).numpy(),
        "fbank_80_mean_removed": lambda: speaker_filter_bank(formula_signal(16_000))[0].numpy(),
    }
    for name in golden:
        if match := _FADED.fullmatch(name):
            outputs[name] = partial(_faded, golden, int(match[1]))
    return outputs


def list_comparisons(golden_path: Path, golden: Mapping[str, Array]) -> dict[str, bool]:
    """Verdicts on the lists that lie beside a golden file, in the .json of the same name: all equal, or not."""
    try:
        lists = json.loads(golden_path.with_suffix(".json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    verdicts: dict[str, bool] = {}
    if "tokenizer" in lists:
        verdicts["tokenizer"] = _has_equal_ids(lists["tokenizer"])
    for name, sets in lists.items():
        if (match := _NUCLEUS.fullmatch(name)) and "nucleus_logp" in golden:
            verdicts[name] = _candidates(golden["nucleus_logp"], float(match[1]), int(match[2])) == sets
    return verdicts


def _faded(golden: Mapping[str, Array], window: int) -> Array:
    earlier, later = torch.from_numpy(golden["fade_out"]), torch.from_numpy(golden["fade_in"])
    faded: Array = cross_fade(later, earlier, torch.hamming_window(window, periodic=False, dtype=torch.float64)).numpy()
    return faded


def _has_equal_ids(examples: list[dict[str, object]]) -> bool:
    tokenizer = TextTokenizer()
    for example in examples:
        text = str(example["text"])
        mark = _LANGUAGE.match(text)
        ids = tokenizer.encode(text[mark.end() :] if mark else text, language=mark[1] if mark else None)
        if ids != example["ids"]:
            return False
    return True


def _candidates(log_probabilities: Array, top_p: float, top_k: int) -> list[list[int]]:
    ids, weights = nucleus(torch.from_numpy(log_probabilities), top_p, top_k)
    return [row[weight > 0].tolist() for row, weight in zip(ids, weights, strict=True)]
