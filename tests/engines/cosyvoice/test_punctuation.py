import pytest

from cosyvoice_web.engines.cosyvoice.punctuation import with_stops, with_stops_between


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("想喝咖啡？您可以来。", "想喝咖啡。您可以来。"),
        ("好！走；吧？", "好。走。吧？"),
        ("什么？！真的！！！", "什么。真的！！！"),
        ("Really? Yes! I do; you?", "Really. Yes. I do. you?"),
        ("好。对，是、的：嗯", "好。对，是、的：嗯"),
        ("“走吗？”他问。", "“走吗。”他问。"),
        ("<laughter>哈！</laughter>。", "<laughter>哈。</laughter>。"),
        ("哈[laughter]！", "哈[laughter]！"),
        ("？", "？"),
        ("", ""),
    ],
)
def test_field_report_A4_marks_before_more_words_become_full_stops(text: str, expected: str) -> None:
    assert with_stops_between(text) == expected


def test_field_report_A4_a_text_before_another_ends_in_a_full_stop_too() -> None:
    assert with_stops("你好吗？") == "你好吗。"
    assert with_stops("How are you?") == "How are you."
