"""The front door of this room: a caller's text becomes the sentences that an engine speaks."""

from cosyvoice_web.errors import NothingToSpeak
from cosyvoice_web.text.characters import is_speakable
from cosyvoice_web.text.cleaning import clean
from cosyvoice_web.text.languages import read_languages, requested_language
from cosyvoice_web.text.normalize import normalize, terminated
from cosyvoice_web.text.sentences import Run, Sentence
from cosyvoice_web.text.splitting import split


def prepare_text(text: str, language: str, languages: frozenset[str], *, max_units: int = 80) -> tuple[Sentence, ...]:
    """Clean, split, find the languages, and write out what is to be said.

    Args:
        text: what the caller sent; may hold markup, emoji, several languages.
        language: "auto" or a code of `languages`; decides for Han characters and digits that could be in more than one.
        languages: what the loaded engine speaks.
        max_units: longest sentence, in syllables or so: a Han character 1, a Latin letter 0.4.

    Returns:
        At least one sentence. Their slices of `text` are in order and hold every letter and digit of it.

    Raises:
        NothingToSpeak: no letter or digit; found before any grammar is loaded.
        UnsupportedLanguage: words in a language outside `languages`, or an unknown `language`.
    """
    requested = requested_language(language, languages)
    cleaned = clean(text)
    if not any(map(is_speakable, cleaned.text)):
        raise NothingToSpeak
    pieces = split(cleaned.text, max_units)
    readings = read_languages([cleaned.text[start:end] for start, end in pieces], requested, languages)
    starts = [0, *(cleaned.starts[piece.start] for piece in pieces[1:]), len(text)]
    sentences: list[Sentence] = []
    for reading, start, end in zip(readings, starts, starts[1:], strict=False):
        source = text[start:end]
        start += len(source) - len(source.lstrip())
        source = source.strip()
        runs = tuple(run for part, code in reading.runs if (run := Run(normalize(part, code), code)).text.strip())
        sentences.append(Sentence(source, start, start + len(source), reading.language, _finished(runs)))
    return tuple(sentences)


def warm_up(languages: frozenset[str]) -> None:
    """Load the grammars of these languages, so that the first request pays nothing extra."""
    for language, probe in (("zh", "3天。"), ("ja", "3日です。"), ("en", "3 days, 5 km."), ("ko", "3일.")):
        if language in languages:
            normalize(probe, language)


def _finished(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    first = Run(runs[0].text.lstrip(" ,.，。、;；:：!?！？"), runs[0].language)
    runs = (first, *runs[1:])
    last = runs[-1]
    return (*runs[:-1], Run(terminated(last.text, last.language), last.language))
