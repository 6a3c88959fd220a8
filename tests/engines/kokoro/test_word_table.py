from importlib.resources import files

import pytest

from cosyvoice_web.engines.kokoro.word_table import WordTable


@pytest.fixture(scope="module")
def table() -> WordTable:
    return WordTable((files("jieba") / "dict.txt").read_bytes())


def test_words_beginnings_and_strangers() -> None:
    table = WordTable("中国 7 ns\n中国人 3 n\nAT&T 2 nz\n中 5 f\n".encode())
    assert [table.get(word) for word in ("中", "中国", "中国人", "AT", "AT&T", "国", "中国人民")] == [
        5,
        7,
        3,
        0,
        2,
        None,
        None,
    ]
    assert "AT" in table
    assert "国" not in table
    assert table["中国"] == 7
    with pytest.raises(KeyError):
        table["国"]


def test_it_answers_as_jieba_would(table: WordTable) -> None:
    import jieba

    expected, total = jieba.Tokenizer.gen_pfdict((files("jieba") / "dict.txt").open("rb"))
    assert total == table.total
    assert [(word, count, table.get(word)) for word, count in expected.items() if table.get(word) != count] == []
