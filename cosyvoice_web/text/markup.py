"""Reduces HTML and Markdown to the words a reader would see. Unknown tags stay text."""

import html
import re
import unicodedata
from collections.abc import Iterator

from cosyvoice_web.text.addresses import ADDRESS
from cosyvoice_web.text.mapped import Edit, MappedText
from cosyvoice_web.text.speech_marks import HELD_RANGE

_INLINE_TAGS = (
    "a|abbr|b|bdi|bdo|big|cite|code|del|dfn|em|font|i|img|ins|kbd|label|mark|q|s|samp|small|span|strike|strong|sub|sup"
    "|time|tt|u|var|wbr|speak|voice|prosody|emphasis"
)
_BLOCK_TAGS = (
    "address|article|aside|blockquote|body|br|caption|center|dd|details|div|dl|dt|figcaption|figure|footer|form"
    "|h[1-6]|head|header|hr|html|li|main|nav|ol|option|p|pre|section|select|summary|table|tbody|td|tfoot|th|thead|title"
    "|tr|ul"
)
# What may follow a tag's name; any other word is text: in `if a <b && c> d` nothing is a tag.
_VALUE = r"""(?:"[^"<>]{0,2000}"|'[^'<>]{0,2000}'|[^\s"'<>=`]{1,2000})"""
_FLAGS = "alt|checked|controls|disabled|hidden|nowrap|open|reversed|selected"
_ATTRIBUTES = rf"(?:\s+(?:[A-Za-z_:][\w:.-]{{0,60}}\s?=\s?{_VALUE}|(?:{_FLAGS})(?=[\s/>]))){{0,30}}"
_TAG = re.compile(rf"</?(?:(?:{_INLINE_TAGS})|(?P<block>{_BLOCK_TAGS})){_ATTRIBUTES}\s*/?>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_HIDDEN = (("<!--", "-->"), ("<script", "</script>"), ("<style", "</style>"))

# Marks at the start of a line: quote, heading, bullet with an optional check box, code fence with its language.
_LINE_MARK = re.compile(
    r"^[ \t]{0,12}(?:(?:>[ \t]?){1,9}|\#{1,6}[ \t]+|[-*+•●▪◦][ \t]+(?:\[[ xX]\][ \t]+)?|(?:```|~~~)[^\n`]*$)",
    re.MULTILINE,
)
_LINE_WITHOUT_WORDS = re.compile(rf"^(?:[^\w\n。！？…{HELD_RANGE}]|_)+$", re.MULTILINE)
_HEADING_END = re.compile(r"[ \t]#{1,6}[ \t]*$", re.MULTILINE)
_INLINE = re.compile(
    r"!?\[(?P<title>[^\[\]\n]{0,1000})\](?:\((?P<target>[^()\s]{0,2000}(?:\([^()\s]{0,200}\)[^()\s]{0,200})?)"
    r"(?:[ \t]+\"[^\"\n]{0,300}\")?\)|\[[^\[\]\n]{0,100}\])"
    rf"|(?P<address>{ADDRESS})"
    r"|(?P<tick>`+)|(?P<tilde>~{2,})|(?P<star>\*+)|(?P<under>_+)|(?P<escape>\\(?=[*_#`~\[\]()>!.+\-]))"
)


def without_markup(mapped: MappedText) -> MappedText:
    """Drop tags, hidden parts and marks; links and images become their titles. Linear time."""
    if "<" in mapped.text:
        mapped = mapped.edited(_hidden_parts(mapped.text))
        mapped = mapped.replaced(_TAG, lambda tag: "\n" if tag["block"] else "")
    if "&" in mapped.text:
        mapped = mapped.replaced(_ENTITY, _character)
    for _ in range(2):  # a heading inside a quotation
        mapped = mapped.replaced(_LINE_MARK, lambda _: "")
    mapped = mapped.replaced(_HEADING_END, lambda _: "").replaced(_LINE_WITHOUT_WORDS, lambda _: "")
    return mapped.edited(_inline_marks(mapped.text))


def _hidden_parts(text: str) -> Iterator[Edit]:
    lowered = text.lower() if len(text.lower()) == len(text) else text
    position = 0
    found = {begin: lowered.find(begin) for begin, _ in _HIDDEN}
    while True:
        starts = [(at, begin, end) for begin, end in _HIDDEN if (at := found[begin]) >= 0]
        if not starts:
            return
        at, begin, end = min(starts)
        close = lowered.find(end, at)
        if close < 0:  # never closed: it is text, and so is every later one of its kind
            found[begin] = -1
            continue
        position = close + len(end)
        yield at, position, "\n"
        found = {name: at if at < 0 or at >= position else lowered.find(name, position) for name, at in found.items()}


def _character(entity: re.Match[str]) -> str | None:
    decoded = html.unescape(entity.group())
    if len(decoded) != 1:
        return None
    return " " if unicodedata.category(decoded)[0] == "C" else decoded  # a control or private character says nothing


def _inline_marks(text: str) -> Iterator[Edit]:
    for match in _INLINE.finditer(text):
        start, end = match.span()
        kind = match.lastgroup
        before, after = text[max(start - 1, 0) : start], text[end : end + 1]
        if match["title"] is not None:
            yield start, match.start("title"), ""
            yield from (
                (match.start("title") + a, match.start("title") + b, new)
                for a, b, new in _inline_marks(match["title"].replace("[", " "))
            )
            yield match.end("title"), end, ""
        elif kind in ("tick", "tilde", "escape") or (kind == "star" and not _is_operator(before, after)):
            yield start, end, ""
        elif kind == "under":
            yield start, end, " " if before.isalnum() and after.isalnum() else ""


def _is_operator(before: str, after: str) -> bool:
    """`3*4` and `a * b` are products, `*word*` is emphasis."""
    if before == after == " ":
        return True
    return before.isalnum() and after.isalnum() and (before.isdigit() or after.isdigit())
