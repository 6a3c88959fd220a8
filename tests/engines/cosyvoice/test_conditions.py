import pytest
import torch

from cosyvoice_web.engines.cosyvoice.conditions import (
    LONGEST_PROMPT_CHARACTERS,
    cloned,
    instructed,
    spoken_instruction,
    spoken_prompt,
    stored,
)
from cosyvoice_web.engines.cosyvoice.voices import StoredPrompt, StoredVoice
from cosyvoice_web.errors import InvalidRequest
from tests.engines.cosyvoice.golden_files import golden

CONFIG = golden("tiny").config.mel_decoder
SPEAKER, OTHER_SPEAKER = torch.full((1, CONFIG.speaker_dim), 1.0), torch.full((1, CONFIG.speaker_dim), 2.0)
TRAINED = StoredVoice("中文女", SPEAKER, SPEAKER)
PROMPT = StoredPrompt(
    torch.tensor([[7, 8]]), torch.tensor([[1, 2, 3]]), torch.tensor([[1, 2, 3, 4]]), torch.ones(1, 9, 80)
)
ADDED = StoredVoice("me", SPEAKER, OTHER_SPEAKER, PROMPT)


def test_a_trained_voice_is_its_speaker_alone() -> None:
    told = stored(TRAINED, CONFIG)
    assert told.speaker is SPEAKER
    assert (told.prompt_text, told.prompt_speech, told.marks_language) == ((), (), False)
    assert told.flow_voice.speaker is SPEAKER
    assert told.flow_voice.prompt_tokens.numel() == told.flow_voice.prompt_mel.numel() == 0


def test_a_voice_made_from_a_recording_brings_it_along() -> None:
    told = stored(ADDED, CONFIG)
    assert told.speaker is SPEAKER
    assert (told.prompt_text, told.prompt_speech) == ((7, 8), (1, 2, 3))
    assert told.flow_voice.speaker is OTHER_SPEAKER
    assert told.flow_voice.prompt_tokens.tolist() == [[1, 2, 3, 4]]
    assert told.flow_voice.prompt_mel is PROMPT.mel


def test_a_style_hides_the_speaker_from_the_language_model() -> None:
    told = instructed(TRAINED, (5, 6), CONFIG)
    assert told.speaker is None
    assert (told.prompt_text, told.prompt_speech, told.marks_language) == ((5, 6), (), False)
    assert told.flow_voice.speaker is SPEAKER


def test_a_recording_with_text_goes_to_both_networks() -> None:
    mel = torch.zeros(1, 5, 80)
    told = cloned(SPEAKER, [1, 2, 3], mel, (9,))
    assert told.speaker is SPEAKER
    assert (told.prompt_text, told.prompt_speech, told.marks_language) == ((9,), (1, 2, 3), False)
    assert told.flow_voice.prompt_tokens.tolist() == [[1, 2, 3]]
    assert told.flow_voice.prompt_mel is mel


def test_without_its_text_a_recording_goes_to_the_mel_decoder_and_the_language_is_marked() -> None:
    told = cloned(SPEAKER, [1, 2, 3], torch.zeros(1, 5, 80), None)
    assert told.speaker is SPEAKER
    assert (told.prompt_text, told.prompt_speech, told.marks_language) == ((), (), True)
    assert told.flow_voice.prompt_tokens.tolist() == [[1, 2, 3]]


def test_prompt_texts_are_normalised_like_any_other() -> None:
    assert spoken_prompt("我有3个苹果！他没有", "prompt_text") == "我有三个苹果。他没有。"
    assert spoken_prompt("Hello there. How are you today, my friend?", "prompt_text") == (
        "Hello there. How are you today, my friend."
    )


def test_an_instruction_ends_with_one_mark_however_it_is_sent() -> None:
    plain = spoken_instruction("A calm speaker.", "instruct_text")
    assert plain == "A calm speaker.<endofprompt>"
    assert spoken_instruction("A calm speaker.<|endofprompt|>", "instruct_text") == plain
    assert spoken_instruction("A calm speaker.<endofprompt>", "instruct_text") == plain


@pytest.mark.parametrize(
    ("text", "words"),
    [("...", "nothing to speak"), ("好" * (LONGEST_PROMPT_CHARACTERS + 1), "601 characters, at most 600"),
     ("Привет, как дела?", "cannot speak")],
)  # fmt: skip
def test_prompt_texts_of_no_use_are_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words) as refusal:
        spoken_prompt(text, "prompt_text")
    assert refusal.value.field == "prompt_text"
    assert "prompt_text" in str(refusal.value)
