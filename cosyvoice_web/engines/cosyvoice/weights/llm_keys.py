"""Official names of `llm.pt` to those of `language_model.speech_lm.SpeechLM`."""

import torch

from cosyvoice_web.engines.cosyvoice.config import LanguageModelConfig
from cosyvoice_web.engines.cosyvoice.weights.encoder_keys import (
    CONFORMER_NORMS,
    TRANSFORMER_NORMS,
    encoder_state,
    renamed,
)
from cosyvoice_web.engines.cosyvoice.weights.tensor_source import TensorSource


def language_model_state(source: TensorSource, config: LanguageModelConfig) -> dict[str, torch.Tensor]:
    """State of `SpeechLM`, float32; call `source.finish` afterwards to hear of missing and unknown tensors.

    Raises:
        ShapeMismatch: a tensor has another shape than `config` implies.
    """
    dim, token_count = config.input_dim, config.speech_token_count
    text_shape = (config.text_token_count, config.text_embedding_dim)
    state = {
        "text_encoder.embedding.weight": source.take("text_embedding.weight", text_shape),
        "marks.weight": source.take("llm_embedding.weight", (2, dim)),
        "speech_embedding.weight": source.take("speech_embedding.weight", (token_count, dim)),
    }
    text_dim = config.text_encoder.model_dim
    state |= renamed(source, "text_encoder_affine_layer", "text_encoder.projection", (dim, text_dim))
    state |= renamed(source, "spk_embed_affine_layer", "speaker_projection", (dim, config.speaker_dim))
    state |= renamed(source, "llm_decoder", "head", (token_count + 1, config.output_dim))
    text_encoder = encoder_state(source, "text_encoder", config.text_encoder, CONFORMER_NORMS)
    decoder = encoder_state(source, "llm", config.decoder, TRANSFORMER_NORMS)
    state |= {f"text_encoder.encoder.{name}": tensor for name, tensor in text_encoder.items()}
    state |= {f"decoder.{name}": tensor for name, tensor in decoder.items()}
    return state
