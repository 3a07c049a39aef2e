"""Learn the value of calls at boundaries if a run spends by value (`cogitate.scheduler.budget.call_value`).

For each applied answer of a model, the boundary computes the heuristic on the same case and learns how much the answer
differs. The run stores the estimates in `state`, field "call_values".
"""

from __future__ import annotations

import msgspec

from cogitate.memory.clock import day_of
from cogitate.scheduler.budget.call_value import (
    FIELD,
    CallValues,
    Worth,
    change_of,
    happened_since,
    read_values,
)
from cogitate.scheduler.budget.value_round import ValueRound
from cogitate.scheduler.engine.boundary import Closing
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.engine.part import Part, TickState
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Request
from cogitate.tasks.plan import Plan


class Valuing(Part):
    """Learns the values of calls; does nothing unless the run spends by value."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def ended(self, tick: TickState, closing: Closing, item: OpenJob) -> None:
        """Learn how much a model's answer differs from the heuristic's."""
        values, job = self._state.values, item.job
        answered = closing.note.source in ("llm", "cached") and closing.ended.end == "applied"
        if values is not None and answered and job.valued and job.key.owner in self._state.profiles:
            change = change_of(closing.ended.effects, self._state.without_model(item).effects)
            values.learn(job.key.kind, job.valued, change, closing.note.usage)

    def take_writes(self) -> list[Write]:
        values = self._state.values
        if values is None or not values.changed:
            return []
        values.changed = False
        return [Write("HSET", "state", (FIELD, msgspec.json.encode(values.state)))]

    def load(self, store: RunStore) -> None:
        if self._state.values is not None:
            self._state.values = CallValues(read_values(store))


def value_round(state: RunState, minute: int) -> ValueRound | None:
    """Return the values of a tick's requests; None unless the run spends by value."""
    values, rules = state.values, state.rules
    if values is None:
        return None
    daily = {kind.name for kind in rules.kinds if kind.time_of_day} | {Plan.name}
    asking = {kind.name: kind.name in daily for kind in rules.kinds if rules.model_of(kind)}

    def worth_of(request: Request) -> Worth | None:
        if request.kind not in asking:
            return None
        served = state.last_served(request.kind, request.owner)
        return values.worth(
            request,
            weight=state.profiles[request.owner].weight,
            happened=happened_since(state.streams[request.owner], served),
            enough=state.facts.limits.reflection_trigger_max,
            is_first=served < 0 or day_of(state.facts.minute(served)) != day_of(minute),
        )

    last = None if state.due.last is None else state.facts.minute(state.due.last)
    return ValueRound(values, state.view, minute, worth_of=worth_of, kinds=asking, owners=len(state.streams), last=last)
