"""Observations in the first person of their owner, if that is certain: "Ada Smith lost a hat" is "I lost a hat".

Rules for English. A sentence that names its owner in any other way, or has a pronoun that may be the owner's, stays as
it is: to name oneself is stilted, and to take another's part is false.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from cogitate.memory.language.english.grammar import base_of, is_past, past_of, word_set
from cogitate.memory.language.english.references import is_plural
from cogitate.memory.language.irregular import BASE_FORMS
from cogitate.memory.language.sentences import split_sentences

#: Past forms that are not passive participles.
_ONLY_PAST = word_set(
    "saw had went took gave ate drank woke wrote spoke chose drove forgot was did fell began knew sang arrived came "
    "sat waited walked talked slept met"
)
#: Done to people, or said of them: without an object such a form may be a passive, as in a headline.
_DONE_TO_PEOPLE = word_set(
    "accused admitted annoyed appointed arrested attacked awarded banned based blamed blocked bored brought "
    "burned caught concerned confused covered crowned delighted detained diagnosed discharged dressed drowned elected "
    "exhausted expelled fined fired forced freed frightened held hired honoured infected injured interested "
    "interviewed invited involved jailed killed knighted led located lost made married murdered named ordered "
    "overwhelmed pleased poisoned praised promoted questioned released relieved rescued robbed saved scared seated "
    "selected sent sentenced shot stranded struck stuck surprised taught thanked tired told transferred trapped "
    "treated trusted warned wounded"
)
_FOUND_TO_BE = word_set("dead alive guilty innocent unconscious asleep hurt injured wounded drowned missing safe")
_OPENS_OBJECT = word_set(
    "a an the my his her their our your its this that these those some every each no all both another "
    "me him them us you it myself"
)
_BE = {"is": "am", "was": "was", "has": "have", "had": "had"}
_OTHERS_PRONOUN = re.compile(r"\b(?:he|she|him|her|his|hers|himself|herself|themself)\b", re.IGNORECASE)
_OF_SEVERAL = re.compile(r"\b(?:they|them|their|theirs|themselves)\b", re.IGNORECASE)
_VERB = re.compile(r" ([a-z]+)\b(?![-'’])(?: ([\w'’]+))?")
_NAME = re.compile(r"[^\W\d_a-z][\w'’.-]*(?: [^\W\d_a-z][\w'’.-]*)*(?= [a-z])")
_NO_NAME = re.compile(r"\b[a-z]+\b")
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

_YOU, _MY = re.compile(r"\b(?:you|yourself)\b", re.I), re.compile(r"\bmy\b", re.I)
_I_AM, _I_WILL = re.compile(r"\bI(?:['’]m| am)\b"), re.compile(r"\bI(?:['’]ll| will)\b")
_ME = re.compile(r"\bme\b", re.I)


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
    told = [_told(_with_both(sentence, name, known), name, longer) for sentence in sentences]
    return text if told == sentences else " ".join(told)


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


def _told(sentence: str, name: str, longer: Iterable[str]) -> str:
    """Return a sentence with "I", "me" and "my" for its owner's name, or as it is where that is not certain."""
    if name not in sentence or _has_others_pronoun(sentence):
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
        elif start == 0 and (mine := _verb_of_mine(after))[0]:
            told, end = f"I {mine[0]}", end + mine[1]
        elif start and _is_object(before, after):
            told = "me"
        else:
            return sentence
        out, at = out + sentence[at:start] + told, end
    return out + sentence[at:]


def _with_both(sentence: str, name: str, known: Iterable[str]) -> str:
    """Return a sentence about its owner and another of whom it tells first: "Ben and Ada met" is "Ben and I met"."""
    first, _, rest = sentence.partition(" and ")
    second = name if rest.startswith(f"{name} ") else found[0] if (found := _NAME.match(rest)) else ""
    other, rest = (first if second == name else second if first == name else ""), rest[len(second) :]
    if other not in known or not _VERB.match(rest) or _has_others_pronoun(sentence) or name in rest:
        return sentence
    return f"{other} and I{rest}"


def _has_others_pronoun(sentence: str) -> bool:
    """Return whether a pronoun may be the owner's: any but "they" and the like after a plural."""
    several = _OF_SEVERAL.search(sentence)
    explained = several is None or any(map(is_plural, _NO_NAME.findall(sentence, 0, several.start())))
    return not explained or _OTHERS_PRONOUN.search(sentence) is not None


def _verb_of_mine(after: str) -> tuple[str, int]:
    """Return the verb that follows a name, as "I" takes it, and where it ends; "" for what may be no verb of it."""
    found = _VERB.match(after)
    if found is None:
        return "", 0
    verb, following = found[1], (found[2] or "").lower()
    if verb in _BE:
        mine = _BE[verb] if following else ""
    elif following in _OPENS_OBJECT and base_of(verb) != verb:
        mine = base_of(verb)
    else:
        is_active = following in _OPENS_OBJECT or following.isdecimal() or verb not in _DONE_TO_PEOPLE
        is_active = is_active and not (verb == "found" and following in _FOUND_TO_BE)
        mine = verb if verb in _ONLY_PAST or (is_active and _is_past_only(verb)) else ""
    return mine, found.end(1)


def _is_past_only(verb: str) -> bool:
    """Return whether a word (lower case) is a past and no mere participle: "saw", not "seen"."""
    base = BASE_FORMS.get(verb)
    return is_past(verb) and (base is None or past_of(base) == verb)


def _is_object(before: str, after: str) -> bool:
    found = _BEFORE_ME.search(before)
    if found is None or not _AFTER_ME.match(after):
        return False
    return found["verb"] is None or is_past(found["verb"])


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
