"""Read an entry before a heuristic needs it: what is kept by text is found when the entry is observed."""

from __future__ import annotations

from cogitate.memory.appointments import names_time
from cogitate.memory.entry import Entry
from cogitate.memory.language.languages import languages_of
from cogitate.memory.retrieval.terms import TERMS
from cogitate.tasks.heuristics.promises import signs_of


def read_ahead(entry: Entry) -> None:
    """Find the times, signs of promises, terms and language of an observed entry, in some 0.05 ms."""
    text = entry.text
    names_time(text)
    signs_of(text)
    TERMS.of(text)
    languages_of(text)
