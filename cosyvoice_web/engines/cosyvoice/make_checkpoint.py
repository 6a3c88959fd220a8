"""Makes a model directory in the official layout with recipe weights, for tests, benchmarks and dry runs.

What it speaks is noise, but every file, name, shape and code path is that of a trained model.
"""

from pathlib import Path

import torch

from cosyvoice_web.engines.cosyvoice.config import read_config
from cosyvoice_web.engines.cosyvoice.voices import SFT_VOICE_NAMES
from cosyvoice_web.engines.cosyvoice.weights.files import (
    CONFIG,
    SPEAKER_ENCODER,
    SPEAKERS,
    SPEECH_TOKENIZER,
    ModelKind,
    marked_model,
    write_marker,
)
from cosyvoice_web.engines.cosyvoice.weights.official_shapes import official_shapes
from cosyvoice_web.engines.cosyvoice.weights.onnx_stand_ins import write_speaker_encoder, write_speech_tokenizer
from cosyvoice_web.engines.cosyvoice.weights.recipe import recipe_checkpoint, standard_normal
from cosyvoice_web.errors import ConfigurationError

SIZES = {size: Path(__file__).parent / "data" / f"{size}.yaml" for size in ("tiny", "full")}
RECIPE = "recipe"
"""The model name in the marker file of a directory made here; only such a directory is overwritten."""
TOKENS_PER_TEXT_TOKEN = 10
"""Length of what a recipe model speaks, in speech tokens: about that of real speech, which it would not end itself."""


def make_checkpoint(config_path: Path, directory: Path, kind: ModelKind | None = None) -> None:
    """Write a whole model directory; dimensions come from the yaml alone, weights from the tensors' names.

    `kind` goes into the marker file, BASE leaves the speaker table empty; with None the directory's name decides and
    the table is full. Needs as much memory as the largest file, 1.3 GB for the published size.

    Raises:
        CheckpointError: the yaml cannot be read, or describes another model family.
        ConfigurationError: the directory holds files that were not made here.
    """
    config = read_config(config_path)
    description = config_path.read_bytes()
    if directory.exists() and not directory.is_dir():
        raise ConfigurationError(f"{directory} is a file: give a directory.")
    if directory.is_dir() and any(directory.iterdir()) and marked_model(directory) != RECIPE:
        raise ConfigurationError(f"{directory} is not empty: give a new directory, so that no model is overwritten.")
    directory.mkdir(parents=True, exist_ok=True)
    write_marker(directory, RECIPE, kind, TOKENS_PER_TEXT_TOKEN)
    (directory / CONFIG).write_bytes(description)
    for module, shapes in official_shapes(config).items():
        torch.save(recipe_checkpoint(module, shapes), directory / f"{module}.pt")
    speaker_dim = config.language_model.speaker_dim
    names = () if kind is ModelKind.BASE else SFT_VOICE_NAMES
    table = {name: {"embedding": standard_normal(f"speaker.{name}", (1, speaker_dim))} for name in names}
    torch.save(table, directory / SPEAKERS)
    write_speaker_encoder(directory / SPEAKER_ENCODER, speaker_dim)
    write_speech_tokenizer(
        directory / SPEECH_TOKENIZER, config.language_model.speech_token_count, config.mel_decoder.token_rate_hz
    )
