"""Clauses of a sentence: each has a subject and a verb, and may stand alone.

Every pattern here is linear, whatever the text: repeats are possessive (`++`), and a match that may begin with a
repeat begins only at the start of that run of characters (`(?<!…)`).
"""

from __future__ import annotations

import re

from cogitate.memory.language.english.grammar import has_verb, word_set
from cogitate.memory.language.sentences import QUESTIONS, SPACED, UNSPACED, full_stop

_CONJUNCTION = r"(?:but|and\s++so|so|and)\s++(?=(?:I|we|it|they|he|she|there|this|that)(?:['’]\w++)?\s++[\w'’]++\s++\w)"
_CLAUSE = re.compile(
    rf"(?<!\s)\s++(?:[-–—]++\s++|—\s*+|{_CONJUNCTION})|—\s*+|(?<=\w)[-–]\s++|;\s++|,\s++{_CONJUNCTION}",
    re.IGNORECASE,
)
_WORDLIKE = re.compile(r"\w")
_QUOTES = re.compile('["“”„«»「」]')
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
#: A part that opens with one of these depends on the part after it.
_SUBORDINATING = word_set("if when whenever because since while although though unless until as after before whether")


def split_clauses(sentence: str) -> list[str]:
    """Return the independent clauses of a sentence: cut at dashes, semicolons, and conjunctions before a subject.

    It is cut only if both parts have a verb: "My wife and I argued" is one clause. So is a sentence that quotes.
    """
    if _QUOTES.search(sentence):
        return [sentence]
    ending = sentence[-1] if sentence.endswith(("!", "！", *QUESTIONS)) else ""
    pieces: list[str] = []
    start = begun = ended = 0  # starts of the current clause and of its last part, and the end of the part before
    stands = False
    for ends, begins in [*(match.span() for match in _CLAUSE.finditer(sentence)), (len(sentence), len(sentence))]:
        alone = _stands_alone(sentence[begun:ends], first=begun == start)
        if begun > start and stands and alone:
            pieces.append(sentence[start:ended])
            start, stands = begun, False
        stands, ended, begun = stands or alone, ends, begins
    pieces.append(sentence[start:])
    pieces = [p for p in (p.strip(" ,") for p in pieces) if _WORDLIKE.search(p)]
    return [p if p[-1] in SPACED + UNSPACED else p + (ending or full_stop(p)) for p in pieces]


def _stands_alone(part: str, *, first: bool) -> bool:
    """Return whether a part of a sentence may be a sentence: it has a verb, and no conjunction makes it depend."""
    said = _TOKEN.findall(part.replace("’", "'").lower())
    if not said:
        return False
    return not said[0].isascii() or (has_verb(said) and not (first and said[0] in _SUBORDINATING))
