"""Read-ahead: fills the heuristics' caches when an entry is observed, in a paced host's idle time."""

from __future__ import annotations

from collections.abc import Sequence

from cogitate.memory.appointments import appointments, calls_off, names_time
from cogitate.memory.entry import Entry
from cogitate.memory.language.languages import ENGLISH, OTHER, UNDETERMINED, languages_of
from cogitate.memory.language.port import tells_trouble
from cogitate.memory.retrieval.terms import TERMS
from cogitate.memory.summaries.conversations import first_person
from cogitate.tasks.heuristics.insight import weigh_ahead
from cogitate.tasks.heuristics.plans.said_times import read_talk
from cogitate.tasks.heuristics.promises import find_promises
from cogitate.tasks.heuristics.reading import SAID, TIMED, TOLD
from cogitate.tasks.kind import WorldFacts


def read_ahead(entry: Entry, owner: str, entries: Sequence[Entry], world: WorldFacts) -> None:
    """Fill the heuristics' caches for an entry that an owner observed.

    Args:
        entries: all entries of the owner.
    """
    names = world.display_names
    TERMS.of(entry.text)
    shown = languages_of(entry.text)[0]
    around = world.spoken or (ENGLISH if shown in (OTHER, UNDETERMINED) else shown)
    tells_trouble(entry.text, around)
    SAID.of(entries, owner, world.names)
    TIMED.of(entries, owner, names)
    read_talk(owner, entries, world.names)
    if names_time(entry.text):
        told = first_person(entry, owner, names)
        calls_off(entry.text)
        calls_off(told.text)
        appointments([told], world.locations, 0, 0)
    find_promises(owner, entries, names)
    if found := TOLD.of(entries, owner, names):
        weigh_ahead(entry, found[-1].sentences, around)
