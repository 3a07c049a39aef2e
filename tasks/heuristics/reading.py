"""Read an entry before a heuristic needs it: what is kept by text is found when the entry is observed."""

from __future__ import annotations

from collections.abc import Sequence

from cogitate.memory.appointments import appointments, names_time
from cogitate.memory.entry import Entry
from cogitate.memory.language.languages import languages_of
from cogitate.memory.retrieval.terms import TERMS
from cogitate.memory.summaries.conversations import first_person, parse_line
from cogitate.tasks.heuristics.promises import find_promises
from cogitate.tasks.heuristics.themes import read
from cogitate.tasks.kind import WorldFacts


def read_ahead(entry: Entry, owner: str, entries: Sequence[Entry], world: WorldFacts) -> None:
    """Find the terms, language, times, appointments and promises of an entry that an owner observed.

    Args:
        entries: all of the owner.
    """
    text, names = entry.text, world.display_names
    TERMS.of(text)
    languages_of(text)
    read(parse_line(entry, names).text, entry.type == "observation")
    if names_time(text):
        appointments([first_person(entry, owner, names)], world.locations, 0, 0)
    find_promises(owner, entries, names)
