"""What each way of asking for speech tells the networks beside the text.

| mode             | language model is told                        | mel decoder is told              |
| ---------------- | --------------------------------------------- | -------------------------------- |
| SFT              | speaker                                       | speaker                          |
| zero-shot        | speaker, prompt text, prompt speech           | speaker, prompt speech and mel   |
| cross-lingual    | speaker, language mark before the text        | speaker, prompt speech and mel   |
| instruct         | style text                                    | speaker                          |
| voice conversion | is not asked                                  | as SFT, or as zero-shot          |

A stored voice that was made from a recording is told its recording, as in zero-shot.

Source: CosyVoice, cli/frontend.py, CosyVoiceFrontEnd.frontend_sft, _zero_shot, _cross_lingual, _instruct and _vc.
"""

import re
from dataclasses import dataclass

import torch

from cosyvoice_web.engines.cosyvoice.config import MelDecoderConfig
from cosyvoice_web.engines.cosyvoice.mel_decoder.flow import FlowVoice
from cosyvoice_web.engines.cosyvoice.punctuation import with_stops
from cosyvoice_web.engines.cosyvoice.voices import StoredVoice
from cosyvoice_web.errors import InvalidRequest, RequestError
from cosyvoice_web.text.prepare import prepare_text

LANGUAGES = frozenset(("zh", "en", "ja", "yue", "ko"))
LONGEST_PROMPT_CHARACTERS = 600
"""More than anybody says in the longest recording."""
END_OF_INSTRUCTION = "<endofprompt>"
"""What the Instruct model was trained to see between a style text and the text; it is spelt in ordinary tokens."""
_END_MARKS = re.compile(r"<\|?endofprompt\|?>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Conditions:
    """The same for every sentence of a request, and read-only.

    `speaker`: (1, speaker_dim) float32 or None; `prompt_text`: text token ids; `prompt_speech`: speech token ids;
    `marks_language`: a token that names its language stands before the text.
    """

    flow_voice: FlowVoice
    speaker: torch.Tensor | None
    prompt_text: tuple[int, ...] = ()
    prompt_speech: tuple[int, ...] = ()
    marks_language: bool = False


def stored(voice: StoredVoice, config: MelDecoderConfig) -> Conditions:
    """A voice of the model's table."""
    flow_voice = FlowVoice.without_prompt(voice.mel_decoder_embedding, config)
    if voice.prompt is None:
        return Conditions(flow_voice, voice.language_model_embedding)
    prompt = voice.prompt
    return Conditions(
        FlowVoice(flow_voice.speaker, prompt.mel_decoder_speech_tokens, prompt.mel),
        voice.language_model_embedding,
        tuple(prompt.text_tokens[0].tolist()),
        tuple(prompt.language_model_speech_tokens[0].tolist()),
    )


def instructed(voice: StoredVoice, instruction: tuple[int, ...], config: MelDecoderConfig) -> Conditions:
    """A voice of the table in a style; the language model learns the style only, not the speaker."""
    return Conditions(stored(voice, config).flow_voice, None, instruction)


def cloned(
    speaker: torch.Tensor, speech_tokens: list[int], mel: torch.Tensor, prompt_text: tuple[int, ...] | None
) -> Conditions:
    """The voice of a recording: `speaker` (1, speaker_dim), `mel` (1, frames, mel); `prompt_text` None: not known."""
    flow_voice = FlowVoice(speaker, torch.tensor([speech_tokens], dtype=torch.int64), mel)
    if prompt_text is None:
        return Conditions(flow_voice, speaker, marks_language=True)
    return Conditions(flow_voice, speaker, prompt_text, tuple(speech_tokens))


def spoken_prompt(text: str, field: str) -> str:
    """A text that goes before the one to speak, normalised in the same way, without the marks that a model may stop at.

    Raises:
        RequestError: nothing in it can be spoken, it is too long, or in a language that the model does not know;
            `field` is the part of the request that it came in.
    """
    if len(text) > LONGEST_PROMPT_CHARACTERS:
        raise InvalidRequest(
            f"{field} has {len(text)} characters, at most {LONGEST_PROMPT_CHARACTERS} can be used: shorten it.", field
        )
    try:
        sentences = prepare_text(text, "auto", LANGUAGES)
    except RequestError as error:
        raise InvalidRequest(f"{field} cannot be used. {error}", field) from error
    spoken = ""
    for sentence in sentences:
        spoken += (" " if spoken[-1:].isascii() and spoken else "") + sentence.spoken
    return with_stops(spoken)


def spoken_instruction(text: str, field: str) -> str:
    """A style text, normalised, with the mark that ends it.

    Raises:
        RequestError: as `spoken_prompt`.

    Source: the instruct examples of the published CosyVoice-300M-Instruct.
    """
    return spoken_prompt(_END_MARKS.sub(" ", text), field) + END_OF_INSTRUCTION
