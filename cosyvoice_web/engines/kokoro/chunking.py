"""Phonemes in pieces that the model renders well: bounded memory, early first audio, nothing cut off."""

CHUNK_PHONEMES = 150
"""Longest piece for one inference. The model's own limit is 510; memory and time to first audio grow with the piece."""

_SENTENCE_MARKS = ".!?…"
_CLAUSE_MARKS = ",;:—"
_CLOSERS = ')”"'
_CLINGING = "ʰʲᵝːˈˌ→↗↘↓\u0303" + _SENTENCE_MARKS + _CLAUSE_MARKS + _CLOSERS
_STRESS = "ˈˌ"


def split_phonemes(phonemes: str, limit: int = CHUNK_PHONEMES) -> list[str]:
    """Pieces of at most `limit` characters, of about equal length, that together hold every phoneme in order.

    Cuts behind the strongest mark at hand: the end of a sentence, of a clause, of a word; within a word only where
    it alone is longer than a piece, and then before a phoneme rather than before its modifier.
    """
    pieces: list[str] = []
    rest = phonemes.strip()
    while len(rest) > limit:
        cut = _best_cut(rest, limit)
        pieces.append(rest[:cut].strip())
        rest = rest[cut:].strip()
    return [piece for piece in (*pieces, rest) if piece]


def _best_cut(phonemes: str, limit: int) -> int:
    ideal = len(phonemes) / -(-len(phonemes) // limit)
    low = max(1, int(ideal * 0.5))
    return max(range(low, limit + 1), key=lambda cut: (_strength(phonemes, cut), -abs(cut - ideal)))


def _strength(phonemes: str, cut: int) -> int:
    """How good a place it is to cut before character `cut`."""
    before, after = phonemes[cut - 1], phonemes[cut]
    if after in _CLOSERS or after in _SENTENCE_MARKS + _CLAUSE_MARKS:
        return 0
    if before == " ":
        mark = phonemes[:cut].rstrip().rstrip(_CLOSERS)[-1:]
        return 4 if mark in _SENTENCE_MARKS else 3 if mark in _CLAUSE_MARKS else 2
    if before in _SENTENCE_MARKS + _CLAUSE_MARKS:
        return 3
    return 1 if (after not in _CLINGING or after in _STRESS) and before not in _STRESS else 0
