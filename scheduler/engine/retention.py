"""Retention: enforces the limits of streams at the end of a tick, and deletes what was archived long ago."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import takewhile

from memory.apply import apply
from memory.effects import Effect
from memory.limits import MemoryLimits
from memory.policies.compaction import enforce_limits
from memory.stream import Stream
from scheduler.config.facts import Facts
from scheduler.engine.open_jobs import OpenJob


def cut(
    streams: Mapping[str, Stream],
    owners: Iterable[str],
    limits: MemoryLimits,
    *,
    tick: int,
    minute: int,
    names: Mapping[str, str],
) -> tuple[Effect, ...]:
    """Enforce the limits of these owners, and return the effects of that."""
    cuts: list[Effect] = []
    for owner in owners:
        effects = enforce_limits(streams[owner], limits, minute, names)
        apply(streams, effects, tick)
        cuts += effects
    return tuple(cuts)


def forget(
    streams: Mapping[str, Stream], facts: Facts, open_jobs: Iterable[OpenJob], tick: int
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Delete archived entries that are too old or too many; never one that an open job may read.

    This happens with every tick, not in rounds: a round would delete all that a crowd has seen at once.
    """
    before = tick - facts.limits.retention // facts.minutes_per_tick
    over = {owner: _over(stream, before, facts.limits.max_archived) for owner, stream in sorted(streams.items())}
    if not any(over.values()):
        return ()
    jobs = [item.job for item in open_jobs]
    oldest = min((job.key.tick for job in jobs), default=tick)
    named = {(reads.owner, n) for job in jobs for reads in job.reads for n in reads.numbers or ()}
    deleted = []
    for owner, found in over.items():
        archived = streams[owner].archived
        numbers = sorted(n for n in found if archived[n].tick <= oldest and (owner, n) not in named)
        if numbers:
            streams[owner].delete(numbers)
            deleted.append((owner, tuple(numbers)))
    return tuple(deleted)


def _over(stream: Stream, before: int, most: int | None) -> set[int]:
    """Return the entries that were archived before a tick, and the oldest ones beyond `most`."""
    aged = takewhile(lambda item: item[1].tick < before, stream.archived.items())  # in the order of their ticks
    over = {number for number, _ in aged}
    if most is not None and len(stream.archived) > most:
        # By tick and number: in which order a tick archived them is not known any more after a resume.
        oldest = sorted(stream.archived, key=lambda number: (stream.archived[number].tick, number))
        over.update(oldest[: len(oldest) - most])
    return over
