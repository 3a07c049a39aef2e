"""The languages in which an owner thinks and quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from cogitate.memory.entry import Entry, resolve_name
from cogitate.memory.language.languages import ENGLISH, OTHER, UNDETERMINED, languages_of, prevailing_language
from cogitate.memory.language.quotations import without_quotations
from cogitate.memory.profile import Profile
from cogitate.memory.routines import routine_text
from cogitate.tasks.heuristics.reading import SAID
from cogitate.tasks.kind import Case, Moment, WorldFacts

_HAN = "zh"  # the language of a text in Han characters alone
_LATIN_NAME = re.compile("[A-Za-z\u00c0-\u024f]")
_LOOKED_AT = 20  # latest entries, or profiles of a run


def language_of_profiles(profiles: Iterable[Profile]) -> str | None:
    """Return the language that profiles show together, if they show one and it is not English."""
    found = languages_of(" ".join(text for profile in islice(profiles, _LOOKED_AT) if (text := _stated(profile))))
    return found[0] if len(found) == 1 and found[0] not in (ENGLISH, UNDETERMINED) else None


def thinking_language(case: Case) -> str:
    """Return the ISO 639 code of the language in which the owner of a job thinks; English by default."""
    found = _known(case.job.key.owner, case.profile, case.entries, case.world, case.job.summary)
    return ENGLISH if found == UNDETERMINED else found


def quoting_language(case: Case) -> str:
    """Return the language in which the owner of a job quotes.

    It is the language in which it thinks, or else that of all its entries. A job that reads few entries gets the latter
    as a parameter of its request.
    """
    if told := case.job.param("language", ""):
        return told
    return language_of_owner(case.job.key.owner, case.profile, case.entries, case.world, case.job.summary)


def language_params(moment: Moment) -> dict[str, str]:
    """Return the request parameter with the owner's language of quotes, if only its memories show it."""
    owner, profile, stream, world = moment.owner, moment.profile, moment.stream, moment.world
    if _known(owner, profile, (), world, "") != UNDETERMINED:
        return {}
    return {"language": language_of_owner(owner, profile, stream.live(), world, stream.head.summary)}


def language_of_owner(owner: str, profile: Profile, entries: Sequence[Entry], world: WorldFacts, summary: str) -> str:
    """Return the language in which an owner quotes, by all its entries and its long-term summary."""
    found = _known(owner, profile, entries, world, summary)
    return prevailing_language([*(e.text for e in entries), summary]) if found == UNDETERMINED else found


def _known(owner: str, profile: Profile, entries: Sequence[Entry], world: WorldFacts, summary: str) -> str:
    """Return the language that an owner's texts show; `UNDETERMINED` if they show none.

    It is the declared language, else the profile's, else that of the owner's recent observations and words together,
    and of its long-term summary: a few memories alone may show none. A short profile whose words several languages
    share does not decide.

    The words of others do not count: they may speak another language. A name in a script other than Latin decides if
    the rest of the profile is empty. The language of the run's profiles decides if the owner's own texts do not.
    """
    if declared := world.language_of(profile):
        return declared
    names, around = world.names, world.spoken or ""
    said = _stated(profile)
    named_in = UNDETERMINED if _LATIN_NAME.search(profile.name) else languages_of(profile.name)[0]  # many share Latin
    stated_in = languages_of(said) if said else (named_in,)
    found = stated_in[0]
    if len(stated_in) == 1 and found not in (UNDETERMINED, OTHER, _HAN):
        return found
    called = {"", profile.name, resolve_name(owner, names)}
    heard = reversed(SAID.of(entries, owner, names))
    own = (said.text for said in heard if said and said.text and said.speaker in called)
    seen = languages_of(" ".join([*islice(own, _LOOKED_AT), without_quotations(summary)]).strip())
    if found == _HAN:  # a name or a title of Han alone may be a Japanese one
        return "ja" if "ja" in seen else found
    if UNDETERMINED in seen:
        return around if around and (found in (UNDETERMINED, OTHER) or around in stated_in) else found
    return next((one for one in (found, around) if one in seen), seen[0])


def _stated(profile: Profile) -> str:
    routine = routine_text(profile.routine)
    stated = (profile.background, profile.currently, routine, profile.occupation, *profile.traits)
    return " ".join(text for text in stated if text)
