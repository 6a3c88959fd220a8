import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosyvoice_web.engines.cosyvoice.tokenizer import LANGUAGE_MARKS, RANKS_PATH, VOCABULARY_SIZE, TextTokenizer
from tests.engines.cosyvoice.golden_files import GOLDEN_DIR

TOKENIZER = TextTokenizer()
TEXT_TOKEN_COUNT = 50_257
EXAMPLES = json.loads((GOLDEN_DIR / "frontend.json").read_text())["tokenizer"]
MARK = "<|zh|>"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: repr(example["text"][:20]))
def test_ids_are_those_of_the_reference(example: dict[str, object]) -> None:
    text = str(example["text"])
    if text.startswith(MARK):
        assert TOKENIZER.encode(text.removeprefix(MARK), language="zh") == example["ids"]
    else:
        assert TOKENIZER.encode(text) == example["ids"]


def test_the_examples_hold_a_mark() -> None:
    assert sum(example["text"].startswith(MARK) for example in EXAMPLES) == 1


@pytest.mark.parametrize(
    "text", ["<|zh|>", "<|endoftext|>", "<|startoftranscript|>", "<|0.00|>", "a<|30.00|>b", "<|notimestamps|>"]
)
def test_no_text_spells_a_special_token(text: str) -> None:
    ids = TOKENIZER.encode(text)
    assert len(ids) > 1
    assert max(ids) < TEXT_TOKEN_COUNT
    assert TOKENIZER.decode(ids) == text


@given(st.text())
def test_encoding_loses_nothing(text: str) -> None:
    ids = TOKENIZER.encode(text)
    assert all(0 <= token < TEXT_TOKEN_COUNT for token in ids)
    assert TOKENIZER.decode(ids) == text


def test_language_marks_are_special_tokens() -> None:
    assert all(TEXT_TOKEN_COUNT <= mark < VOCABULARY_SIZE for mark in LANGUAGE_MARKS.values())
    assert TOKENIZER.encode("好", language="yue") == [LANGUAGE_MARKS["yue"], *TOKENIZER.encode("好")]


def test_the_merge_table_is_the_published_one() -> None:
    data = RANKS_PATH.read_bytes()
    assert len(data.splitlines()) == TEXT_TOKEN_COUNT
    assert hashlib.sha256(data).hexdigest() in (RANKS_PATH.parent / "NOTICE").read_text()
