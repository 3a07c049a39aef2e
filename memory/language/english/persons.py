"""First and second persons replaced by third ones, verbs agreeing: "I love your shop" is "Jon loves Gina's shop"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from cogitate.memory.language.english.grammar import PLURAL, SINGULAR, agree, is_adverb, is_past, takes_object
from cogitate.memory.language.tables import english


class Pronouns(NamedTuple):
    """The forms that replace "I", "me", "my", "mine" and "myself"; `plural` says which verbs follow."""

    subject: str
    object: str
    possessive: str
    absolute: str
    reflexive: str
    plural: bool = False


SHE = Pronouns("she", "her", "her", "hers", "herself")
HE = Pronouns("he", "him", "his", "his", "himself")
THEY = Pronouns("they", "them", "their", "theirs", "themselves", plural=True)
_PRONOUNS = dict.fromkeys(english("hers"), SHE) | dict.fromkeys(english("his"), HE)

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*|\s+|[^\w\s]|_")
_EXPANSIONS = {
    "i'm": "I am",
    "i've": "I have",
    "i'll": "I will",
    "im": "I am",
    "you're": "you are",
    "you've": "you have",
    "you'll": "you will",
    "we're": "we are",
    "we've": "we have",
    "we'll": "we will",
    "gonna": "going to",
    "wanna": "want to",
    "gotta": "have to",
    "kinda": "kind of",
    "ya": "you",
    "ain't": "am not",
}
_SAYS = re.compile(r"\b(?:say|says|saying|said) thank $", re.IGNORECASE)
_WOULD_OR_HAD = {"i'd": "I", "you'd": "you", "we'd": "we"}
_AFTER_HAD = {"been", "better", "done", "left"}  # beside pasts and participles; the rest follows "would"
_ALWAYS_OF_SUBJECT = {"are", "were", "aren't", "weren't", "have", "haven't"}
_BEFORE_NOUN = {"the", "that", "this", "a", "old", "new", "silver", "gold", "coal", "iron", "salt"}  # "the old mine"
_ME = {"me", "my", "mine", "myself"}
_WE = {"we": "they", "us": "them", "our": "their", "ours": "theirs", "ourselves": "themselves"}


def pronouns_of(name: str) -> Pronouns:
    """Return the pronouns that nearly everyone of this given name goes by, or "they" where there is no such custom."""
    first = name.split(maxsplit=1)[0].casefold() if name.split() else ""
    return _PRONOUNS.get(first, THEY)


def tokens_of(sentence: str) -> list[str]:
    """Words, spaces and marks in order, with contractions of persons written out ("I'm" as "I", " ", "am")."""
    raw = _TOKEN.findall(sentence.replace("’", "'"))
    out: list[str] = []
    for at, token in enumerate(raw):
        low = token.lower()
        if low in _WOULD_OR_HAD:
            following = next((one for one in _words_after(raw, at) if not is_adverb(one)), "")
            out += [_WOULD_OR_HAD[low], " ", "had" if following in _AFTER_HAD or is_past(following) else "would"]
        elif low == "cause" and out[-1:] == ["'"]:
            out[-1] = "because"
        else:
            out += _TOKEN.findall(_EXPANSIONS.get(low, token))
    return out


def replace_persons(tokens: Sequence[str], speaker: str, listener: str, *, named: bool, heard: bool = False) -> str:
    """Return the tokens as a text in which `speaker` is "I" no more, nor `listener` (if any) "you".

    `named`, `heard`: the speaker, the listener was named before, so that pronouns suffice. The listener is named again
    where its pronouns are the speaker's.
    """
    mine, yours = pronouns_of(speaker), pronouns_of(listener)
    told_apart = yours.subject != mine.subject and not yours.plural
    out: list[str] = []
    agreement: Mapping[str, str] | None = None  # that the coming verb must take
    of_subject = False  # the listener is the last person named, so "your" refers to the subject
    previous = ""
    for at, token in enumerate(tokens):
        low = token.lower()
        if not token[0].isalnum():
            out.append(token)
            if token in ",;:" or (token == "-" and tokens[at - 1].isspace()):
                agreement = None
                of_subject = False
            continue
        of_subject = of_subject and not token[0].isupper() and low not in _ME and low not in _WE
        if low == "you" and previous == "thank" and _SAYS.search("".join(out)[-20:]):
            out.append(token)
        elif low == "you" and _next(tokens, at) == "both" and not takes_object(previous):
            out.append("they")
            agreement = PLURAL
        elif low == "i":
            out.append(mine.subject if named else speaker)
            agreement = PLURAL if named and mine.plural else SINGULAR
            named = True
        elif low in _ME and not (low == "mine" and previous in _BEFORE_NOUN):
            known = {"me": mine.object, "my": mine.possessive, "mine": mine.absolute, "myself": mine.reflexive}
            first = {"me": speaker, "myself": mine.reflexive}.get(low, f"{speaker}'s")
            out.append(known[low] if named else first)
            named = True
        elif low in _WE:
            out.append(_WE[low])
        elif listener and low in {"you", "your", "yours", "yourself"}:
            subject = low == "you" and (_next(tokens, at) in _ALWAYS_OF_SUBJECT or not takes_object(previous))
            if low == "yourself":
                out.append(yours.reflexive)
            elif low == "your" and of_subject:
                out.append(yours.possessive)
            elif heard and told_apart:
                known = {"you": yours.subject if subject else yours.object, "your": yours.possessive}
                out.append(known.get(low, yours.absolute))
            else:
                out.append(listener if low == "you" else f"{listener}'s")
            heard = True
            of_subject = of_subject or subject
            agreement = SINGULAR if subject else agreement
        elif previous == "you" and low in {"guys", "all", "two"}:
            out.pop()
            continue
        elif agreement is not None and not is_adverb(low) and not low.isdigit() and tokens[at + 1 : at + 2] != ["-"]:
            out.append(agree(token, agreement))
            agreement = None
        else:
            out.append(token)
        previous = low
    return "".join(out).strip()


def _words_after(tokens: Sequence[str], at: int) -> Iterator[str]:
    return (tokens[i].lower() for i in range(at + 1, len(tokens)) if tokens[i][0].isalnum())


def _next(tokens: Sequence[str], at: int) -> str:
    return next(_words_after(tokens, at), "")
