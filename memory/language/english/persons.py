"""First persons replaced by third ones, the verb agreeing: "I love my shop" is "Jon loves his shop"."""

from __future__ import annotations

import re
from typing import NamedTuple

from cogitate.memory.language.english.grammar import agree, is_adverb
from cogitate.memory.language.tables import english


class Pronouns(NamedTuple):
    """The forms that replace "me", "my", "mine" and "myself"."""

    object: str
    possessive: str
    absolute: str
    reflexive: str


SHE = Pronouns("her", "her", "hers", "herself")
HE = Pronouns("him", "his", "his", "himself")
THEY = Pronouns("them", "their", "theirs", "themselves")
_PRONOUNS = dict.fromkeys(english("hers"), SHE) | dict.fromkeys(english("his"), HE)

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*|\s+|[^\w\s]|_")
_EXPANSIONS = {
    "i'm": "I am",
    "i've": "I have",
    "i'll": "I will",
    "im": "I am",
    "gonna": "going to",
    "wanna": "want to",
    "gotta": "have to",
    "kinda": "kind of",
    "ain't": "am not",
}
_BEFORE_NOUN = {"the", "that", "this", "a", "old", "new", "silver", "gold", "coal", "iron", "salt"}  # "the old mine"


def pronouns_of(name: str) -> Pronouns:
    """Return the pronouns that nearly everyone of this given name goes by, or "they" where there is no such custom."""
    first = name.split(maxsplit=1)[0].casefold() if name.split() else ""
    return _PRONOUNS.get(first, THEY)


def tokens_of(sentence: str) -> list[str]:
    """Return words, spaces and marks in order, with contractions written out ("I'm" as "I", " ", "am")."""
    raw = _TOKEN.findall(sentence.replace("’", "'"))
    return [part for token in raw for part in _TOKEN.findall(_EXPANSIONS.get(token.lower(), token))]


def third_person(sentence: str, speaker: str) -> str:
    """Return a sentence as others would tell it of its speaker, who is named once."""
    mine = pronouns_of(speaker)
    known = {"me": mine.object, "my": mine.possessive, "mine": mine.absolute, "myself": mine.reflexive}
    tokens = tokens_of(sentence)
    out: list[str] = []
    named = agrees = False  # `agrees`: the coming verb must
    previous = ""
    for at, token in enumerate(tokens):
        low = token.lower()
        if not token[0].isalnum():
            agrees = agrees and token not in ",;:" and not (token == "-" and tokens[at - 1].isspace())
            out.append(token)
            continue
        if low == "i":
            out.append(speaker)
            named = agrees = True
        elif low in known and not (low == "mine" and previous in _BEFORE_NOUN):
            out.append(f"{speaker}'s" if low == "my" and not named else known[low])
            named = True
        elif agrees and not is_adverb(low) and not low.isdigit() and tokens[at + 1 : at + 2] != ["-"]:
            out.append(agree(token))
            agrees = False
        else:
            out.append(token)
        previous = low
    told = "".join(out).strip()
    return told[:1].upper() + told[1:]
