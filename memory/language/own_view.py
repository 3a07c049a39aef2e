"""Observations in the first person of their owner, if that is certain: "Ada Smith lost a hat" is "I lost a hat".

Rules for English. A sentence that names its owner in any other way, or has a pronoun that may be the owner's, stays as
it is: to name oneself is stilted, and to take another's part is false.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from cogitate.memory.language.grammar import is_past, word_set
from cogitate.memory.language.sentences import split_sentences

#: Past forms that are not passive participles.
_ONLY_PAST = word_set(
    "saw had went took gave ate drank woke wrote spoke chose drove forgot was did fell began knew sang arrived came "
    "sat waited walked talked slept met"
)
_OPENS_OBJECT = word_set(
    "a an the my his her their our your its this that these those some every each no all both another "
    "me him them us you it myself"
)
_BE = {"is": "am", "was": "was", "has": "have", "had": "had"}
_OTHERS_PRONOUN = re.compile(
    r"\b(?:he|she|him|her|his|hers|himself|herself|they|them|their|theirs|themselves|themself)\b", re.IGNORECASE
)
_QUOTE = re.compile(r"[“”\"«»]|(?<!\w)['‘]\w")
_BEFORE_ME = re.compile(
    r"\b(?:(?:to|for|with|about|at|from|by|than|like|towards?|behind|beside|without|near|after|before)"
    r"|(?P<verb>[a-z]+)) $"
)
_AFTER_ME = re.compile(
    r"$|[.,;!?…](?!\w)|(?= (?:in|on|at|to|for|with|about|from|by|into|over|under|after|before|during)\b)"
)
_CAPITAL_BEFORE = re.compile(r"[^\W\d_a-z][\w'’.-]* $")
_CAPITAL_AFTER = re.compile(r"[-'’]?\w| [^\W\d_a-z]")


def in_own_words(text: str, name: str, names: Iterable[str] = ()) -> str:
    """Return an observation as the one called `name` tells it: "Ada Smith's lamp went out" is "My lamp went out".

    Args:
        names: of all whom the text may name. One that contains `name` is read as a whole, and where another is called
            the same, the text stays as it is.
    """
    text = with_subject(text, "I")
    if name not in text or not name.strip() or _QUOTE.search(text):
        return text
    known = list(names)
    if known.count(name) > 1:
        return text
    longer = sorted({other for other in known if name in other and other != name}, key=lambda n: (-len(n), n))
    sentences = split_sentences(text)
    told = [_told(sentence, name, longer) for sentence in sentences]
    return text if told == sentences else " ".join(told)


def with_subject(text: str, subject: str) -> str:
    """Return an observation with the subject that it leaves out: "Saw a cat" becomes "Ada saw a cat"."""
    text = text.replace(" engaged in an activity: ", " ")
    first, _, rest = text.partition(" ")
    if subject and rest and first[:1].isupper() and _has_subject_left_out(first.lower(), rest):
        return f"{subject} {first[:1].lower()}{first[1:]} {rest}"
    return text


def _has_subject_left_out(first: str, rest: str) -> bool:
    """Return whether a text opens with a verb whose subject is left out: "Lost the key", but not "Lost child found"."""
    following = "".join(rest.split(maxsplit=1)[:1]).lower()
    return first in _ONLY_PAST - {"was"} or (is_past(first) and following in _OPENS_OBJECT)


def _told(sentence: str, name: str, longer: Iterable[str]) -> str:
    """Return a sentence with "I", "me" and "my" for its owner's name, or as it is where that is not certain."""
    if name not in sentence or _OTHERS_PRONOUN.search(sentence):
        return sentence
    taken = [match.span() for other in longer for match in re.finditer(re.escape(other), sentence)]
    out, at = "", 0
    for match in re.finditer(re.escape(name), sentence):
        start, end = match.span()
        before, after = sentence[max(0, start - 40) : start], sentence[end : end + 80]
        own = after.startswith(("'s ", "’s "))
        if (
            any(begin < end and start < close for begin, close in taken)
            or (start and (before[-1].isalnum() or before[-1] in "_-'’" or _CAPITAL_BEFORE.search(before)))
            or (not own and _CAPITAL_AFTER.match(after))
        ):
            return sentence
        if own:
            told, end = ("my" if start else "My"), end + 2
        elif start == 0 and (verb := _verb_of_mine(after)):
            told, end = f"I {verb}", end + 1 + len(after[1:].partition(" ")[0])
        elif start and _is_object(before, after):
            told = "me"
        else:
            return sentence
        out, at = out + sentence[at:start] + told, end
    return out + sentence[at:]


def _verb_of_mine(after: str) -> str:
    """Return the verb that follows a name, as "I" takes it; "" where it may be no verb of the one named."""
    verb, _, rest = after[1:].partition(" ")
    if not after.startswith(" ") or not rest:
        return ""
    if verb in _BE:
        return _BE[verb]
    following = "".join(rest.split(maxsplit=1)[:1]).strip(".,;!?").lower()
    return verb if verb in _ONLY_PAST or (is_past(verb) and following in _OPENS_OBJECT) else ""


def _is_object(before: str, after: str) -> bool:
    found = _BEFORE_ME.search(before)
    if found is None or not _AFTER_ME.match(after):
        return False
    return found["verb"] is None or is_past(found["verb"])
