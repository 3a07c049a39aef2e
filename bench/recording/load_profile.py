"""The load of a recording: when its agents reflected, and the model calls of each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any

from cogitate.memory.trigger import ReflectionTrigger
from cogitate.simulation.recorded.nodes import Node
from cogitate.simulation.recorded.recording import Recording


@dataclass
class Reflections:
    """The times at which an agent reflected, and the counters at the end."""

    times: list[datetime] = field(default_factory=list)
    counter: int = 0  # importance left until the next reflection
    events: int = 0  # events since the last reflection


def reflections(nodes: Iterable[Node], trigger: int) -> Reflections:
    """Apply the rule to nodes in order of time."""
    found, left = Reflections(), ReflectionTrigger.fresh(trigger)
    events = (node for node in nodes if node.type == "event")
    for when, step in groupby(events, key=lambda node: node.created):
        together = [node.poignancy for node in step]
        left, reflects = left.step(together)
        found.events += len(together)
        if reflects:
            found.times.append(when)
            found.events = 0
    found.counter = left.left
    return found


CALLS_PER_REFLECTION, CALLS_PER_INSIGHT = 4, 2  # the original's model calls


def reflection_times(recording: Recording, run: str) -> list[dict[str, Any]]:
    """Return for each agent the times at which the importance rule makes it reflect, and its final counters."""
    rows: list[dict[str, Any]] = []
    for persona in sorted(recording.personas, key=lambda persona: persona.name):
        trigger = persona.scratch.importance_trigger_max
        found = reflections(persona.nodes, trigger)
        rows.append(
            {
                "run": run,
                "agent": persona.name,
                "trigger_max": trigger,
                "nodes": len(persona.nodes),
                "recorded": [str(when) for when in found.times],
                "final_acc": found.counter,
                "final_ele": found.events,
            }
        )
    return rows


def job_demand(recording: Recording) -> str:
    """Return a CSV of importance ratings (of non-idle events), chats, reflections and calls by time step."""
    ratings: Counter[str] = Counter()
    chats: Counter[str] = Counter()
    reflected: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    for persona in recording.personas:
        times = {str(when) for when in reflections(persona.nodes, persona.scratch.importance_trigger_max).times}
        reflected.update(times)
        for when in times:
            calls[when] += CALLS_PER_REFLECTION
        for node in persona.nodes:
            step = str(node.created)
            ratings[step] += node.type == "event" and "idle" not in node.text
            chats[step] += node.type == "chat"
            calls[step] += CALLS_PER_INSIGHT * (node.type == "thought" and bool(node.evidence) and step in times)
    lines = ["sim_time,importance_jobs,chat_nodes,reflect_jobs,reflect_llm_calls"]
    for step in sorted(ratings | chats | reflected):
        lines.append(f"{step},{ratings[step]},{chats[step]},{reflected[step]},{calls[step]}")
    return "\n".join(lines) + "\n"
