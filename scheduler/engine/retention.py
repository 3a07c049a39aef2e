"""Retention: enforces the limits of streams at the end of a tick, and deletes what was archived long ago."""

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
    """Enforce the limits of these owners, and return the effects of that."""
    cuts: list[Effect] = []
    for owner in owners:
        if effects := enforce_limits(streams[owner], limits, minute, names, partial(language_of, owner)):
            apply(streams, effects, tick)
            cuts += effects
    return tuple(cuts)


class Limits(Part):
    """Enforces the limits of the streams that the tick has changed."""

    def end(self, tick: TickState) -> None:
        """Cut what is beyond a limit."""
        run = tick.run
        world, limits, streams, profiles = run.world(), run.facts.limits, run.streams, run.profiles

        def language_of(owner: str) -> str:
            return language_of_owner(owner, profiles[owner], streams[owner].live(), world)

        names, minute = world.display_names, tick.minute
        cuts = cut(streams, tick.changed, limits, tick=tick.number, minute=minute, names=names, language_of=language_of)
        tick.count_losses(cuts)
        tick.cut = {effect.owner for effect in cuts}
        tick.core["cuts"] = cuts


class Retention(Part):
    """Deletes what was archived long ago. It looks at an owner when its oldest archived entry is old enough."""

    def __init__(self) -> None:
        self._looks: list[tuple[int, str]] = []  # a heap: tick, owner
        self._next: dict[str, int] | None = None  # owner -> its tick that counts; None: no stream is known yet

    def end(self, tick: TickState) -> None:
        """Delete what is too old or too much."""
        run = tick.run
        tick.core["deleted"] = self.forget(run.streams, run.facts, run.open.values(), tick.number)

    def forget(
        self, streams: Streams, facts: Facts, open_jobs: Iterable[OpenJob], tick: int
    ) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Delete archived entries that are too old or too many; never one that an open job may read.

        This happens with every tick, not in rounds: a round would delete all that a crowd has seen at once.
        """
        kept, most = facts.clock.ticks(facts.limits.retention), facts.limits.max_archived
        kept = max(kept, min(1, facts.limits.retention))  # a tick where that is longer
        looked_at = self._owners(streams, kept, most, tick)
        over = {owner: found for owner in looked_at if (found := _over(streams[owner], tick - kept, most))}
        deleted = []
        if over:
            jobs = [item.job for item in open_jobs]
            oldest = min((job.key.tick for job in jobs), default=tick)
            named = {(reads.owner, n) for job in jobs for reads in job.reads for n in reads.numbers or ()}
            for owner, found in over.items():
                archived = streams[owner].archived
                numbers = sorted(n for n in found if archived[n].tick <= oldest and (owner, n) not in named)
                if numbers:
                    streams[owner].delete(numbers)
                    deleted.append((owner, tuple(numbers)))
        for owner in looked_at:
            self._look_again(streams[owner], kept, most, tick + 1)
        return tuple(deleted)

    def _owners(self, streams: Streams, kept: int, most: int | None, tick: int) -> list[str]:
        """Return the owners to look at with this tick, in order."""
        if self._next is None:
            self._next = {}
            return sorted(streams)
        found = set()
        while self._looks and self._looks[0][0] <= tick:
            at, owner = heappop(self._looks)
            if self._next.get(owner) == at:
                del self._next[owner]
                found.add(owner)
        for owner in streams.changed:
            archived = streams[owner].archived
            if most is not None and len(archived) > most:
                found.add(owner)
            elif owner not in found:
                self._look_again(streams[owner], kept, most, tick + 1)
        return sorted(found & streams.keys())

    def _look_again(self, stream: Stream, kept: int, most: int | None, soonest: int) -> None:
        """Note when the stream is to be looked at, not before tick `soonest`."""
        assert self._next is not None
        if not stream.archived:
            return
        surplus = most is not None and len(stream.archived) > most  # an open job may read it
        oldest = next(iter(stream.archived.values()))
        at = soonest if surplus else max(soonest, oldest.tick + kept + 1)
        if at < self._next.get(stream.owner, at + 1):
            self._next[stream.owner] = at
            heappush(self._looks, (at, stream.owner))


def _over(stream: Stream, before: int, most: int | None) -> set[int]:
    """Return the entries that were archived before a tick, and the oldest ones beyond `most`."""
    aged = takewhile(lambda item: item[1].tick < before, stream.archived.items())  # in the order of their ticks
    over = {number for number, _ in aged}
    if most is not None and len(stream.archived) > most:
        # By tick and number: a resumed run no longer knows in which order a tick archived them.
        oldest = sorted(stream.archived, key=lambda number: (stream.archived[number].tick, number))
        over.update(oldest[: len(oldest) - most])
    return over
