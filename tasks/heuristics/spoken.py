"""The language in which an owner thinks, and the few phrases of it that a heuristic needs beside what it quotes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import islice

from cogitate.memory.clock import day_number
from cogitate.memory.entry import Entry
from cogitate.memory.language.languages import ENGLISH, OTHER, UNDETERMINED, languages_of
from cogitate.memory.language.tables import read_table
from cogitate.memory.profile import Profile

_LOOKED_AT = 20  # of the latest entries
_NOTHING = "…"  # in a language of which no phrase is known
_WIDE = ("zh", "ja")  # whose colons and brackets are as wide as their characters


def spoken_language(profile: Profile, entries: Iterable[Entry]) -> str:
    """Return the ISO 639 code of the language of a profile, or else of most of the latest entries, given newest first.

    English where nothing tells.
    """
    stated = (profile.background, profile.currently, profile.routine, profile.occupation, *profile.traits)
    found = languages_of(" ".join(text for text in stated if text))[0]
    if found not in (UNDETERMINED, OTHER):
        return found
    told = (e for e in entries if e.type in ("observation", "message"))
    seen = Counter(languages_of(e.text)[0] for e in islice(told, _LOOKED_AT))
    most = max(seen, key=lambda one: (seen[one], one), default=UNDETERMINED)
    known = most if most != UNDETERMINED else found
    return ENGLISH if known == UNDETERMINED else known


class Phrases:
    """The phrases of one language other than English; where it has none here, what they would name stands alone."""

    def __init__(self, language: str) -> None:
        self._table: Mapping[str, str] = read_table("phrases").get(language, {})
        self._wide = language in _WIDE

    @property
    def quiet(self) -> str:
        """Return a reflection on a time without events; "…" where the language has none."""
        return self._table.get("quiet", _NOTHING)

    def day(self, minute: int) -> str:
        """Return the day of a game time, "" where the language has no word for it."""
        return self._table.get("day", "").format(day=day_number(minute))

    def to_do(self, phrase: str, what: str = "", place: str = "") -> str:
        """Return what is to be done: a phrase with what it is about and where, or these alone."""
        named = self._table.get(phrase, "")
        said = self.labelled(named, what) if named and what else named or what
        if not said or not place or place == said:
            return said or place
        return f"{said}（{place}）" if self._wide else f"{said} ({place})"

    def labelled(self, label: str, text: str) -> str:
        """Return a text after a label and a colon; the text alone where there is no label."""
        return text if not label else f"{label}：{text}" if self._wide else f"{label}: {text}"

    def without_again(self, text: str) -> str:
        """Return what was left undone without the phrase that it is taken up again."""
        return text.removeprefix(self.labelled(self._table.get("again", ""), ""))


@cache
def quiet_reflections() -> frozenset[str]:
    """Return every reflection on a time without events, in any language but English."""
    return frozenset({_NOTHING, *(phrases["quiet"] for phrases in read_table("phrases").values())})


@cache
def phrases_of(phrase: str) -> frozenset[str]:
    """Return a phrase in every language but English that has it."""
    return frozenset(phrases[phrase] for phrases in read_table("phrases").values() if phrase in phrases)
