"""Prunes routine memories and compacts ordinary old conversations, never with a model (streams design, task 10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cogitate.memory.effects import Effect
from cogitate.memory.entry import Entry, is_dialogue
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.compaction import SETTLED, WORTHWHILE, Cut, carry_out, choose
from cogitate.memory.routing.history import is_shared
from cogitate.memory.stream import Stream
from cogitate.tasks import timing
from cogitate.tasks.heuristics.thinking_language import language_params, quoting_language
from cogitate.tasks.job import Request
from cogitate.tasks.kind import Case, Kind, Moment, NoParams, WorldFacts
from cogitate.tasks.recall import delay_of

EVERY = 100  # ticks (streams design)
SOON = 10  # ticks between checks of an owner when pruning is urgent
NEAR = 0.9  # share of the limit of observations above which pruning is urgent
OVERDUE = SETTLED + 6 * 60  # age in game minutes at which compacting an ordinary conversation is urgent


class Prune(Kind):
    """Due every 100 ticks, with owners spread over these ticks, if there is something to prune.

    The request names the entries to prune, so no other job takes them too.
    """

    name = "prune"
    params = NoParams
    order = 40
    latency = "5m"

    def due(self, moment: Moment) -> Iterable[Request]:
        """Return a request that names the entries, at the owner's turn or if pruning is urgent.

        A shared history is not pruned: the boundary archives its oldest entries.
        """
        if is_shared(moment.owner):
            return ()
        if not timing.is_turn(moment, EVERY) and not (timing.is_turn(moment, SOON) and self._urgent(moment)):
            return ()
        cut = choose(
            moment.owner, moment.stream.live(), moment.world.limits, moment.minute, timing.open_numbers(moment)
        )
        if not cut.numbers:
            return ()
        params = _params(cut) | language_params(moment)
        return (Request(kind=self.name, owner=moment.owner, priority=1, params=params, numbers=cut.numbers),)

    def wake(self, moment: Moment) -> int | None:
        """Return the next turn at which there may be something to prune, or an earlier tick if pruning is urgent."""
        if is_shared(moment.owner):
            return None
        if self._urgent(moment):
            return timing.next_turn(moment, SOON)
        stream, limits, oldest = moment.stream, moment.world.limits, moment.stream.oldest_line()
        surplus = stream.count("reflection") > limits.max_reflections or stream.count("plan") > limits.max_plans
        if surplus or _worthwhile(stream, limits):
            return timing.next_turn(moment, EVERY)
        if oldest is None:
            return None
        settled = timing.next_turn(moment, EVERY, timing.tick_at(moment, oldest + SETTLED))
        return min(settled, timing.next_turn(moment, SOON, timing.tick_at(moment, oldest + OVERDUE)))

    def heeds(self, entry: Entry, stream: Stream, world: WorldFacts, minute: int) -> bool:
        """Return whether an observed entry is a line of a conversation, or the stream is full enough."""
        return is_dialogue(entry) or _worthwhile(stream, world.limits)

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        """Return the effects of the cut that the request names, or else of the one that pruning would make now."""
        owner, minute, limits = case.job.key.owner, case.job.minute, case.world.limits
        cut = _cut(case.job.params)
        if cut is None:
            cut = choose(owner, case.entries, limits, minute)
        return carry_out(
            owner, cut, case.entries, limits, case.world.display_names, minute + delay_of(case), quoting_language(case)
        )

    def _urgent(self, moment: Moment) -> bool:
        oldest = moment.stream.oldest_line()
        overdue = oldest is not None and oldest <= moment.minute - OVERDUE
        return overdue or moment.stream.observed() >= NEAR * moment.world.limits.max_observations


def _worthwhile(stream: Stream, limits: MemoryLimits) -> bool:
    """Return whether the stream is full enough to prune its routine entries."""
    return stream.observed() >= WORTHWHILE * limits.max_observations


def _params(cut: Cut) -> dict[str, Any]:
    return {
        "routine": list(cut.routine),
        "talks": [list(talk) for talk in cut.talks],
        "reflections": list(cut.reflections),
        "plans": list(cut.plans),
    }


def _cut(params: Mapping[str, Any]) -> Cut | None:
    if "routine" not in params:
        return None
    return Cut(
        routine=tuple(params["routine"]),
        talks=tuple(tuple(talk) for talk in params.get("talks", ())),
        reflections=tuple(params.get("reflections", ())),
        plans=tuple(params.get("plans", ())),
    )
