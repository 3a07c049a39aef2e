"""Turn the world's turn into memory: its effects, and observations, of which a repeat is counted on its entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cogitate.memory.apply import apply, unmet
from cogitate.memory.effects import Effect
from cogitate.memory.entry import Entry
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.cells import receive
from cogitate.memory.retrieval.scoring import rating
from cogitate.memory.routing.history import is_shared
from cogitate.memory.routing.repeats import RepeatIndex, count_repeat
from cogitate.memory.stream import Stream
from cogitate.scheduler.engine.part import Part, TickState
from cogitate.scheduler.journal.lines import Repeat


class Remembered(NamedTuple):
    """The observations of a tick, by how they were remembered."""

    observed: tuple[tuple[str, Entry], ...]  # appended, in this order
    waiting: tuple[tuple[str, Entry], ...]  # kept in the head, in this order
    repeated: tuple[Repeat, ...]


class Remembering(Part):
    """Takes in observations. Its indexes hold no truth: they are made anew from the streams."""

    def __init__(self, *, coalesce: bool) -> None:
        self._coalesce = coalesce
        self._indexes: dict[str, RepeatIndex] = {}

    def end(self, tick: TickState) -> None:
        """Apply the effects that the world requested, then take in what owners have observed."""
        run, turn = tick.run, tick.turn
        applied = self._apply(tick, turn.world_effects)
        tick.touched |= {effect.owner for effect in applied}
        tick.touched |= {owner for owner, _ in turn.observed if not run.streams[owner].entries}
        remembered = self.take_in(run.streams, turn.observed, tick.number, run.facts.limits)
        tick.core["world_effects"] = tuple(applied)
        tick.core |= remembered._asdict()
        for owner in turn.leaves:
            self._indexes.pop(owner, None)

    def take_in(
        self, streams: Mapping[str, Stream], observed: Iterable[tuple[str, Entry]], tick: int, limits: MemoryLimits
    ) -> Remembered:
        """Append observations to their owners' streams, have them wait for a free cell, or count them as repeats.

        Cells, token windows and shared histories keep every statement: those designs count them.
        """
        appended: list[tuple[str, Entry]] = []
        waiting: list[tuple[str, Entry]] = []
        repeated: list[Repeat] = []
        for owner, entry in observed:
            stream = streams[owner]
            index = self._index(stream) if self._coalesces(owner, limits) else None
            number = index.repeated(entry) if index is not None else None
            if number is None:
                (appended if receive(stream, entry, limits, tick) else waiting).append((owner, entry))
                if index is not None:
                    index.note_appended()
            else:
                importance = entry.importance or rating(stream.entries[number])
                count_repeat(stream, number, entry.minute, importance)
                repeated.append(Repeat(owner, number, entry.minute, importance))
        return Remembered(tuple(appended), tuple(waiting), tuple(repeated))

    @staticmethod
    def _apply(tick: TickState, effects: Iterable[Effect]) -> list[Effect]:
        """Apply the effects that the world requested, and return those whose preconditions hold."""
        applied = []
        for effect in effects:
            if unmet(tick.run.streams, (effect,)) is not None:
                tick.run.warnings["world.effect_refused"] += 1
                continue
            apply(tick.run.streams, (effect,), tick.number)
            applied.append(effect)
        return applied

    def _coalesces(self, owner: str, limits: MemoryLimits) -> bool:
        return self._coalesce and limits.policy_of(owner) == "stream" and not is_shared(owner)

    def _index(self, stream: Stream) -> RepeatIndex:
        index = self._indexes.get(stream.owner)
        if index is None:
            index = self._indexes[stream.owner] = RepeatIndex(stream)
        return index
