"""Web and e-mail addresses: where they are, and how they are read."""

import re

_TLD = (
    "com|org|net|edu|gov|io|co|ai|app|dev|cn|jp|kr|uk|de|fr|info|biz|us|eu|ca|au|tv|me|ly|tw|hk|ru|in|it|es|nl|se"
    "|ch|xyz"
)
ADDRESS = (
    r"(?:https?|ftp)://[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+(?<![.,;:!?'\")\]*_~])"
    r"|(?<![A-Za-z0-9])www\.[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+(?<![.,;:!?'\")\]*_~])"
    r"|(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}"
    rf"|(?<![A-Za-z0-9.@_-])(?:[A-Za-z0-9-]{{1,63}}\.){{1,5}}(?:{_TLD})(?![A-Za-z0-9])"
    r"(?:/[A-Za-z0-9\-._~:/?#@!$&*+,;=%]*(?<![.,;:!?*_~]))?"
)
"""Source of a regular expression; every repetition is bounded or starts at a fixed text, so it cannot run away."""

ADDRESS_PATTERN = re.compile(ADDRESS)
_SCHEME = re.compile(r"^(?:https?|ftp)://")
_SIGNS = {
    ".": " dot ",
    "/": " slash ",
    "@": " at ",
    "-": " dash ",
    "_": " underscore ",
    "?": " question mark ",
    "=": " equals ",
    "&": " and ",
    "#": " hash ",
    ":": " colon ",
    "%": " percent ",
    "~": " tilde ",
    "+": " plus ",
}
_SIGN_PATTERN = re.compile(r"[^A-Za-z0-9]")


def spoken_address(address: str) -> str:
    """`https://example.com/a-b` -> `example dot com slash a dash b`; the scheme is not read."""
    body = _SCHEME.sub("", address).rstrip("/")
    return " ".join(_SIGN_PATTERN.sub(lambda sign: _SIGNS.get(sign.group(), " "), body).split())
