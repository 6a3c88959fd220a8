from email.message import Message
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosyvoice_web.web.responses import content_disposition

EIGHT = "one-two-three-four-five-six-seven-eight"


def names(header: str) -> tuple[str, str]:
    """What a client reads: the plain name, and the one of filename*."""
    plain = header.split('filename="')[1].split('"')[0]
    extended = header.partition("filename*=UTF-8''")[2]
    return plain, unquote(extended)


@pytest.mark.parametrize(
    ("text", "plain", "extended"),
    [
        ("Hello there, world! How are you?", "Hello-there-world-How-are-you.wav", "Hello-there-world-How-are-you.wav"),
        ("你好，欢迎使用。Hello", "Hello.wav", "你好-欢迎使用-Hello.wav"),
        ("こんにちは。", "speech.wav", "こんにちは.wav"),
        ("Crème brûlée", "Creme-brulee.wav", "Crème-brûlée.wav"),
        ("😀😀", "speech.wav", "speech.wav"),
        ("", "speech.wav", "speech.wav"),
        ("con", "speech.wav", "speech.wav"),
        ("../../etc/passwd", "etc-passwd.wav", "etc-passwd.wav"),
        ('a"; filename="evil.exe', "a-filename-evil-exe.wav", "a-filename-evil-exe.wav"),
        ("a\r\nSet-Cookie: x=1", "a-Set-Cookie-x-1.wav", "a-Set-Cookie-x-1.wav"),
        ("one two three four five six seven eight nine", f"{EIGHT}.wav", f"{EIGHT}.wav"),
        ("x" * 500, "x" * 40 + ".wav", "x" * 40 + ".wav"),
    ],
)
def test_the_download_name_comes_from_the_first_words(text: str, plain: str, extended: str) -> None:
    assert names(content_disposition(text, "wav")) == (plain, extended)


@given(st.text())
def test_no_text_breaks_out_of_the_header(text: str) -> None:
    header = content_disposition(text, "mp3")
    assert header.isascii()
    assert header.isprintable()
    assert header.count('"') == 2
    message = Message()
    message["Content-Disposition"] = header
    name = message.get_filename()
    assert name is not None
    assert name.endswith(".mp3")
    assert "/" not in name
    assert "\\" not in name
    assert not name.startswith(".")
