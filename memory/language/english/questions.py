"""Questions reported: "What do you think of Luca?" becomes "Yuki asked what Chen thinks of Luca".

Rules for English. A proposal is told as an invitation, a polite wish as what was asked for; any other question is told
where a pronoun or the name of the listener is plainly its subject, so that the order of words can be turned.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cogitate.memory.language.english.grammar import (
    SINGULAR,
    agree,
    is_adverb,
    is_inflected,
    is_past,
    past_of,
    takes_object,
    word_set,
)
from cogitate.memory.language.english.persons import replace_persons, tokens_of
from cogitate.memory.language.english.references import looks_like_name
from cogitate.memory.language.text import FUNCTION_WORDS

LONGEST = 400  # characters of a question that is told in other words

_MARKS = " ?!.…,"
_ASKS = word_set("what who whom whose which where when why how")
_DOES = word_set("do does did")
_VERBS_BEFORE_SUBJECT = _DOES | word_set(
    "is are was were am have has had can could will would should shall must may might"
)
_PRONOUNS = word_set("you i we they he she it")
_BE = word_set("is are was were")
_OPENS_THING = word_set("the my your our his her their")
_SHORT = 4  # words of a thing behind which its "is" may come
_OF_TWO = re.compile(
    r"(?:[,;:—–-]|\b(?:or|and|but|so)) *(?:\w+ )?"
    r"(?:do|does|did|is|are|was|were|have|has|can|could|will|would|should|shall)(?:n['’]t)?"
    r" (?:you|i|we|they|he|she|it)\b",
    re.IGNORECASE,
)
#: "Ada Smith, did you": whom the question is put to.
_CALLED = re.compile(r"(?P<name>[A-Z][\w'’-]*+(?: [A-Z][\w'’-]*+){0,2}), (?=[a-z])")
_INVITES = re.compile(
    r"(?:shall we|(?:would you (?:like|care|be willing)|do you (?:want|fancy|feel like)) to|will you (?=join|come))"
    r" ?(?P<deed>\w.*)",
    re.IGNORECASE | re.DOTALL,
)
_PROPOSES = re.compile(
    r"(?:shall we|why (?:don['’]t|do not) we|how about we|what if we) (?P<deed>\w.*)", re.IGNORECASE | re.DOTALL
)
_WISHES = re.compile(
    r"(?:could|would|will) you (?:please |kindly |possibly )?"
    r"(?!be|have|rather|prefer|like|say|know|mind|hear|see|imagine|believe|want|need|think|ever|not|also|really)"
    r"(?P<deed>[a-z]+\b.*)",
    re.IGNORECASE | re.DOTALL,
)


def reported_question(question: str, speaker: str, listener: str = "") -> str:
    """Return a question as others report it of `speaker`, without a mark at its end; "" where it is best quoted.

    `listener` is its "you", if any, unless it addresses another person by name.
    """
    text = question.strip(_MARKS)
    if not text or len(text) > LONGEST:
        return ""
    called = _CALLED.match(text)
    if called:
        text = text[called.end() :]
        listener = called["name"] if looks_like_name(called["name"], first=True) else listener
    if _OF_TWO.search(text):
        return ""
    if listener and (wished := _wished(text, speaker, listener)):
        return wished
    proposed = _PROPOSES.match(text)
    if proposed:
        deed = replace_persons(tokens_of(proposed["deed"]), speaker, listener, named=True, heard=True)
        return f"{speaker} suggested that they {deed}"
    asked = _indirect("".join(tokens_of(text)).split(), listener)
    return f"{speaker} asked {replace_persons(tokens_of(asked), speaker, listener, named=True)}" if asked else ""


def _wished(text: str, speaker: str, listener: str) -> str:
    """Return what the listener is invited to, or asked for; "" where it is neither."""
    for act, pattern in (("invited", _INVITES), ("asked", _WISHES)):
        match = pattern.match(text)
        if match:
            deed = replace_persons(tokens_of(match["deed"]), speaker, listener, named=True, heard=True)
            return f"{speaker} {act} {listener} to {deed}"
    return ""


def _indirect(words: Sequence[str], listener: str) -> str:
    """Return the clause that a question is within a sentence: "what you think of Luca"; "" where that is not plain."""
    lowered = [word.lower() for word in words]
    asks = lowered[0] in _ASKS
    at = next((i for i, word in enumerate(lowered[:6]) if i >= asks and word in _VERBS_BEFORE_SUBJECT), -1)
    if at < 0 or (not asks and at > 0):
        return " ".join([lowered[0], *words[1:]]) if _is_past_of_others(lowered) else ""
    opening = [lowered[0], *words[1:at]] if asks else ["whether"]
    by_pronoun = not _PRONOUNS.isdisjoint(lowered[at + 1 : at + 2])
    size = 1 if by_pronoun else len(listener.split())
    subject, rest = words[at + 1 : at + 1 + size], list(words[at + 1 + size :])
    if by_pronoun or (listener and " ".join(subject) == listener):
        verb = _as_told(lowered[at], subject[0].lower(), rest)
        return " ".join([*opening, *subject, *verb]) if verb and not takes_object(opening[-1]) else ""
    return _of_thing(opening, words[at], words[at + 1 :]) if asks and lowered[at] in _BE else ""


def _as_told(auxiliary: str, subject: str, rest: Sequence[str]) -> list[str]:
    """Return what follows the subject: "do" and its kin are left out, and leave the verb their tense and person."""
    if not rest:
        return [] if auxiliary in _DOES else [auxiliary]
    if auxiliary not in _DOES:
        return ["should" if auxiliary == "shall" else auxiliary, *rest]
    at = next((i for i, word in enumerate(rest) if not is_adverb(word.lower())), len(rest))
    verb = "".join(rest[at : at + 1])
    if not verb.isalpha() or not verb.islower():
        return []
    if auxiliary == "did":
        verb = past_of(verb)
    elif auxiliary == "does" or subject not in _PRONOUNS:
        verb = agree(verb, SINGULAR)
    return [*rest[:at], verb, *rest[at + 1 :]] if verb else []


def _of_thing(opening: Sequence[str], be: str, thing: Sequence[str]) -> str:
    """Return "where the old ferry is" for "where is the old ferry", and "who was the rider that stopped" as it is."""
    low = [word.lower() for word in thing]
    if opening == ["who"] and any(word in ("that", "who") for word in low[1:]):
        return " ".join([*opening, be, *thing])
    if not 0 < len(thing) <= _SHORT or any(word in FUNCTION_WORDS for word in low[low[0] in _OPENS_THING :]):
        return ""
    if any(is_adverb(word) or is_inflected(word) for word in low):
        return ""
    return " ".join([*opening, *thing, be])


def _is_past_of_others(lowered: Sequence[str]) -> bool:
    """Return whether "who" or "what" is itself the subject of a verb in the past: "who took my hat"."""
    return len(lowered) > 1 and lowered[0] in ("who", "what") and is_past(lowered[1])
