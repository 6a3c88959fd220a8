"""One table of knobs: environment variable, default, unit, bounds, help. Read once, into a frozen dataclass.

Every variable starts with `COSYVOICE_`; a name that is not in the table is refused together with the nearest known one,
so a misspelt setting is never silently ignored. `PORT` and `HOST` belong to gunicorn.conf.py.
"""

import difflib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from cosyvoice_web.errors import ConfigurationError

PREFIX = "COSYVOICE_"
ENGINES = ("kokoro", "cosyvoice")
PRECISIONS = ("int8", "float32")


@dataclass(frozen=True, slots=True)
class Knob:
    """One row of the table; `parse` turns text into the value or raises ValueError with the allowed range."""

    name: str
    default: str
    unit: str
    help: str
    parse: Callable[[str], Any]

    @property
    def variable(self) -> str:
        """The environment variable."""
        return PREFIX + self.name.upper()


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one process; field names are the table's names in lower case."""

    engine: str
    model_dir: Path | None
    num_threads: int
    precision: str
    flow_steps: int
    max_text_chars: int
    max_body_bytes: int
    max_upload_bytes: int
    max_waiting: int
    request_timeout_seconds: float
    rate_limit_default: str
    rate_limit_tts: str
    trusted_proxy_hops: int
    log_text: bool
    hub_url: str = ""


def usable_cpu_count() -> int:
    """Cores this process may really use: its affinity mask and its cgroup's CPU quota, at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()  # cgroup v2
    except (OSError, ValueError):
        try:
            quota = Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").read_text().strip()  # cgroup v1
            period = Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us").read_text().strip()
        except OSError:
            return count
    if quota.isdigit() and period.isdigit() and int(period) > 0:
        count = min(count, max(1, round(int(quota) / int(period))))
    return count


def _integer(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return value

    return parse


def _number(low: float, high: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise ValueError(f"a number from {low:g} to {high:g}")
        return value

    return parse


def _boolean(text: str) -> bool:
    word = text.strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ValueError("1, 0, true, false, yes, no, on or off")


def _choice(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(" or ".join(allowed))
        return text

    return parse


def _rate_limit(text: str) -> str:
    import limits  # only when settings are read: it is not needed to know their names

    try:
        limits.parse_many(text)
    except ValueError:
        raise ValueError("limits such as '5 per minute' or '5/minute;100/day'") from None
    return text


def _url(text: str) -> str:
    if text and not text.startswith(("https://", "http://")):
        raise ValueError("an address that starts with https:// or http://")
    return text.rstrip("/")


def _path(text: str) -> Path:
    return Path(text).expanduser()


def _optional_path(text: str) -> Path | None:
    return _path(text) if text else None


KNOBS = (
    Knob("engine", "", "", "`kokoro` (embedded) or `cosyvoice`; default: `cosyvoice` when a model directory is set, "
         "else `kokoro`", _choice("", *ENGINES)),
    Knob("model_dir", "", "path", "CosyVoice-300M model directory", _optional_path),
    Knob("num_threads", "0", "threads", "threads of one synthesis; 0: as many as the process has cores (cgroup quota "
         "included)", _integer(0, 256)),
    Knob("precision", "int8", "", "numbers that CosyVoice computes in: `int8` (fast) or `float32` (exact, about half "
         "as fast)", _choice(*PRECISIONS)),
    Knob("flow_steps", "10", "steps", "steps of CosyVoice from noise to sound; fewer are faster and rougher",
         _integer(2, 50)),
    Knob("max_text_chars", "3000", "characters", "longest text of one request", _integer(1, 1_000_000)),
    Knob("max_body_bytes", "1048576", "bytes", "largest request body that holds text", _integer(1_024, 1 << 30)),
    Knob("max_upload_bytes", "16777216", "bytes", "largest multipart request body, which may hold recordings",
         _integer(1_024, 1 << 30)),
    Knob("max_waiting", "8", "requests", "requests that may wait while one is spoken; more are answered 503",
         _integer(0, 1_000)),
    Knob("request_timeout_seconds", "300", "seconds", "time one request may take, waiting included",
         _number(0.1, 86_400)),
    Knob("rate_limit_default", "20 per minute", "", "allowance of one client on the page and the API", _rate_limit),
    Knob("rate_limit_tts", "5 per minute", "", "allowance of one client on routes that synthesise", _rate_limit),
    Knob("trusted_proxy_hops", "0", "proxies", "reverse proxies in front whose X-Forwarded-* headers are believed",
         _integer(0, 10)),
    Knob("log_text", "0", "", "write what users say into the log", _boolean),
    Knob("hub_url", "", "URL", "hub or mirror that `download` fetches models from; empty: the client's default", _url),
)  # fmt: skip


def load_settings(environ: Mapping[str, str]) -> Settings:
    """Read every knob from the environment.

    Raises:
        ConfigurationError: an unknown `COSYVOICE_` name, or a value outside what the knob allows.
    """
    known = {knob.variable: knob for knob in KNOBS}
    for name in environ:
        if name.startswith(PREFIX) and name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
            raise ConfigurationError(f"{name} is not a setting of this program. Did you mean {near[0]}?")
    values: dict[str, Any] = {}
    for variable, knob in known.items():
        text = environ.get(variable, "").strip() or knob.default
        try:
            values[knob.name] = knob.parse(text)
        except ValueError as reason:
            raise ConfigurationError(f"{variable}={text!r} cannot be used: give {reason}.") from None
    values["engine"] = values["engine"] or ("cosyvoice" if values["model_dir"] else "kokoro")
    if values["engine"] == "cosyvoice" and values["model_dir"] is None:
        raise ConfigurationError("COSYVOICE_ENGINE=cosyvoice needs COSYVOICE_MODEL_DIR: give the model directory.")
    values["num_threads"] = values["num_threads"] or usable_cpu_count()
    assert values.keys() == {field.name for field in fields(Settings)}  # noqa: S101 - the table and the class are one
    return Settings(**values)
