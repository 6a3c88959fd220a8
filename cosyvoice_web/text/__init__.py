"""Pure functions on strings: normalisation, languages, sentences. Knows no engine and no audio."""
