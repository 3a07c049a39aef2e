"""Which of a recorded day's calls admission makes within a limit, in order of arrival or by value.

As in a run, the rest of the limit at 20:00 pays for repairs of heuristics' results, the oldest first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

from cogitate.memory.clock import DAY, day_of
from cogitate.memory.trigger import DEFAULT_TRIGGER
from cogitate.scheduler.budget.budget import BudgetView
from cogitate.scheduler.budget.call_value import CallValues, Worth
from cogitate.scheduler.budget.repairs import AT_ONCE, EVERY
from cogitate.scheduler.budget.value_round import ValueRound
from cogitate.scheduler.config.limits import LimitTable
from cogitate.tasks.job import Cost, JobKey, Request

EVENING = 1_200  # minutes after 00:00 at which repairs begin
CALL = Cost(calls=1)


class Call(NamedTuple):
    """One call that was recorded, as admission sees it before it is made."""

    owner: str
    minute: int  # game time
    happened: int  # total importance of the owner's observations since its last call
    change: int  # thousandths by which the model's result differs from the heuristic's: known after the call
    tokens: int  # of prompt and answer
    repairs: bool = False  # whether the evening repairs the heuristic's result


def made(calls: Sequence[Call], limit: int, *, by_value: bool, draw: int = 0) -> list[bool]:
    """Return which calls admission and the evening's repairs make within a day's limit.

    Args:
        draw: the number of the draw, each with other ties between values and other calls that check them.
    """
    values, view = CallValues(), BudgetView(LimitTable({"day.run.calls": limit}), retry_share=0.0, guarantees={})
    owners, served, admitted = len({call.owner for call in calls}), dict[str, int](), set[int]()
    asked = {
        minute: list(group) for minute, group in groupby(enumerate(calls), key=lambda numbered: numbered[1].minute)
    }
    evening = DAY * day_of(calls[0].minute)
    rounds = range(evening + EVENING, evening + DAY, EVERY)
    for minute in sorted({*asked, *rounds}):
        asking = [(number, call, Request(kind="think", owner=call.owner)) for number, call in asked.get(minute, ())]
        worths = {id(request): _worth(values, request, call, served) for _, call, request in asking}
        admission = ValueRound(
            values,
            view,
            minute,
            worth_of=partial(_known, worths),
            kinds={"think": False},
            owners=owners,
            last=None,
        )
        admission.begin(request for *_, request in asking)
        if by_value:
            asking.sort(key=lambda one: -worths[id(one[2])].value)
        for number, call, request in asking:
            key = JobKey(minute, "think", call.owner, number + draw * len(calls), 0)
            cells = view.cells(key, minute)
            if view.refusal(key, minute, CALL) is None and (
                not by_value or admission.affords(key, request, CALL, cells)
            ):
                view.move(cells, Cost(), CALL)
                served[call.owner] = minute
                admitted.add(number)
                if valued := admission.valued(key, request):
                    values.learn("think", valued, call.change, Cost(calls=1, tokens=call.tokens))
        if minute in rounds:
            waiting = (
                at for at, call in enumerate(calls) if call.repairs and call.minute < minute and at not in admitted
            )
            for number in list(waiting)[:AT_ONCE]:
                key = JobKey(minute, "think", calls[number].owner, number, 0)
                if view.refusal(key, minute, CALL) is None:
                    view.move(view.cells(key, minute), Cost(), CALL)
                    admitted.add(number)
    return [number in admitted for number in range(len(calls))]


def _known(worths: Mapping[int, Worth], request: Request) -> Worth:
    return worths[id(request)]


def _worth(values: CallValues, request: Request, call: Call, served: dict[str, int]) -> Worth:
    is_first = call.owner not in served
    return values.worth(request, weight=1.0, happened=call.happened, enough=DEFAULT_TRIGGER, is_first=is_first)
