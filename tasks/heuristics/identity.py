"""Read a profile's words: its place of work, what occupies it, and whether its wish came true."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from cogitate.memory.entry import Entry
from cogitate.memory.language.commitments import are_alike
from cogitate.memory.language.place_names import find_place
from cogitate.memory.language.port import language_of
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.text import FUNCTION_WORDS
from cogitate.memory.language.times import find_times
from cogitate.memory.profile import Location, Profile
from cogitate.tasks.heuristics.promises import hint_of

_FEWEST = 2  # words of a wish of which another's deed can tell
GOING_ON = "Spend time"  # opens an occupation that goes on, as against a wish that can be fulfilled
_DOING = re.compile(
    r"\b(?:is|am|are|been)\s++(?:(?:also|currently|now|busy|always)\s++)?"
    r"((?!being|feeling|living|looking forward|saving|hoping|wishing|excited|planning|going)\w+ing\b.*)"
)
_WISH = re.compile(
    r"\b(?:hopes?|wants?|plans?|intends?|would like|(?:is|am) (?:planning|going|hoping))\s++to\s++(\w.*)"
)
_WISHED = re.compile(r"\b(?:hopes?|wants?|wish(?:es)?|plans?|intends?|would like)\s++(?:to\s++|for\s++)?(\w.*)")
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


def fulfilled_wish(profile: Profile, entries: Iterable[Entry]) -> list[str]:
    """Return what occupies a profile if it is a wish of which an entry tells that it came true; else nothing."""
    wish = next((found for sentence in _sentences(profile) if (found := _WISHED.search(sentence))), None)
    deed = _PURSUIT_ENDS.split(wish[1])[0] if wish else ""
    words = language_of(deed).deed_words(deed)
    if len(words) < _FEWEST:
        return []
    for entry in entries:
        if entry.type in ("observation", "message", "summary") and are_alike(words, hint_of(entry.text).stems):
            language = language_of(entry.text)
            if any(language.is_done(sentence, deed) for sentence in split_sentences(entry.text)):
                return [pursuit_of(profile) or deed]
    return []


def _sentences(profile: Profile) -> list[str]:
    text = profile.currently.partition(":")[2].strip() if profile.currently.startswith("Status:") else profile.currently
    return split_sentences(text)


def work_of(profile: Profile, places: Sequence[Location]) -> str:
    """Return the id of the place of work: the profile's, or else the one its occupation names; or empty."""
    if profile.work:
        return profile.work
    named = find_place(profile.occupation, places)
    return named.id if named and named.id != profile.home else ""
