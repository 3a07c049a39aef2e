"""Read a profile's words: its place of work, and what occupies it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cogitate.memory.language.place_names import find_place
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.text import FUNCTION_WORDS
from cogitate.memory.language.times import find_times
from cogitate.memory.profile import Location, Profile

GOING_ON = "Spend time"  # opens a continuing occupation
_DOING = re.compile(
    r"\b(?:is|am|are|been)\s++(?:(?:also|currently|now|busy|always)\s++)?"
    r"((?!being|feeling|living|looking forward|saving|hoping|wishing|excited|planning|going)\w+ing\b.*)"
)
_WISH = re.compile(
    r"\b(?:hopes?|wants?|plans?|intends?|would like|(?:is|am) (?:planning|going|hoping))\s++to\s++(\w.*)"
)
_PURSUIT_ENDS = re.compile(r"[,;.]|(?<!\s)\s++(?:and|because|while|so that|that|which|who)\s++")


def pursuit_of(profile: Profile) -> str:
    """Return the agent's current occupation as an activity: "Spend time expanding her shop"; or ""."""
    for sentence in _sentences(profile):
        if find_times(sentence):
            continue
        doing, wish = _DOING.search(sentence), _WISH.search(sentence)
        found = doing or wish
        if found:
            words = _PURSUIT_ENDS.split(found[1])[0].split()[:12]
            if len(words) == 1:  # "know who took it": the wish is the whole clause
                words = re.split(r"[,;.]", found[1])[0].split()[:12]
            while len(words) > 1 and words[-1].lower() in FUNCTION_WORDS:
                words.pop()
            phrase = " ".join(words)
            return f"{GOING_ON} {phrase}" if doing else phrase[:1].upper() + phrase[1:]
    return ""


def _sentences(profile: Profile) -> list[str]:
    text = profile.currently.partition(":")[2].strip() if profile.currently.startswith("Status:") else profile.currently
    return split_sentences(text)


def work_of(profile: Profile, places: Sequence[Location]) -> str:
    """Return the id of the place of work: the profile's, or else the one its occupation names; or empty."""
    if profile.work:
        return profile.work
    named = find_place(profile.occupation, places)
    return named.id if named and named.id != profile.home else ""
