"""Enforce the limits of streams at the end of a tick, and delete archived entries after their retention."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from heapq import heappop, heappush
from itertools import takewhile

from cogitate.memory.apply import apply
from cogitate.memory.effects import Effect
from cogitate.memory.language.languages import UNDETERMINED
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.compaction import enforce_limits
from cogitate.memory.stream import Stream
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.engine.part import Part, TickState
from cogitate.scheduler.engine.run_data import Streams
from cogitate.tasks.heuristics.thinking_language import language_of_owner


def cut(
    streams: Mapping[str, Stream],
    owners: Iterable[str],
    limits: MemoryLimits,
    *,
    tick: int,
    minute: int,
    names: Mapping[str, str],
    language_of: Callable[[str], str] = lambda owner: UNDETERMINED,
) -> tuple[Effect, ...]:
    """Enforce the limits of these owners' streams, and return the effects."""
    cuts: list[Effect] = []
    for owner in owners:
        if effects := enforce_limits(streams[owner], limits, minute, names, partial(language_of, owner)):
            apply(streams, effects, tick)
            cuts += effects
    return tuple(cuts)


class Limits(Part):
    """Enforces the limits of the streams that the tick has changed."""

    def end(self, tick: TickState) -> None:
        """Remove what exceeds a limit."""
        run = tick.run
        world, limits, streams, profiles = run.world(), run.facts.limits, run.streams, run.profiles

        def language_of(owner: str) -> str:
            stream = streams[owner]
            return language_of_owner(owner, profiles[owner], stream.live(), world, stream.head.summary)

        names, minute = world.display_names, tick.minute
        cuts = cut(streams, tick.changed, limits, tick=tick.number, minute=minute, names=names, language_of=language_of)
        tick.count_losses(cuts)
        tick.cut = {effect.owner for effect in cuts}
        tick.core["cuts"] = cuts


class Retention(Part):
    """Deletes archived entries that are too old or too many. It checks an owner when its oldest one is old enough."""

    def __init__(self) -> None:
        self._checks: list[tuple[int, str]] = []  # a heap of (tick, owner); outdated items remain in it
        self._next: dict[str, int] | None = None  # owner -> tick of its next check; None: before the first tick

    def end(self, tick: TickState) -> None:
        """Delete archived entries that are too old or too many."""
        run = tick.run
        tick.core["deleted"] = self.forget(run.streams, run.facts, run.open.values(), tick.number)

    def forget(
        self, streams: Streams, facts: Facts, open_jobs: Iterable[OpenJob], tick: int
    ) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Delete archived entries that are too old or too many, but none that an open job may read.

        Every tick deletes a few, because a rare cleanup would delete all entries of a crowd at once.
        """
        kept, most = facts.clock.ticks(facts.limits.retention), facts.limits.max_archived
        kept = max(kept, min(1, facts.limits.retention))  # at least one tick, unless the retention is 0
        checked = self._owners(streams, kept, most, tick)
        surplus = {owner: numbers for owner in checked if (numbers := _surplus(streams[owner], tick - kept, most))}
        deleted = []
        if surplus:
            jobs = [item.job for item in open_jobs]
            oldest = min((job.key.tick for job in jobs), default=tick)
            named = {(reads.owner, n) for job in jobs for reads in job.reads for n in reads.numbers or ()}
            for owner, candidates in surplus.items():
                archived = streams[owner].archived
                deletable = sorted(n for n in candidates if archived[n].tick <= oldest and (owner, n) not in named)
                if deletable:
                    streams[owner].delete(deletable)
                    deleted.append((owner, tuple(deletable)))
        for owner in checked:
            self._schedule(streams[owner], kept, most, tick + 1)
        return tuple(deleted)

    def _owners(self, streams: Streams, kept: int, most: int | None, tick: int) -> list[str]:
        """Return the owners to check with this tick, in order."""
        if self._next is None:
            self._next = {}
            return sorted(streams)
        owners = set()
        while self._checks and self._checks[0][0] <= tick:
            at, owner = heappop(self._checks)
            if self._next.get(owner) == at:
                del self._next[owner]
                owners.add(owner)
        for owner in streams.changed:
            archived = streams[owner].archived
            if most is not None and len(archived) > most:
                owners.add(owner)
            elif owner not in owners:
                self._schedule(streams[owner], kept, most, tick + 1)
        return sorted(owners & streams.keys())

    def _schedule(self, stream: Stream, kept: int, most: int | None, soonest: int) -> None:
        """Schedule the next check of a stream, not before tick `soonest`."""
        assert self._next is not None
        if not stream.archived:
            return
        too_many = most is not None and len(stream.archived) > most  # an open job may read them
        oldest = next(iter(stream.archived.values()))
        at = soonest if too_many else max(soonest, oldest.tick + kept + 1)
        if at < self._next.get(stream.owner, at + 1):
            self._next[stream.owner] = at
            heappush(self._checks, (at, stream.owner))


def _surplus(stream: Stream, before: int, most: int | None) -> set[int]:
    """Return the entries that were archived before a tick, and the oldest entries beyond `most`."""
    aged = takewhile(lambda item: item[1].tick < before, stream.archived.items())  # in the order of their ticks
    surplus = {number for number, _ in aged}
    if most is not None and len(stream.archived) > most:
        # Sorted by tick and number, because a resumed run no longer knows in which order a tick archived them.
        oldest = sorted(stream.archived, key=lambda number: (stream.archived[number].tick, number))
        surplus.update(oldest[: len(oldest) - most])
    return surplus
