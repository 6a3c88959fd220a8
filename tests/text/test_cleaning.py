import time
import unicodedata

import pytest

from cosyvoice_web.text.cleaning import clean
from cosyvoice_web.text.mapped import MappedText

CLEANED = {
    "nfc": ("cafe\u0301 ネコ\u3099", "café ネゴ"),
    "line_breaks": ("a\r\nb\u2028c", "a\n\nb\nc"),
    "emoji": ("好😀的👨‍👩‍👧", "好 的   "),
    "keycap": ("1️⃣", "1"),
    "apostrophe": ("wasn’t", "wasn't"),
    "quotes_keep_their_direction": ("“a”", "“a”"),
    "special_tokens": ("<|endoftext|>x", "  endoftext  x"),
    "too_many_marks": ("e" + "\u0301" * 50, "é\u0301\u0301\u0301"),
    "headings": ("## One ##\n# Two", "One\nTwo"),
    "hash_without_blank": ("#1", "#1"),
    "bullets": ("- one\n* two\n- [x] three", "one\ntwo\nthree"),
    "quote_and_heading": ("> ## a", "a"),
    "emphasis": ("**bold** *it* __u__ ~~no~~ `code`", "bold it u no code"),
    "products_stay": ("3*4 and a * b", "3*4 and a * b"),
    "snake_case": ("a_long_name", "a long name"),
    "fence": ("```python\nx\n```", "\nx\n"),
    "link": ("[the **title**](https://e.com/a_(b)) end", "the title end"),
    "image": ("![cat](cat.png)", "cat"),
    "address_is_not_markup": ("https://e.com/a_b_c*d", "https://e.com/a_b_c*d"),
    "rule": ("a\n---\nb", "a\n\nb"),
    "html": ("<p>a</p><br/>b <i class='x'>c</i>", "\na\n\nb c"),
    "unknown_tag_is_text": ("<foo>a", "<foo>a"),
    "comparison_is_text": ("a < b > c", "a < b > c"),
    "comment_and_style": ("a<!-- x --><style>y</style>b", "a\n\nb"),
    "open_comment_is_text": ("a <!-- b", "a <!-- b"),
    "entities": ("a &amp; b &#65; &bogus;", "a & b A &bogus;"),
}


@pytest.mark.parametrize(("text", "expected"), CLEANED.values(), ids=CLEANED.keys())
def test_clean(text: str, expected: str) -> None:
    assert clean(text).text == expected


def test_every_kept_character_knows_where_it_came_from() -> None:
    text = "<p>Héllo &amp; **you** cafe\u0301 [x](y)</p> 😀 end"
    cleaned = clean(text)
    assert len(cleaned.starts) == len(cleaned.text)
    assert cleaned.starts == sorted(cleaned.starts)
    for char, start in zip(cleaned.text, cleaned.starts, strict=True):
        if char.isalpha() and char != "é":
            assert text[start] == char
    assert text[cleaned.starts[cleaned.text.rindex("é")]] == "e"


def test_an_edit_may_not_grow_the_text_unseen() -> None:
    with pytest.raises(ValueError, match="expected 3 characters"):
        MappedText.of("abc").with_text("ab")


HOSTILE = {
    "brackets": "[" * 50_000,
    "links": "[a](" * 12_000,
    "stars": "a*" * 25_000,
    "tags": "<a " * 17_000,
    "comments": "<!--" * 12_000,
    "scripts": "<script>" * 6_000,
    "marks": "a" + "\u0301\u0323" * 25_000,
    "entities": "&a" * 25_000,
    "labels": "a." * 25_000,
    "hashes": "# " * 25_000,
    "blanks": "a" + " " * 50_000 + "b",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_expression_runs_away(text: str) -> None:
    """A quadratic expression would need minutes here; the bound is generous, it measures no speed."""
    started = time.process_time()
    clean(text + "x")
    assert time.process_time() - started < 20


def test_composition_is_what_unicode_says() -> None:
    text = "A\u030a o\u0308 か\u3099"
    assert clean(text).text == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("text", ["if a<b && c>d then", "x <i y> z", "a <p - q> b"])
def test_a_comparison_is_no_tag(text: str) -> None:
    kept = clean(text).text
    assert [char for char in kept if char.isalpha()] == [char for char in text if char.isalpha()]


def test_tags_with_attributes_are_no_text() -> None:
    text = """<a href="https://x.y/z" target=_blank>one</a> <img src='a.png' alt>two<br /><p class="b c">three</p>"""
    assert clean(text).text.split() == ["one", "two", "three"]
