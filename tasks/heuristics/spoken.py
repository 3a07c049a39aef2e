"""The language in which an owner thinks, and the few phrases of it that a heuristic needs beside what it quotes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import islice

from cogitate.memory.entry import Entry, is_dialogue, is_of_event
from cogitate.memory.language.languages import ENGLISH, OTHER, UNDETERMINED, languages_of
from cogitate.memory.language.packs import pack_of, packs
from cogitate.memory.profile import Profile
from cogitate.memory.routines import routine_text
from cogitate.memory.summaries.conversations import parse_line, resolve_name

_HAN = "zh"  # the language of a text in Han characters alone
_LATIN_NAME = re.compile("[A-Za-z\u00c0-\u024f]")
_LOOKED_AT = 20  # of the latest entries
_NOTHING = "…"  # in a language of which no phrase is known


def spoken_language(profile: Profile, entries: Iterable[Entry], owner: str, names: Mapping[str, str]) -> str:
    """Return the ISO 639 code of the language of a profile, or else of most of what its owner observed and said lately.

    What others say does not count: they may speak another language. A name in another script than Latin counts where
    the profile says nothing else. English where nothing tells.

    Args:
        entries: the owner's, newest first.
        names: display names by owner.
    """
    routine = routine_text(profile.routine)
    stated = (profile.background, profile.currently, routine, profile.occupation, *profile.traits)
    said = " ".join(text for text in stated if text)
    found = languages_of(said)[0] if said else _language_of_name(profile.name)
    if found not in (UNDETERMINED, OTHER) and (said or found != _HAN):
        return found
    called = {profile.name, resolve_name(owner, names)}
    own = (text for entry in entries if (text := _own_text(entry, called, names)))
    seen: Counter[str] = Counter()
    for text in islice(own, _LOOKED_AT):
        seen[language := languages_of(text)[0]] += 1
        if 2 * seen[language] > _LOOKED_AT:  # the rest cannot be more
            break
    most = max(seen, key=lambda one: (seen[one], one), default=UNDETERMINED)
    if found == _HAN:  # a name of Han alone may be a Japanese one
        return most if most == "ja" else found
    known = most if most != UNDETERMINED else found
    return ENGLISH if known == UNDETERMINED else known


def _language_of_name(name: str) -> str:
    """Return the language of a name by its script; undetermined in Latin letters, which many languages share."""
    return UNDETERMINED if _LATIN_NAME.search(name) else languages_of(name)[0]


def _own_text(entry: Entry, called: Collection[str], names: Mapping[str, str]) -> str:
    """Return what an owner observed or said in an entry; "" for what another one said, and for thoughts."""
    if entry.type not in ("observation", "message"):
        return ""
    if not is_dialogue(entry) and not is_of_event(entry):  # as most observations: nobody speaks
        return entry.text
    line = parse_line(entry, names)
    is_own = line.speaker in called if line.speaker else not is_dialogue(entry)
    return line.text if is_own else ""


class Phrases:
    """The phrases of one language other than English; where it has none here, what they would name stands alone."""

    def __init__(self, language: str) -> None:
        self._pack = pack_of(language)

    @property
    def quiet(self) -> str:
        """Return a reflection on a time without events; "…" where the language has none."""
        return self._pack.phrase("quiet") or _NOTHING

    def day(self, minute: int) -> str:
        """Return the day of a game time, "" where the language has no word for it."""
        return self._pack.day(minute)

    def to_do(self, phrase: str, what: str = "", place: str = "") -> str:
        """Return what is to be done: a phrase with what it is about and where, or these alone."""
        named = self._pack.phrase(phrase)
        said = self.labelled(named, what) if named and what else named or what
        return self._pack.bracketed(said, place)

    def labelled(self, label: str, text: str) -> str:
        """Return a text after a label and a colon; the text alone where there is no label."""
        return self._pack.labelled(label, text)

    def without(self, phrase: str, text: str) -> str:
        """Return a text without the phrase before it and its colon."""
        return text.removeprefix(self.labelled(self._pack.phrase(phrase), ""))

    def listed(self, items: Iterable[str]) -> str:
        """Return the items of a plan as one text."""
        return ("；" if self._pack.is_wide else "; ").join(items)


def quiet_reflections() -> frozenset[str]:
    """Return every reflection on a time without events, in any language but English."""
    return phrases_of("quiet") | {_NOTHING}


def phrases_of(phrase: str) -> frozenset[str]:
    """Return a phrase in every language but English that has it."""
    return frozenset(str(table[phrase]) for table in packs().values() if phrase in table)
