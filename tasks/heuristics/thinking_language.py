"""The language in which an owner thinks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain, islice

from cogitate.memory.language.languages import ENGLISH, OTHER, UNDETERMINED, languages_of
from cogitate.memory.profile import Profile
from cogitate.memory.routines import routine_text
from cogitate.memory.summaries.conversations import resolve_name
from cogitate.tasks.heuristics.reading import SAID
from cogitate.tasks.kind import Case

_HAN = "zh"  # the language of a text in Han characters alone
_LATIN_NAME = re.compile("[A-Za-z\u00c0-\u024f]")
_LOOKED_AT = 20  # of the latest entries, or of a run's profiles


def language_of_profiles(profiles: Iterable[Profile]) -> str | None:
    """Return the language that profiles show together, if they show one and it is not English."""
    found = languages_of(" ".join(text for profile in islice(profiles, _LOOKED_AT) if (text := _stated(profile))))
    return found[0] if len(found) == 1 and found[0] not in (ENGLISH, UNDETERMINED) else None


def thinking_language(case: Case) -> str:
    """Return the ISO 639 code of the language in which an owner thinks.

    It is the declared one, or that of the profile, or else that of most of what the owner observed and said lately. A
    profile of a few words that several languages share says nothing.

    What others say does not count: they may speak another language. A name in another script than Latin counts where
    the profile says nothing else. The language of the run's profiles decides where the owner's own texts do not;
    English where nothing tells.
    """
    if declared := case.world.language_of(case.profile):
        return declared
    profile, names, owner, around = case.profile, case.world.names, case.job.key.owner, case.world.spoken or ""
    said = _stated(profile)
    stated_in = languages_of(said) if said else (_language_of_name(profile.name),)
    found = stated_in[0]
    if len(stated_in) == 1 and found not in (UNDETERMINED, OTHER, _HAN):
        return found
    called = {"", profile.name, resolve_name(owner, names)}
    heard = reversed(SAID.of(case.entries, owner, names))
    own = (said.text for said in heard if said and said.text and said.speaker in called)
    seen = Counter(chain.from_iterable(map(languages_of, islice(own, _LOOKED_AT))))  # each that a text may be in
    most = max(seen, key=lambda one: (seen[one], one in stated_in), default=UNDETERMINED)
    if found == _HAN:  # a name or a title of Han alone may be a Japanese one
        return most if most == "ja" else found
    if most == UNDETERMINED and around and (found in (UNDETERMINED, OTHER) or around in stated_in):
        return around
    known = most if most != UNDETERMINED else found
    return ENGLISH if known == UNDETERMINED else known


def _stated(profile: Profile) -> str:
    routine = routine_text(profile.routine)
    stated = (profile.background, profile.currently, routine, profile.occupation, *profile.traits)
    return " ".join(text for text in stated if text)


def _language_of_name(name: str) -> str:
    """Return the language of a name by its script; undetermined in Latin letters, which many languages share."""
    return UNDETERMINED if _LATIN_NAME.search(name) else languages_of(name)[0]
