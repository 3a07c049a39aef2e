"""Read an entry before a heuristic needs it: what is kept by text is found when the entry is observed."""

from __future__ import annotations

from collections.abc import Mapping

from cogitate.memory.appointments import appointments, names_time
from cogitate.memory.entry import Entry
from cogitate.memory.language.languages import languages_of
from cogitate.memory.retrieval.terms import TERMS
from cogitate.memory.summaries.conversations import first_person
from cogitate.tasks.heuristics.promises import hint_of


def read_ahead(entry: Entry, owner: str, names: Mapping[str, str]) -> None:
    """Find the terms, language, times, appointments and signs of promises of an entry that an owner observed.

    Args:
        names: display names of owners and places by id.
    """
    text = entry.text
    hint_of(text)
    TERMS.of(text)
    languages_of(text)
    if names_time(text):
        appointments([entry, first_person(entry, owner, names)], (), 0, 0)
