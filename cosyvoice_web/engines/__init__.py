"""The voice engines behind one interface."""

from typing import Any

from cosyvoice_web.errors import ConfigurationError
from cosyvoice_web.settings import Settings


def load_engine(settings: Settings) -> Any:
    """Load the configured engine; what it needs is imported here, so that importing this package costs nothing.

    Returns:
        A `cosyvoice_web.service.engine_port.SpeechEngine`.

    Raises:
        CheckpointError: a file of the model is missing, incomplete or of another model.
        ConfigurationError: the settings do not fit the model.
    """
    if settings.engine == "kokoro":
        from cosyvoice_web.engines.kokoro.engine import KokoroEngine

        return KokoroEngine.load(settings.num_threads)
    from cosyvoice_web.engines.cosyvoice.engine import CosyVoiceEngine
    from cosyvoice_web.engines.cosyvoice.quantization import Precision

    if settings.model_dir is None:
        raise ConfigurationError("The engine cosyvoice needs COSYVOICE_MODEL_DIR: give the model directory.")
    return CosyVoiceEngine.load(
        settings.model_dir, settings.num_threads, Precision(settings.precision), settings.flow_steps
    )
