"""What a job shows of its owner's memories, and in what words. Pure: the same for a prompt and for a heuristic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memory.clock import day_and_time
from memory.effects import Effect, MarkAccessed
from memory.entry import Entry, EntryType
from memory.language.text import normal
from memory.policies.window import format_character
from memory.retrieval.retrieval import Query, retrieve
from memory.summaries.long_term import cut_oldest, estimate_tokens
from tasks.job import Job
from tasks.kind import Case, WorldFacts

LITTLE = 0.25  # share of the memories below which the long-term summary gives way too
MAX_SHOWN = 500  # characters of one memory in a prompt, and of one part of an identity


def recall(case: Case, query: str, limit: int, types: tuple[EntryType, ...]) -> list[Entry]:
    """The entries of the job's owner that matter most for `query` now, best first; repeats of a text removed."""
    wanted = Query(minute=case.job.minute, text=query, limit=limit, types=types)
    return [found.entry for found in retrieve(case.entries, wanted)]


def without_repeats(entries: Iterable[Entry]) -> list[Entry]:
    """The first entry of each text, in the order given."""
    seen: dict[str, Entry] = {}
    for entry in entries:
        seen.setdefault(normal(entry.text), entry)
    return list(seen.values())


def share_of(entries: Sequence[Entry], share: float) -> list[Entry]:
    """The first entries that a prompt may show when only a share of them fits; at least one."""
    return list(entries[: max(1, math.ceil(len(entries) * share))])


def template_entry(entry: Entry) -> dict[str, str]:
    """An entry as a template shows it."""
    return {"when": day_and_time(entry.minute), "text": brief(entry.text)}


def long_term_context(case: Case, memory_share: float = 1.0) -> dict[str, Any]:
    """What a template shows of the long term: the summary, and what the host states as known of the owner.

    Of the summary only the newest part where hardly any memories fit.
    """
    summary = case.job.summary
    if memory_share < LITTLE:
        summary = cut_oldest(summary, int(memory_share / LITTLE * estimate_tokens(summary)))
    return {"summary": summary, "known": format_character(case.job.character).splitlines()}


def brief(text: str) -> str:
    """Text cut at a word, so that one long entry cannot crowd out all others."""
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN].rsplit(" ", 1)[0] + "…"


def display_names(world: WorldFacts) -> Mapping[str, str]:
    """What owners and places are called."""
    return {**{place.id: place.name for place in world.locations}, **world.names}


def access_marks(case: Case, numbers: Iterable[int]) -> tuple[Effect, ...]:
    """The access marks of the entries that a job used; nothing when it used none."""
    used = tuple(sorted(set(numbers)))
    if not used:
        return ()
    return (MarkAccessed(owner=case.job.key.owner, numbers=used, minute=case.job.minute),)


def replaced_entry(job: Job) -> int:
    """The provisional entry that this job repairs (parameter "replaces"), or 0."""
    number = job.params.get("replaces", 0)
    return number if isinstance(number, int) else 0


def result_minute(job: Job) -> int:
    """The game time of what the job writes: its own, or that of the entry it repairs (parameter "minute")."""
    minute = job.params.get("minute")
    return minute if replaced_entry(job) and isinstance(minute, int) else job.minute
