import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosyvoice_web.engines.kokoro.chunking import CHUNK_PHONEMES, split_phonemes


def without_spaces(text: str) -> str:
    return "".join(text.split())


def test_short_ones_stay_whole() -> None:
    assert split_phonemes("ni↓xau↓.") == ["ni↓xau↓."]
    assert split_phonemes("") == []
    assert split_phonemes("  ") == []


@pytest.mark.parametrize(
    ("phonemes", "pieces"),
    [
        ("aaaa bbbb. cccc, dddd", ["aaaa bbbb.", "cccc, dddd"]),
        ("aaaa bbb, cccc dddd", ["aaaa bbb,", "cccc dddd"]),
        ("aaaa bbbb cccc dddd", ["aaaa bbbb", "cccc dddd"]),
        ("aaaaaaaa.” bbbbbbb", ["aaaaaaaa.”", "bbbbbbb"]),
    ],
)
def test_it_cuts_at_the_strongest_mark(phonemes: str, pieces: list[str]) -> None:
    assert split_phonemes(phonemes, limit=12) == pieces


def test_a_modifier_stays_with_its_phoneme() -> None:
    assert all(piece[0] in "ta" for piece in split_phonemes("tʰa→" * 100, limit=50))
    assert all(piece[0] in "ˈd" and piece[-1] != "ˈ" for piece in split_phonemes("ˈɛd" * 100, limit=50))


def test_pieces_are_of_about_equal_length() -> None:
    lengths = [len(piece) for piece in split_phonemes("abcd " * 62, limit=150)]
    assert max(lengths) - min(lengths) <= 10


@given(st.text(alphabet="aʰ→ˈː ,.!?…—()“”b", max_size=600), st.integers(8, 150))
def test_nothing_is_lost_and_nothing_is_too_long(phonemes: str, limit: int) -> None:
    pieces = split_phonemes(phonemes, limit)
    assert without_spaces("".join(pieces)) == without_spaces(phonemes)
    assert all(0 < len(piece) <= limit for piece in pieces)


def test_1500_characters_without_a_mark() -> None:
    pieces = split_phonemes("x" * 1_500)
    assert sum(map(len, pieces)) == 1_500
    assert len(pieces) == 1_500 // CHUNK_PHONEMES
