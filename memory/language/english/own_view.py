"""Observations and what was heard, as their owner tells them: a subject that is left out, and the speaker for "I"."""

from __future__ import annotations

import re
from functools import lru_cache

from cogitate.memory.language.english.grammar import is_past, word_set

#: Past forms that are not passive participles.
_ONLY_PAST = word_set(
    "saw had went took gave ate drank woke wrote spoke chose drove forgot was did fell began knew sang arrived came "
    "sat waited walked talked slept met"
)
_OPENS_OBJECT = word_set(
    "a an the my his her their our your its this that these those some every each no all both another "
    "me him them us you it myself"
)
_YOU, _MY = re.compile(r"\b(?:you|yourself)\b", re.I), re.compile(r"\bmy\b", re.I)
_I_AM, _I_WILL = re.compile(r"\bI(?:['’]m| am)\b"), re.compile(r"\bI(?:['’]ll| will)\b")
_ME = re.compile(r"\bme\b", re.I)


def with_subject(text: str, subject: str) -> str:
    """Return an observation with the subject that it leaves out: "Saw a cat" becomes "Ada saw a cat"."""
    text = text.replace(" engaged in an activity: ", " ")
    first, _, rest = text.partition(" ")
    if subject and rest and _has_subject_left_out(first.lower(), rest):
        return f"{subject} {first[:1].lower()}{first[1:]} {rest}"
    return text


def _has_subject_left_out(first: str, rest: str) -> bool:
    """Return whether a text opens with a verb whose subject is left out: "Lost the key", but not "Lost child found"."""
    following = "".join(rest.split(maxsplit=1)[:1]).lower()
    return first in _ONLY_PAST - {"was"} or (is_past(first) and following in _OPENS_OBJECT)


@lru_cache(maxsize=32_768)  # of appointments, which are read again by each heuristic
def heard(text: str, speaker: str, listener: str) -> str:
    """Return what another said as its listener tells it: with the speaker's name for "I", and for "you".

    To see "you" is to see the speaker. Without a `listener`, "you" stays.
    """
    text = _I_AM.sub(lambda _: f"{speaker} is", text)
    text = _I_WILL.sub(lambda _: f"{speaker} will", text)
    text = _MY.sub(lambda _: f"{speaker}'s", text)
    text = _ME.sub(lambda _: speaker, text)
    return _YOU.sub(lambda _: speaker, text) if listener else text
