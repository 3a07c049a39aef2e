"""Repeats in recorded streams: how many entries repeat what the same agent already remembers.

A repeat has the text of an earlier entry of the same agent, ignoring case and spaces. "Coalesced" counts the
observations that `cogitate.memory.routing.repeats` would count instead of store, if every entry were kept.
"""

from __future__ import annotations

from pathlib import Path

from bench.quality.recordings import Run, load_runs
from bench.table import Cell, Row, Table
from cogitate.memory.entry import Entry
from cogitate.memory.language.text import normal
from cogitate.memory.routing.repeats import RepeatIndex
from cogitate.memory.stream import Stream


def tables(data: Path) -> list[Table]:
    """Return the shares of entries per run; no table without runs."""
    rows = [Row(run.name, _shares(run)) for run in load_runs(data)]
    if not rows:
        return []
    rows.append(Row("published, other runs: 45–50% repeats, 42–52% idle", (0.475, 0.33, 0.47, None), True))
    rows.append(Row("published, July 1: 70% repeats", (0.70, None, None, None), True))
    columns = ("repeats", "within the hour", "idle", "coalesced")
    return [Table("Repeats in real streams", columns, tuple(rows), "Shares of all entries.")]


def _shares(run: Run) -> tuple[Cell, ...]:
    total = exact = hour = idle = coalesced = 0
    for agent in run.agents:
        stream = Stream(f"agent:{agent.name}")
        index = RepeatIndex(stream)
        latest: dict[str, int] = {}
        for node in agent.nodes:
            total += 1
            idle += node.idle
            key = normal(node.text)
            repeats = key in latest
            exact += repeats
            hour += repeats and node.created - latest[key] <= 3600
            latest[key] = node.created
            entry = Entry(
                type="observation" if node.type == "event" else "reflection", text=node.text, minute=node.minute
            )
            found = index.find(entry)
            if found is None:
                stream.append(entry, 0)
            coalesced += found is not None
    return tuple(count / max(1, total) for count in (exact, hour, idle, coalesced))
