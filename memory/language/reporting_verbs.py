"""The verb that reports a statement, chosen by what it is: news is reported, an opinion thought, a memory recalled.

Rules for English, by the words of the statement. The same statement always takes the same verb.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory.language.grammar import has_verb, is_past, word_set

_YOU = word_set("you your yours yourself")
_WE = word_set("we we're we've we'll we'd our")
_WILL = word_set("will won't shall shan't it'll that'll there'll they'll he'll she'll we'll you'll")
_SAYS = word_set("says said claims claimed")
_MAYBE = word_set(
    "may might must could would can can't cannot couldn't wouldn't perhaps maybe probably surely possibly likely"
)
_DUTY = word_set("should shouldn't ought")
_VALUES = word_set(
    "better best worse worst too enough good great fine lovely beautiful wonderful excellent nice bad awful terrible "
    "fair unfair wrong right silly dangerous important safe hard easy fun worth first rely trust deserves deserve "
    "imagine"
)
_APPEARS = word_set("looks look looked seems seem seemed sounds sound sounded smells smell appears appear")
_WHOEVER = word_set(
    "nobody everybody everyone somebody someone anybody always never every often usually sometimes all most many few"
)
_PRESENT = word_set(
    "is are am has have does do isn't aren't hasn't haven't doesn't don't it's that's there's he's she's they're we're"
)
_WAS = word_set("was were wasn't weren't")
_PERFECT = word_set("has have hasn't haven't we've they've")
#: "When I was young", "last winter", "three years ago": what is long over.
_LONG_AGO = re.compile(
    r"\b(?:once|years?|ago|used to|remember(?:s|ed)?|childhood|in the old days|back then|"
    r"(?:was|were|am|are) (?:young|little|a (?:child|boy|girl))|"
    r"last (?:year|winter|spring|summer|autumn|fall|month|week|time))\b",
    re.IGNORECASE,
)
_BECAUSE = re.compile(r"\bbecause\b|, so (?!far\b|much\b|many\b)|\bthat(?:['’]s| is) why\b", re.IGNORECASE)
_DATED = re.compile(r"\bday \d|\bat \d{1,2}(?::\d\d| ?[ap]\.?m)|\bat (?:noon|midnight)\b|o['’]clock\b", re.IGNORECASE)
_IS_DOING = re.compile(r"(?:\b(?:is|are)|['’](?:s|re)) (?:\w+ing|to)\b", re.IGNORECASE)
_IF = word_set("if when unless once whenever")

#: Words that report, which say nothing of what is reported.
REPORTING_WORDS = word_set(
    "mentioned told suggested asked showed said reported recalled explained remarked observed noticed thought argued "
    "predicted announced relayed advised reminded invited"
)


def reporting_verb(text: str, lowered: Sequence[str], *, named: bool = False) -> str:
    """Return the verb for a statement, given as text and as words in lower case.

    `named`: it opens with the name of somebody, so that what will be is somebody's plan.
    """
    if not has_verb(lowered):
        return "mentioned"
    said = frozenset(lowered)
    first = lowered[0]
    if not said.isdisjoint(_SAYS) or lowered[1:2] == ["say"]:
        return "relayed"
    if _BECAUSE.search(text):
        return "explained"
    if not said.isdisjoint(_WILL):
        return _verb_of_future(text, first, named=named)
    if _DATED.search(text) and _IS_DOING.search(text):
        return "announced"
    if not said.isdisjoint(_DUTY):
        return "argued"
    if not said.isdisjoint(_APPEARS):
        return "noticed"
    if first in _YOU and not said.isdisjoint({"may", "can", "must"}):
        return "said"
    finite = next((word for word in lowered if word in _PRESENT or word in _WAS or is_past(word)), "")
    judged = not said.isdisjoint(_VALUES) and (finite in _PRESENT or finite in _WAS or not finite)
    if judged or not said.isdisjoint(_MAYBE):
        return "thought"
    if first in _YOU:
        return "said"
    return _verb_by_tense(text, lowered, finite)


def _verb_of_future(text: str, first: str, *, named: bool) -> str:
    if first in _YOU:
        return "said"
    if first in _IF or (not named and first not in _WE and not _DATED.search(text)):
        return "predicted"
    return "announced"


def _verb_by_tense(text: str, lowered: Sequence[str], finite: str) -> str:
    """Return the verb for what was, or has been, or is, by the first finite verb of its words."""
    if finite and finite not in _PRESENT:
        return "recalled" if lowered[0] in _WE or _LONG_AGO.search(text) else "reported"
    if lowered[0] in _WE:
        return "explained"
    if finite in _PERFECT and any(word == "been" or is_past(word) for word in lowered):
        return "reported"
    return "observed" if any(word in _WHOEVER for word in lowered) else "remarked"
