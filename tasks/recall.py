"""The memories that a job recalls, for its prompt by vectors too if there are any, and shared template variables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from cogitate.memory.clock import clock_in_force, day_and_time, day_of
from cogitate.memory.effects import Effect, MarkAccessed
from cogitate.memory.entry import Entry, EntryType, format_character
from cogitate.memory.language.text import normal
from cogitate.memory.language.times import anchor_days
from cogitate.memory.language.truncation import shorten
from cogitate.memory.retrieval.profiles import profile_of
from cogitate.memory.retrieval.retrieval import Query, retrieve
from cogitate.memory.summaries.long_term import cut_oldest, estimate_tokens
from cogitate.tasks.job import Job
from cogitate.tasks.kind import Case

LITTLE = 0.25  # share of the memories below which the long-term summary is cut too
MAX_SHOWN = 500  # characters of one memory in a prompt, and of one part of an identity


def recall(case: Case, query: str, limit: int, types: tuple[EntryType, ...]) -> list[Entry]:
    """Return the entries of the job's owner that matter most for `query` now, best first, without repeats of a text."""
    profile = replace(profile_of(case.world.kind_retrieval.get(case.job.key.kind, case.world.retrieval)), distinct=True)
    near = case.similarity(query, case.entries) if case.similarity is not None and profile.weighs_similarity else {}
    wanted = Query(minute=case.job.minute, text=query, limit=limit, types=types, similarity=near)
    return [scored.entry for scored in retrieve(case.entries, wanted, profile)]


def without_repeats(entries: Iterable[Entry]) -> list[Entry]:
    """Return the first entry of each text, in the given order."""
    seen: dict[str, Entry] = {}
    for entry in entries:
        seen.setdefault(normal(entry.text), entry)
    return list(seen.values())


def share_of(entries: Sequence[Entry], share: float) -> list[Entry]:
    """Return the first entries that make up a share of all, at least one."""
    return list(entries[: max(1, math.ceil(len(entries) * share))])


def template_entry(entry: Entry, minute: int) -> dict[str, str]:
    """Return an entry's template variables at a game time; if it is of another day, its words for days become dates."""
    text = entry.text if day_of(entry.minute) == day_of(minute) else anchor_days(entry.text, entry.minute)
    return {"when": day_and_time(entry.minute, entry.tick), "text": brief(text)}


def template_time(minute: int, tick: int) -> dict[str, object]:
    """Return the template variables of a tick's game time: its day, its time of day, and both."""
    clock = clock_in_force()
    return {"day": clock.day(minute), "time": clock.time(minute, tick), "now": clock.date_and_time(minute, tick)}


def long_term_context(case: Case, memory_share: float = 1.0) -> dict[str, Any]:
    """Return the long-term variables of a template: the summary, and the owner's character facts.

    If hardly any memories fit, only the newest part of the summary is included.
    """
    summary = case.job.summary
    if memory_share < LITTLE:
        summary = cut_oldest(summary, int(memory_share / LITTLE * estimate_tokens(summary)))
    return {"summary": summary, "known": format_character(case.job.character).splitlines()}


def brief(text: str) -> str:
    """Cut a text at a word boundary, so that one long entry cannot crowd out all others."""
    return shorten(text, MAX_SHOWN, "…")


def access_marks(case: Case, numbers: Iterable[int]) -> tuple[Effect, ...]:
    """Return the effect that marks the entries that a job used as accessed, if it used any."""
    used = tuple(sorted(set(numbers)))
    if not used:
        return ()
    return (MarkAccessed(owner=case.job.key.owner, numbers=used, minute=case.job.minute),)


def replaced_entry(job: Job) -> int:
    """Return the number of the provisional entry that this job repairs (parameter "replaces"), or 0."""
    return job.param("replaces", 0)


def result_minute(job: Job) -> int:
    """Return the game time of the job's result: the job's own, or that of the entry it repairs (parameter "minute")."""
    return job.param("minute", job.minute) if replaced_entry(job) else job.minute


def delay_of(case: Case) -> int:
    """Return the game minutes until the job's result is due, in which coming events may pass; 0 for a repair."""
    job = case.job
    clock = case.world.clock
    return 0 if replaced_entry(job) else max(0, clock.minutes(job.due) - clock.minutes(job.key.tick))
