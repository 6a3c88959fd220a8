import pytest
import torch

from cosyvoice_web.engines.cosyvoice.language_model.speech_lm import PREPARED_POSITIONS, SpeechLM
from cosyvoice_web.engines.cosyvoice.layers.relative_positions import RelativePositions
from tests.engines.cosyvoice.golden_files import assert_close, golden
from tests.engines.cosyvoice.language_model.conftest import build

ROUNDING = 2e-6


def prefixes(model: SpeechLM, size: str = "tiny") -> dict[str, torch.Tensor]:
    values = golden(size)
    text, prompt_text, speaker = values.ids("text"), values.ids("prompt_text"), values.tensor("speaker")[0]
    prompt_speech = values.ids("prompt_speech")
    return {
        "logp_sft": model.prefix(text, speaker=speaker),
        "logp_zero_shot": model.prefix(text, prompt_text=prompt_text, speaker=speaker, prompt_speech=prompt_speech),
        "logp_instruct": model.prefix(text, prompt_text=prompt_text),
    }


def step_by_step(model: SpeechLM, prefix: torch.Tensor, tokens: list[int], column_capacity: int) -> torch.Tensor:
    cache = model.cache(column_capacity)
    scores = [model.prefill([prefix], cache)] + [model.step([token], cache) for token in tokens]
    return torch.cat(scores).log_softmax(dim=-1)


def check_goldens(model: SpeechLM, size: str) -> None:
    values = golden(size)
    with torch.inference_mode():
        values.assert_equal(model.text_encoder(values.tensor("text")), "text_encoded")
    for name, prefix in prefixes(model, size).items():
        forced = values.ids("speech")[: len(values.arrays[name]) - 1]
        values.assert_equal(model.score(prefix, forced), name)
        values.assert_equal(step_by_step(model, prefix, forced, 1024), name)


def test_tiny_computes_what_the_reference_computes(tiny_model: SpeechLM) -> None:
    check_goldens(tiny_model, "tiny")


@pytest.mark.slow
def test_full_computes_what_the_reference_computes() -> None:
    check_goldens(build("full"), "full")


@pytest.mark.parametrize("column_capacity", [1, 7, 40, 1024])
def test_the_size_of_the_cache_changes_nothing(
    tiny_model: SpeechLM, sft_prefix: torch.Tensor, column_capacity: int
) -> None:
    forced = golden("tiny").ids("speech")
    whole = tiny_model.score(sft_prefix, forced)
    assert_close(step_by_step(tiny_model, sft_prefix, forced, column_capacity), whole, ROUNDING)


def test_sequences_longer_than_the_prepared_positions_decode_alike(
    tiny_model: SpeechLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt = golden("tiny").ids("speech") * (PREPARED_POSITIONS // 60)
    prompt = prompt[:-20]
    prefix = tiny_model.prefix([5, 6, 7], prompt_speech=prompt)
    forced = golden("tiny").ids("speech")
    assert len(prefix) < PREPARED_POSITIONS < len(prefix) + len(forced)
    projected: list[int] = []
    positions = tiny_model.decoder.positions

    def counted(length: int) -> RelativePositions:
        projected.append(length)
        return positions(length)

    stepped = step_by_step(tiny_model, prefix, forced, 2048)
    assert_close(stepped, tiny_model.score(prefix, forced), ROUNDING)
    monkeypatch.setattr(tiny_model.decoder, "positions", counted)
    step_by_step(tiny_model, prefix, forced, 2048)
    assert len(projected) <= 3, "positions are projected ahead, not at every step"


def test_a_row_of_a_batch_equals_the_row_alone(tiny_model: SpeechLM) -> None:
    rows = [*prefixes(tiny_model).values(), tiny_model.prefix([9])]
    assert len({len(row) for row in rows}) > 2, "lengths must differ, or padding is not tried"
    forced = golden("tiny").ids("speech")[:12]
    cache = tiny_model.cache(4, len(rows))
    together = [tiny_model.prefill(rows, cache)]
    together += [tiny_model.step([forced[step - row] for row in range(len(rows))], cache) for step in range(12)]
    for row, prefix in enumerate(rows):
        alone = tiny_model.score(prefix, [forced[step - row] for step in range(12)])
        assert_close(torch.stack([scores[row] for scores in together]).log_softmax(dim=-1), alone, ROUNDING)


def test_what_a_row_holds_changes_no_other_row(tiny_model: SpeechLM, sft_prefix: torch.Tensor) -> None:
    def scores_beside(other: torch.Tensor) -> torch.Tensor:
        return tiny_model.prefill([sft_prefix, other], tiny_model.cache(64, 2))[0]

    other = tiny_model.prefix([1, 2, 3])
    assert torch.equal(scores_beside(other), scores_beside(torch.full_like(other, 1e4)))


def test_a_batch_of_texts_is_encoded_row_by_row(tiny_model: SpeechLM) -> None:
    text = golden("tiny").tensor("text").long()
    short = torch.cat((torch.full((1, 5), 17), text[:, :12]), dim=1)
    with torch.inference_mode():
        together = tiny_model.text_encoder(torch.cat((text, short)), [17, 12])
        assert_close(together[:1], tiny_model.text_encoder(text), ROUNDING)
        assert_close(together[1:, 5:], tiny_model.text_encoder(text[:, :12]), ROUNDING)


def test_inputs_stay_as_they_were(tiny_model: SpeechLM) -> None:
    speaker = golden("tiny").tensor("speaker")[0].clone()
    text = golden("tiny").ids("text")
    prefix = tiny_model.prefix(text, speaker=speaker, prompt_speech=[1, 2])
    assert torch.equal(speaker, golden("tiny").tensor("speaker")[0])
    kept = prefix.clone()
    tiny_model.score(prefix, [3, 4])
    cache = tiny_model.cache(8)
    tiny_model.prefill([prefix], cache)
    tiny_model.step([3], cache)
    assert torch.equal(prefix, kept)


def test_the_model_is_the_same_after_use(tiny_model: SpeechLM, sft_prefix: torch.Tensor) -> None:
    before = {name: tensor.clone() for name, tensor in tiny_model.state_dict().items()}
    tiny_model.score(sft_prefix, [1, 2, 3])
    assert all(torch.equal(tensor, before[name]) for name, tensor in tiny_model.state_dict().items())


def test_a_speaker_counts_by_direction_only(tiny_model: SpeechLM) -> None:
    speaker = golden("tiny").tensor("speaker")[0]
    assert_close(tiny_model.prefix([4], speaker=3 * speaker), tiny_model.prefix([4], speaker=speaker), ROUNDING)
    assert not torch.allclose(tiny_model.prefix([4], speaker=-speaker), tiny_model.prefix([4], speaker=speaker))


def test_a_prefix_needs_text(tiny_model: SpeechLM) -> None:
    with pytest.raises(ValueError, match="text token"):
        tiny_model.prefix([])
