"""English names of languages, as messages show them."""

_NAMES = {
    "am": "Amharic", "ar": "Arabic", "bn": "Bengali", "bo": "Tibetan", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "fr": "French", "gu": "Gujarati", "he": "Hebrew", "hi": "Hindi", "hy": "Armenian",
    "id": "Indonesian",
    "it": "Italian", "ja": "Japanese", "ka": "Georgian", "km": "Khmer", "kn": "Kannada", "ko": "Korean", "lo": "Lao",
    "ml": "Malayalam", "mn": "Mongolian", "my": "Burmese", "nl": "Dutch", "or": "Odia", "pa": "Punjabi", "pl": "Polish",
    "pt": "Portuguese", "ru": "Russian", "si": "Sinhala", "ta": "Tamil", "te": "Telugu", "th": "Thai", "tr": "Turkish",
    "uk": "Ukrainian", "vi": "Vietnamese", "yue": "Cantonese", "zh": "Chinese",
}  # fmt: skip

SCRIPT_LANGUAGES = {
    "ARABIC": "ar", "ARMENIAN": "hy", "BENGALI": "bn", "CYRILLIC": "ru", "DEVANAGARI": "hi", "ETHIOPIC": "am",
    "GEORGIAN": "ka", "GREEK": "el", "GUJARATI": "gu", "GURMUKHI": "pa", "HEBREW": "he", "KANNADA": "kn", "KHMER": "km",
    "LAO": "lo", "MALAYALAM": "ml", "MONGOLIAN": "mn", "MYANMAR": "my", "ORIYA": "or", "SINHALA": "si", "TAMIL": "ta",
    "TELUGU": "te", "THAI": "th", "TIBETAN": "bo",
}  # fmt: skip
"""Script, as Unicode names it, to the language most written in it."""


def language_name(code: str) -> str:
    """The code "ko" gives "Korean (ko)"; an unknown code is shown as it is."""
    name = _NAMES.get(code)
    return f"{name} ({code})" if name else f"{code!r}"
