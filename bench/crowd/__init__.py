"""Measure the cost of many agents to their host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from bench.table import Table


def ticks(
    agents: Sequence[int] = (100, 1_000, 10_000),
    morning: Annotated[Sequence[int], "agents whose morning is measured by the clock"] = (1_000,),
    memories: Annotated[Sequence[int], "memories that a heuristic reads"] = (36, 200),
    one_tick: Annotated[Sequence[int], "agents due in one tick, with memories and workers"] = (10_000,),
) -> Iterator[Table]:
    """Yield the cost of a tick, of a morning, of a heuristic, and of a tick in which all agents are due."""
    from bench.crowd import heuristic_cost, host
    from bench.crowd import morning as mornings
    from bench.crowd import one_tick as one_ticks

    tables = ((host, agents), (mornings, morning), (heuristic_cost, memories), (one_ticks, one_tick))
    return (module.table(numbers) for module, numbers in tables if numbers)


def boundaries(
    agents: Sequence[int] = (1_000, 10_000),
    due: Annotated[Sequence[int], "agents due in one tick, compared with other queues"] = (1_000,),
) -> Iterator[Table]:
    """Yield the stalls of a host on a spread morning, and the cost of many agents due in one tick."""
    from bench.crowd import boundary, due_at_once

    yield boundary.table(agents)
    yield from map(due_at_once.table, due)
