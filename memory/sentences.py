"""Sentences and clauses of what was said or seen, freed of greetings, interjections and forms of address."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Words after which a full stop ends no sentence.
_ABBREVIATIONS = frozenset({"mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "e.g", "i.e", "approx", "dept"})
_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s|$)|[。！？][”」』]?|\n+")
_CLAUSE = re.compile(
    r"\s+[-–—]+\s+|\s*—\s*|(?<=\w)[-–]\s+|;\s+|"
    r",?\s+(?:but|so|and)\s+(?=(?:I|we|it|they|he|she|there|this|that)(?:['’]\w+)?\s+[\w'’]+\s+\w+)",
    re.IGNORECASE,
)
_EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]+")
_SPACE = re.compile(r"\s+")
_OPENING = re.compile(
    r"^(?:(?:oh|ah|wow|whoa|woah|yeah|yes|yep|yup|yay|no|nah|nope|ok|okay|well|hey|hi|hello|hmm|haha|aw|aww|ugh|man|"
    r"totally|definitely|absolutely|exactly|sure|right|thanks|thank you|cool|great|nice|awesome|congrats|plus|"
    r"so|and|but|also|anyway|by the way|btw|guess what|actually|honestly|of course|for sure|unfortunately|hopefully|"
    r"you know|i mean)\b[,.!\s]*)+(?:(?<=[,.!])\s*|(?<=[,.!]\s)|(?=\b(?:I|we|my|our)\b))",
    re.IGNORECASE,
)


def split_sentences(text: str) -> list[str]:
    """The sentences of `text` in order, trimmed. Understands Latin, Cyrillic and CJK full stops and line ends."""
    found: list[str] = []
    start = 0
    for match in _END.finditer(text):
        piece = text[start : match.end()].strip()
        last = piece.rsplit(None, 1)[-1].lstrip("(\"'") if piece else ""
        if last.rstrip(".").casefold() in _ABBREVIATIONS or re.fullmatch(r"[^\W\d_]\.", last):
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


def clean(sentence: str, names: Iterable[str] = ()) -> str:
    """The sentence without emoji, opening interjections and the `names` of those addressed."""
    text = _SPACE.sub(" ", _EMOJI.sub("", sentence).replace("’", "'")).strip()
    for name in names:
        forms = "|".join(re.escape(form) for form in _address_forms(name))
        text = re.sub(rf"(?:,\s*(?:{forms})|(?<=\w)\s+(?:{forms}))\s*(?=[.!?…]+$)", "", text)
        text = re.sub(rf"^((?:[\w']+\s+){{0,2}}?)(?:{forms})\s*[,!]\s*", r"\1", text)
        text = re.sub(rf",\s*(?:{forms}),\s*", ", ", text)
    shorter = _OPENING.sub("", text, count=1).strip()
    return shorter if re.search(r"\w", shorter) else text


def _address_forms(name: str) -> list[str]:
    """How people call someone: the whole name, its first word, and that word's first syllable ("Mel")."""
    first = name.split()[0] if name.split() else name
    forms = {name, first, first[:3]} if len(first) > 4 else {name, first}
    return sorted(forms, key=lambda form: (-len(form), form))
