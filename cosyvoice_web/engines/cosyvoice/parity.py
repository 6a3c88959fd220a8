"""Compares our modules with golden values of the reference, array by array, on recipe weights.

A golden file stores some inputs; the others are `recipe.input_tensor` of a label. Its arrays are channels first, ours
channels last. Lengths are taken from the arrays, dimensions from the model's configuration.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cosyvoice_web.engines.cosyvoice.parity_front_end import FRONT_END_INPUTS, front_end_outputs, list_comparisons
from cosyvoice_web.engines.cosyvoice.parity_model import RecipeModel
from cosyvoice_web.engines.cosyvoice.quantization import Precision
from cosyvoice_web.engines.cosyvoice.text_table import text_table
from cosyvoice_web.engines.cosyvoice.weights.files import open_model
from cosyvoice_web.errors import FileMissing, FileTruncated

TOLERANCE = 1e-4
"""Largest absolute difference allowed, relative to the golden array's largest absolute value."""
FLOAT32_ALLOWANCE = 10 * TOLERANCE
"""How far float32 may be off where float64 decides, see `_without_rounding`."""
INT8_TOLERANCES = {
    "text_encoded": 0.01,
    "logp_": 0.04,
    "flow_encoded": 0.01,
    "flow_cache_": 0.01,
    "mel_": 0.08,
    "estimator_out": 0.12,
    "hift_f0": 0.01,
    "source_": 0.01,
    "hift_audio": 0.15,
}
"""What int8 may change: root mean square of the difference, relative to the golden array's standard deviation, by what
the names of the arrays begin with. Recipe weights measure rounding, not how much of it is heard."""
INPUTS = frozenset({"text", "speaker", "speech", "prompt_text", "prompt_speech", "prompt_feat", "noise_shapes",
                    "source_f0"}) | FRONT_END_INPUTS  # fmt: skip

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class ArrayComparison:
    """One golden array: `error` is what `tolerance` bounds, None where the two cannot be compared."""

    name: str
    error: float | None
    tolerance: float = TOLERANCE
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether ours is equal within the tolerance."""
        return self.error is not None and self.error <= self.tolerance


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every array of a golden file that is no input."""

    arrays: tuple[ArrayComparison, ...]
    measure: str

    @property
    def passed(self) -> bool:
        """Whether there was anything to compare and all of it is equal."""
        return bool(self.arrays) and all(array.passed for array in self.arrays)

    def table(self) -> str:
        """Name, error and verdict, a line each."""
        rows = [
            (array.name, "-" if array.error is None else f"{array.error:.2e}", "pass" if array.passed else "FAIL",
             array.note)
            for array in self.arrays
        ]  # fmt: skip
        return text_table(("array", self.measure, "verdict", ""), rows)


def compare(directory: Path, golden_path: Path, precision: Precision = Precision.FLOAT32) -> Comparison:
    """Compute every array of a golden file with the model in `directory`, in these numbers.

    Raises:
        CheckpointError: the model cannot be loaded, or the golden file not read.
    """
    golden = _read_golden(golden_path)
    model = RecipeModel(open_model(directory), golden, precision)
    outputs: Mapping[str, Callable[[], Array]] = model.outputs() | front_end_outputs(model.files.config, golden)
    names = [name for name in golden if name not in INPUTS]
    if precision is Precision.FLOAT32:
        measure, arrays = "max error / max", [_compare(name, golden[name], outputs, _largest) for name in names]
        arrays = [_without_rounding(array, golden, model) for array in arrays]
    else:
        measure = "rms error / std"
        arrays = [
            replace(_compare(name, golden[name], outputs, _deviation), tolerance=_allowed(name)) for name in names
        ]
    for name, is_equal in list_comparisons(golden_path, golden).items():
        note = "equal lists" if is_equal else "lists differ"
        arrays.append(ArrayComparison(name, 0.0 if is_equal else None, note=note))
    return Comparison(tuple(arrays), measure)


def _allowed(name: str) -> float:
    return next((allowed for start, allowed in INT8_TOLERANCES.items() if name.startswith(start)), TOLERANCE)


def _read_golden(path: Path) -> dict[str, Array]:
    if not path.is_file():
        raise FileMissing(str(path), "no file", "golden values (.npz)")
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, AttributeError) as reason:
        raise FileTruncated(str(path), "a file that is no array archive", "golden values (.npz)") from reason


def _compare(
    name: str,
    golden: Array,
    outputs: Mapping[str, Callable[[], Array]],
    measure: Callable[[npt.NDArray[np.float64], npt.NDArray[np.float64]], float],
) -> ArrayComparison:
    if name not in outputs:
        return ArrayComparison(name, None, note="nobody here computes an array of this name")
    try:
        ours = outputs[name]()
    except KeyError as missing:
        return ArrayComparison(name, None, note=f"the golden file lacks its input {missing.args[0]}")
    if ours.shape != golden.shape:
        return ArrayComparison(name, None, note=f"shape {ours.shape}, golden {golden.shape}")
    difference = np.abs(ours.astype(np.float64) - golden.astype(np.float64))
    if not np.isfinite(difference).all():
        return ArrayComparison(name, None, note="not finite")
    return ArrayComparison(name, measure(difference, golden.astype(np.float64)))


def _largest(difference: npt.NDArray[np.float64], golden: npt.NDArray[np.float64]) -> float:
    return float(difference.max(initial=0.0)) / (float(np.abs(golden).max(initial=0.0)) or 1.0)


def _deviation(difference: npt.NDArray[np.float64], golden: npt.NDArray[np.float64]) -> float:
    return float(np.sqrt(np.square(difference).mean())) / (float(golden.std()) or 1.0)


def _without_rounding(single: ArrayComparison, golden: Mapping[str, Array], model: RecipeModel) -> ArrayComparison:
    """A waveform that float32 misses by little, compared once more in float64.

    Recipe weights make waves of a hundred times full scale before the limiter, so a last digit counts for 1e-4 of what
    comes out: golden files of large models hold that much rounding of the machine that made them, and another
    processor's convolutions add theirs. What float32 misses by more is no rounding.
    """
    is_near = single.error is not None and TOLERANCE < single.error <= FLOAT32_ALLOWANCE
    if single.name != "hift_audio" or not is_near:
        return single
    double = _compare(single.name, golden[single.name], {single.name: model.audio_in_float64}, _largest)
    return replace(double, note=f"in float64; float32 {single.error:.1e} apart, by rounding")
