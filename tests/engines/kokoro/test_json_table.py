import gzip
import json
from importlib.resources import files

import pytest

from cosyvoice_web.engines.kokoro.json_table import JsonTable


def test_it_answers_as_a_dict() -> None:
    table = JsonTable('{"b":"β","a":{"X":"1","Y":2.5},"a\\"c":"q\\"","ab":"z"}'.encode())
    assert len(table) == 4
    assert [table.get(key) for key in ("b", "a", 'a"c', "ab", "c", "")] == [
        "β",
        {"X": "1", "Y": 2.5},
        'q"',
        "z",
        None,
        None,
    ]
    assert table.get("c", 3) == 3


@pytest.mark.parametrize("name", ["lexicon_us_gold", "lexicon_us_silver"])
def test_it_answers_as_the_parsed_dictionary(name: str) -> None:
    text = gzip.decompress((files("hibari") / "assets" / f"{name}.json.gz").read_bytes())
    table, parsed = JsonTable(text), json.loads(text)
    assert len(table) == len(parsed)
    assert [key for key, value in parsed.items() if table.get(key) != value] == []
