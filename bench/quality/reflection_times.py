"""The importance trigger on recorded days: does it reproduce every recorded reflection and the final counter?

The counter is lowered at each time step by the importances of that step's new events (not chats, not thoughts).
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from bench.quality.recordings import Agent, Run, load_runs
from bench.table import Row, Table
from cogitate.memory.trigger import ReflectionTrigger


def tables(data: Path) -> list[Table]:
    """Count the reproduced times and final counters, per run and in total; return no table without records."""
    rows: list[Row] = []
    totals = [0] * 5
    for run in load_runs(data):
        if run.reflections:
            cells = _compare(run)
            totals = [a + b for a, b in zip(totals, cells, strict=True)]
            rows.append(Row(run.name, tuple(cells)))
    if not rows:
        return []
    columns = ("recorded", "reproduced", "times too many", "final counters", "counters equal")
    rows += [Row("all", tuple(totals)), Row("published", (219, 219, 0, None, None), published=True)]
    return [Table("Reflection times by accumulated importance", columns, tuple(rows))]


def replay(agent: Agent, maximum: int) -> tuple[list[int], int]:
    """Return the times at which the trigger fires (seconds since 1970), and the counter left at the end."""
    trigger = ReflectionTrigger.fresh(maximum)
    times: list[int] = []
    events = sorted((n for n in agent.nodes if n.type == "event"), key=lambda n: (n.created, n.number))
    for created, together in groupby(events, key=lambda n: n.created):
        trigger, reflects = trigger.step(n.poignancy for n in together)
        if reflects:
            times.append(created)
    return times, trigger.left


def _compare(run: Run) -> list[int]:
    """Return the number of recorded times, reproduced times, extra times, final counters, and equal counters."""
    agents = {agent.name: agent for agent in run.agents}
    recorded = reproduced = extra = counters = equal = 0
    for record in run.reflections:
        if record.agent not in agents:
            continue
        times, left = replay(agents[record.agent], record.trigger)
        recorded += len(record.times)
        reproduced += len(set(record.times) & set(times))
        extra += len(set(times) - set(record.times))
        if record.final_counter is not None:
            counters += 1
            equal += left == record.final_counter
    return [recorded, reproduced, extra, counters, equal]
