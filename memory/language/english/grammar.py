"""The English grammar that retelling needs: verbs, and their agreement with a name instead of "I"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from cogitate.memory.language.tables import english
from cogitate.memory.language.text import BASE_FORMS


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list written as a text, apostrophes kept."""
    return frozenset(text.split())


#: Verbs after "I", and their forms after a name; other verbs get an s.
_SINGULAR: Mapping[str, str] = {
    "am": "is",
    "have": "has",
    "haven't": "hasn't",
    "do": "does",
    "don't": "doesn't",
    "go": "goes",
}

ADVERBS = english("adverbs")
STATES = english("states")
#: Verbs before which an "it" was left out: "sounds good", "was fun".
IMPERSONAL = word_set("sounds looks seems feels helps gives makes keeps means reminds takes was is")
_AUXILIARIES = english("auxiliaries")
_FINITE = (
    IMPERSONAL
    | _AUXILIARIES
    | word_set(
        "am are were isn't aren't wasn't weren't has have had hasn't haven't do does don't doesn't it's that's "
        "there's he's she's they're here's what's who's says said asks asked tells told knows thinks believes"
    )
)
SAME_PAST = word_set("put read set let hit cut cost hurt quit shut spread split")  # left alone: reads as the past
_VOWELS = frozenset("aeiouy")
#: Base form -> past: the first of its irregular forms.
_PASTS = {"have": "had", "be": "was", "do": "did", "leave": "left", "rise": "rose"} | {
    base: form for form, base in reversed(list(BASE_FORMS.items()))
}
_NO_PASTS = english("no_pasts")
_STRESSED = word_set("prefer refer infer confer transfer defer admit commit permit submit omit compel expel propel")
_PAST_IN_EED = word_set("agreed disagreed freed guaranteed decreed refereed treed")
_NO_VERBS = english("no_verbs")
_SHORT_VERBS = ("n't", "'ll", "'m", "'re", "'ve", "'d")


def agree(verb: str) -> str:
    """Return a verb after "I" in its form after a name. Past forms stay."""
    low = verb.lower()
    if low in _SINGULAR:
        return _SINGULAR[low]
    if low.endswith("n't") or low in _AUXILIARIES or low in SAME_PAST:
        return verb
    if low in BASE_FORMS or low in _NO_VERBS:
        return verb
    if not low.isascii() or is_inflected(low) or (low.endswith("s") and not low.endswith(("ss", "us"))):
        return verb
    if low.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    if low.endswith("y") and low[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def is_inflected(word: str) -> bool:
    """Return whether a word (lower case) ends as pasts and participles do: "walked", "singing"; not "need", "sing"."""
    if word.endswith("ing"):
        return any(letter in _VOWELS for letter in word[:-3])
    return word.endswith("ed") and (not word.endswith("eed") or word in _PAST_IN_EED)


@lru_cache(maxsize=4_096)
def is_past(word: str) -> bool:
    """Return whether a word in small letters is the past of a verb, or may be."""
    return (
        word == "had"
        or (word in BASE_FORMS and word not in _NO_PASTS)
        or (word.endswith("ed") and is_inflected(word) and len(word) > 4)
    )


def past_of(verb: str) -> str:
    """Return the past of a verb (lower case); "" if its spelling is uncertain."""
    known = _PASTS.get(verb)
    if known or verb in SAME_PAST:
        return known or verb
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return verb[:-1] + "ied"
    if not (verb[-1:] not in _VOWELS and verb[-1:] not in "wx" and verb[-2:-1] in _VOWELS):
        return verb + "ed"
    if verb[-3:-2] in _VOWELS:  # two vowels before the last letter: "look", "wait"
        return verb + "ed"
    if sum(letter in _VOWELS for letter in verb) > 1:  # "visited", but "admitted": by the stress, which is not written
        return verb + "ed" if verb.endswith(("en", "er", "it", "op", "el")) and verb not in _STRESSED else ""
    return verb + verb[-1] + "ed"


def is_adverb(word: str) -> bool:
    """Return whether a word (lower case) may stand between a subject and its verb."""
    return word in ADVERBS or (word.endswith("ly") and len(word) > 4)


def has_verb(lowered: Sequence[str]) -> bool:
    """Return whether words (lower case) seem to hold a finite verb. The guess from forms can err both ways."""
    return any(
        w in _FINITE
        or w in BASE_FORMS
        or (w in STATES and not is_adverb(w))
        or (w.endswith("ed") and len(w) > 4)
        or w.endswith(_SHORT_VERBS)
        for w in lowered
    ) or any(w in {"i", "you", "we", "they", "he", "she", "it"} for w in lowered[:-1])
