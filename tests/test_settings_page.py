"""docs/settings.md is the table of settings.KNOBS, written out."""

from pathlib import Path

from cosyvoice_web import settings

PAGE = Path(__file__).parent.parent / "docs" / "settings.md"


def table() -> str:
    """The table as the page must have it."""
    rows = ["| variable | default | unit | meaning |", "| --- | --- | --- | --- |"]
    for knob in settings.KNOBS:
        shown = f"`{knob.default}`" if knob.default else ""
        rows.append(f"| `{knob.variable}` | {shown} | {knob.unit} | {knob.help} |")
    return "\n".join(rows)


def test_the_page_holds_the_table_of_the_program() -> None:
    assert table() in PAGE.read_text(encoding="utf-8"), f"the table of docs/settings.md must be:\n{table()}"
