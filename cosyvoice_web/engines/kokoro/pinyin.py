"""Pinyin to the phonemes that the model was trained with.

Source: the legacy Mandarin table of misaki 0.9.4 (hexgrad), which this equals on every syllable of pypinyin but
wong4, yo1 and yo5. Tone contours follow the vowel: → first, ↗ second, ↓ third, ↘ fourth, none for the neutral tone.
Sandhi is left to the model, which learned it from unchanged tones.
"""

from functools import cache

_INITIALS = {
    "b": "p", "p": "pʰ", "m": "m", "f": "f", "d": "t", "t": "tʰ", "n": "n", "l": "l", "g": "k", "k": "kʰ", "h": "x",
    "j": "ʨ", "q": "ʨʰ", "x": "ɕ", "zh": "ꭧ", "ch": "ꭧʰ", "sh": "ʂ", "r": "ɻ", "z": "ʦ", "c": "ʦʰ", "s": "s",
}  # fmt: skip
# "0" is the place of the tone
_FINALS = {
    "a": "a0", "ai": "ai0", "an": "a0n", "ang": "a0ŋ", "ao": "au0", "e": "ɤ0", "ei": "ei0", "en": "ə0n",
    "eng": "ə0ŋ", "er": "ɚ0", "i": "i0", "ia": "ja0", "ian": "jɛ0n", "iang": "ja0ŋ", "iao": "jau0", "ie": "je0",
    "in": "i0n", "ing": "i0ŋ", "io": "jɔ0", "iong": "jʊ0ŋ", "iou": "jou0", "o": "wo0", "ong": "ʊ0ŋ", "ou": "ou0",
    "u": "u0", "ua": "wa0", "uai": "wai0", "uan": "wa0n", "uang": "wa0ŋ", "uei": "wei0", "uen": "wə0n",
    "ueng": "wə0ŋ", "uo": "wo0", "ü": "y0", "üan": "ɥɛ0n", "üe": "ɥe0", "ün": "y0n",
}  # fmt: skip
_WHOLE = {
    "er": "ɚ0", "o": "ɔ0", "ê": "ɛ0", "io": "jɔ0", "yo": "jɔ0", "m": "m0", "n": "n0", "ng": "ŋ0", "hm": "hm0",
    "hng": "hŋ0", "wong": "wə0ŋ",
}  # fmt: skip
_TONES = {"1": "→", "2": "↗", "3": "↓", "4": "↘", "5": ""}
_ABBREVIATED = {
    "iu": "iou", "ui": "uei", "un": "uen", "v": "ü", "ve": "üe", "ue": "üe", "van": "üan", "vn": "ün",
}  # fmt: skip
_WITHOUT_INITIAL = {
    "yi": "i", "ya": "ia", "yan": "ian", "yang": "iang", "yao": "iao", "ye": "ie", "yin": "in", "ying": "ing",
    "yong": "iong", "you": "iou", "yu": "ü", "yuan": "üan", "yue": "üe", "yun": "ün", "yai": "iai", "wu": "u",
    "wa": "ua", "wai": "uai", "wan": "uan", "wang": "uang", "wei": "uei", "wen": "uen", "weng": "ueng", "wo": "uo",
}  # fmt: skip
_RETROFLEX_OR_DENTAL = frozenset(("zh", "ch", "sh", "r", "z", "c", "s"))


@cache
def syllable_phonemes(pinyin: str) -> str:
    """Phonemes of one syllable in TONE3 spelling, neutral tone 5: "zhong1" is "ꭧʊ→ŋ".

    Empty when it is no Mandarin syllable.
    """
    body, tone = (pinyin[:-1], _TONES[pinyin[-1]]) if pinyin[-1:] in _TONES else (pinyin, "")
    if body in _WHOLE:
        return _WHOLE[body].replace("0", tone)
    initial = next((head for head in (body[:2], body[:1]) if head in _INITIALS), "")
    final = body[len(initial) :]
    if not initial:
        final = _WITHOUT_INITIAL.get(body, body)
    elif initial in ("j", "q", "x") and final.startswith("u"):
        final = "ü" + final[1:]
    else:
        final = _ABBREVIATED.get(final, final)
    if initial in _RETROFLEX_OR_DENTAL and final == "i":
        return _INITIALS[initial] + "ɨ" + tone
    if final not in _FINALS:
        return ""
    return _INITIALS.get(initial, "") + _FINALS[final].replace("0", tone)
