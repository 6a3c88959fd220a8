import re
import unicodedata

import pytest

from cosyvoice_web.engines.kokoro.pinyin import syllable_phonemes
from cosyvoice_web.engines.kokoro.vocabulary import vocabulary


@pytest.mark.parametrize(
    ("pinyin", "phonemes"),
    [
        ("zhong1", "ꭧʊ→ŋ"),
        ("shi4", "ʂɨ↘"),
        ("xi3", "ɕi↓"),
        ("qu4", "ʨʰy↘"),
        ("lv4", "ly↘"),
        ("yuan2", "ɥɛ↗n"),
        ("er2", "ɚ↗"),
        ("de5", "tɤ"),
        ("wong4", "wə↘ŋ"),
        ("qqq1", ""),
    ],
)
def test_syllables(pinyin: str, phonemes: str) -> None:
    assert syllable_phonemes(pinyin) == phonemes


def test_every_reading_of_the_dictionary_is_in_the_table_and_the_vocabulary() -> None:
    from pypinyin import pinyin_dict
    from pypinyin.contrib.tone_convert import to_tone3

    readings = {
        to_tone3(reading, v_to_u=False, neutral_tone_with_five=True)
        for entry in pinyin_dict.pinyin_dict.values()
        for reading in unicodedata.normalize("NFC", entry).split(",")
    }
    assert len(readings) > 1_400
    spoken = {reading: syllable_phonemes(reading) for reading in readings if re.search("[a-zê]", reading)}
    assert [reading for reading, phonemes in spoken.items() if not phonemes] == []
    assert set("".join(spoken.values())) <= vocabulary().keys()
