"""What tests of recorded runs share: a recording of a few events, written as the tests want it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cogitate.memory.entry import Entry
from cogitate.simulation.recorded.player import RecordedWorld

DAY = 1440


def event(**changes: Any) -> dict[str, Any]:
    record = {
        "type": "event",
        "created": "2023-02-13 07:00:10",
        "subject": "the Ville:Hobbs Cafe:cafe:counter",
        "predicate": "is",
        "object": "clean",
        "description": "counter is clean",
        "poignancy": 2,
        "keywords": ["counter"],
        "filling": [],
    }
    return record | changes


def write(folder: Path, nodes: Any, names: tuple[str, ...] = ("Ann Lee",), **scratch: Any) -> Path:
    """A recording of the given nodes, the same for each name."""
    meta = {
        "start_date": "February 13, 2023",
        "curr_time": "February 13, 2023, 23:00:00",
        "sec_per_step": 10,
        "persona_names": list(names),
    }
    folder.mkdir(exist_ok=True)
    (folder / "meta.json").write_text(json.dumps(meta))
    for name in names:
        memory = folder / "personas" / name / "bootstrap_memory"
        (memory / "associative_memory").mkdir(parents=True)
        identity = {
            "name": name,
            "age": 34,
            "innate": "kind, blunt",
            "learned": "Ann runs a shop.",
            "currently": "Ann is well.",
            "lifestyle": "Ann sleeps late.",
            "living_area": "the Ville:Ann's house:bedroom",
            "daily_plan_req": "SECRET plan",
            "daily_req": ["SECRET request"],
            "f_daily_schedule": [["sleeping", 420], ["SECRET lunch", 60], ["reading", 960]],
        }
        (memory / "scratch.json").write_text(json.dumps(identity | scratch))
        (memory / "associative_memory" / "nodes.json").write_text(json.dumps(nodes))
    return folder


def play(world: RecordedWorld, first: int = 0, last: int = DAY) -> list[tuple[str, Entry]]:
    return [seen for tick in range(first, last) for seen in world.step(tick, tick)]
