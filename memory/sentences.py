"""Sentences and clauses of what was said or seen, freed of greetings, interjections and forms of address."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Words after which a full stop ends no sentence.
_ABBREVIATIONS = frozenset({"mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "e.g", "i.e", "approx", "dept"})
_MAY_END = frozenset({"a.m", "p.m", "etc", "no", "inc"})
_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s|$)|[。！？][”」』]?|\n+")
_CLAUSE = re.compile(
    r"\s+[-–—]+\s+|\s*—\s*|(?<=\w)[-–]\s+|;\s+|"
    r",?\s+(?:but|so|and)\s+(?=(?:I|we|it|they|he|she|there|this|that)(?:['’]\w+)?\s+[\w'’]+\s+\w+)",
    re.IGNORECASE,
)
_EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]+")
_SPACE = re.compile(r"\s+")
_CALL = r"(?:oh|ah|wow|whoa|woah|yeah|yes|yep|yup|yay|no|nah|nope|ok|okay|well|hey|hi|hello|bye|hmm|haha|ha|aw|aww|ugh)"
_POLITE = (
    r"(?:thanks|thank you|thx|congrats|congratulations|sorry|good morning|good night|cool|great|nice|awesome|sure)"
)
_OPENING = re.compile(
    rf"^(?:{_CALL}\b[,.!\s]*|(?:and|but|plus|also|anyway|by the way|btw|guess what|tell me)\b[,.!\s]+|"
    rf"(?:{_POLITE}|man|totally|definitely|absolutely|exactly|right|so|actually|honestly|of course|for sure|"
    r"unfortunately|hopefully|you know|i mean)\b(?:[,.!]+\s*|\s+(?=(?:I|we|my|our)\b)))+",
    re.IGNORECASE,
)
_CLOSING = re.compile(r",?\s+(?:btw|by the way|lol|haha|huh|right|you know)(?=[.!?…]*$)", re.IGNORECASE)


def split_sentences(text: str) -> list[str]:
    """The sentences of `text` in order, trimmed. Understands Latin, Cyrillic and CJK full stops and line ends."""
    found: list[str] = []
    start = 0
    for match in _END.finditer(text):
        piece = text[start : match.end()].strip()
        last = piece.rsplit(None, 1)[-1].lstrip("(\"'") if piece else ""
        short = last.rstrip(".").casefold()
        goes_on = text[match.end() :].lstrip()[:1].islower()
        if short in _ABBREVIATIONS or re.fullmatch(r"(?!I)[^\W\d_]\.", last) or (goes_on and short in _MAY_END):
            continue
        if piece:
            found.append(piece)
        start = match.end()
    rest = text[start:].strip()
    return [*found, rest] if rest else found


def split_clauses(sentence: str) -> list[str]:
    """The clauses of a sentence that can stand alone: cut at dashes, semicolons, and conjunctions before a subject."""
    ending = sentence[-1] if sentence[-1:] in "?!" else "."
    pieces = [p.strip(" ,") for p in _CLAUSE.split(sentence)]
    pieces = [p for p in pieces if p]
    return [p if p[-1] in ".?!…。！？" else p + ending for p in pieces]


def clean(sentence: str, addressed: Iterable[str] = ()) -> str:
    """The sentence without emoji, interjections around it, and the names of those it is `addressed` to."""
    text = _SPACE.sub(" ", _EMOJI.sub("", sentence).replace("’", "'")).strip()
    for name in addressed:
        forms = "|".join(re.escape(form) for form in _address_forms(name))
        text = re.sub(rf",\s*(?:{forms})\s*(?=[.!?…]+$)", "", text)
        text = re.sub(rf"^((?:(?:{_CALL}|{_POLITE})[,!]?\s+)*)(?:{forms})\s*[,!]\s*", r"\1", text, flags=re.IGNORECASE)
        text = re.sub(rf"^({_CALL}|{_POLITE})\s+(?:{forms})\b", r"\1,", text, flags=re.IGNORECASE)
        text = re.sub(rf",\s*(?:{forms}),\s*", ", ", text)
    shorter = _CLOSING.sub("", _OPENING.sub("", text, count=1)).strip()
    return shorter if re.search(r"\w", shorter) else text


def _address_forms(name: str) -> list[str]:
    """How people call someone: the whole name, its first word, and that word's first syllable ("Mel")."""
    first = name.split()[0] if name.split() else name
    forms = {name, first, first[:3]} if len(first) > 4 else {name, first}
    return sorted(forms, key=lambda form: (-len(form), form))
