"""The voices that are offered, and their style vectors.

Left out of the model's own list: voices whose Mandarin tones a recogniser heard wrong (zf_xiaoni), and languages
without a reader here.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cosyvoice_web.errors import FileMissing, FileTruncated
from cosyvoice_web.speech import Voice

VOICES = (
    Voice("zf_xiaoxiao", "Xiaoxiao (晓晓)", "zh", "female", default=True),
    Voice("zf_xiaobei", "Xiaobei (晓北)", "zh", "female"),
    Voice("zf_xiaoyi", "Xiaoyi (晓伊)", "zh", "female"),
    Voice("zm_yunjian", "Yunjian (云健)", "zh", "male"),
    Voice("zm_yunxi", "Yunxi (云希)", "zh", "male"),
    Voice("zm_yunyang", "Yunyang (云扬)", "zh", "male"),
    Voice("zm_yunxia", "Yunxia (云夏)", "zh", "male"),
    Voice("af_heart", "Heart (US)", "en", "female", default=True),
    Voice("af_bella", "Bella (US)", "en", "female"),
    Voice("am_michael", "Michael (US)", "en", "male"),
    Voice("am_fenrir", "Fenrir (US)", "en", "male"),
    Voice("bf_emma", "Emma (UK)", "en", "female"),
    Voice("bm_george", "George (UK)", "en", "male"),
    Voice("jf_alpha", "Alpha (アルファ)", "ja", "female", default=True),
    Voice("jf_gongitsune", "Gongitsune (ごんぎつね)", "ja", "female"),
    Voice("jm_kumo", "Kumo (蜘蛛)", "ja", "male"),
)
"""Every voice, in the order of the menu; one default for each language."""

STYLE_DIRECTORY = Path(__file__).parent / "voices"
STYLE_SHAPE = (510, 1, 256)

Styles = npt.NDArray[np.float32]
"""Shape (510, 1, 256), float32, read-only: entry n-1 is the style, (1, 256), for an input of n phonemes."""


def load_styles(directory: Path = STYLE_DIRECTORY) -> Mapping[str, Styles]:
    """Read the style vectors of every voice, by voice id.

    Raises:
        FileMissing, FileTruncated: a file of the installation is not there or not whole.
    """
    return {voice.id: _read(directory / f"{voice.id}.bin") for voice in VOICES}


def _read(path: Path) -> Styles:
    try:
        data = path.read_bytes()
    except FileNotFoundError as missing:
        raise FileMissing(str(path), "no file", "a voice of the installation: install the program again") from missing
    expected_bytes = 4 * int(np.prod(STYLE_SHAPE))
    if len(data) != expected_bytes:
        raise FileTruncated(str(path), f"{len(data)} bytes", f"{expected_bytes} bytes: install the program again")
    return np.frombuffer(data, dtype="<f4").reshape(STYLE_SHAPE)
