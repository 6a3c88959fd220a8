"""The front door of this room: a caller's text becomes the sentences that an engine speaks."""

from cosyvoice_web.errors import NothingToSpeak
from cosyvoice_web.text import speech_marks
from cosyvoice_web.text.characters import is_speakable
from cosyvoice_web.text.cleaning import clean
from cosyvoice_web.text.languages import read_languages, requested_language
from cosyvoice_web.text.normalize import normalize, terminated
from cosyvoice_web.text.sentences import Run, Sentence
from cosyvoice_web.text.splitting import split


def prepare_text(
    text: str, language: str, languages: frozenset[str], *, max_units: int = 80, keep_speech_marks: bool = False
) -> tuple[Sentence, ...]:
    """Clean, split, find the languages, and write out what is to be said.

    Args:
        text: what the caller sent; may hold markup, emoji, several languages.
        language: "auto" or a code of `languages`; decides for Han characters and digits that could be in more than one.
        languages: what the loaded engine speaks.
        max_units: longest sentence, in syllables or so: a Han character 1, a Latin letter 0.4.
        keep_speech_marks: leave [laughter] and its like (see `speech_marks`) in what is spoken, for a model that obeys
            them; else they are not spoken.

    Returns:
        At least one sentence. Their slices of `text` are in order and hold every letter and digit of it.

    Raises:
        NothingToSpeak: no letter or digit; found before any grammar is loaded.
        UnsupportedLanguage: words in a language outside `languages`, or an unknown `language`.
    """
    requested = requested_language(language, languages)
    cleaned = clean(text, keep_speech_marks=keep_speech_marks)
    if not any(map(is_speakable, cleaned.text)):
        raise NothingToSpeak
    pieces = split(cleaned.text, max_units)
    parts = speech_marks.completed(cleaned.text[start:end] for start, end in pieces)
    readings = read_languages(list(parts), requested, languages)
    starts = [0, *(cleaned.starts[piece.start] for piece in pieces[1:]), len(text)]
    sentences: list[Sentence] = []
    for reading, start, end in zip(readings, starts, starts[1:], strict=False):
        source = text[start:end]
        start += len(source) - len(source.lstrip())
        source = source.strip()
        runs = tuple(run for part, code in reading.runs if (run := Run(_normalized(part, code), code)).text.strip())
        sentences.append(Sentence(source, start, start + len(source), reading.language, _finished(runs)))
    return tuple(sentences)


def warm_up(languages: frozenset[str]) -> None:
    """Load the grammars of these languages, so that the first request pays nothing extra."""
    for language, probe in (("zh", "3天。"), ("ja", "3日です。"), ("en", "3 days, 5 km."), ("ko", "3일.")):
        if language in languages:
            normalize(probe, language)


def _normalized(text: str, language: str) -> str:
    return speech_marks.between(text, lambda part: normalize(part, language))


def _finished(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    first = Run(runs[0].text.lstrip(" ,.，。、;；:：!?！？"), runs[0].language)
    runs = (first, *runs[1:])
    last = runs[-1]
    ended = speech_marks.before_last(last.text, lambda text: terminated(text, last.language))
    return tuple(Run(speech_marks.spelt(run.text), run.language) for run in (*runs[:-1], Run(ended, last.language)))
