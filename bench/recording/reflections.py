"""Reflections of the recorded agents, by the importance rule of Generative Agents (Park et al. 2023, `reflect.py`).

A counter starts at the trigger. At each time step it is lowered by the importance, as recorded, of the new events
(not chats, not thoughts); at or below zero the agent reflects at that step and the counter starts again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

from cogitate.simulation.recorded.nodes import Node


@dataclass
class Reflections:
    """The times at which an agent reflected, and the counters at the end."""

    times: list[datetime] = field(default_factory=list)
    counter: int = 0  # importance left until the next reflection
    events: int = 0  # events since the last reflection


def reflections(nodes: Iterable[Node], trigger: int) -> Reflections:
    """Apply the rule to nodes in order of time."""
    found = Reflections(counter=trigger)
    events = (node for node in nodes if node.type == "event")
    for when, step in groupby(events, key=lambda node: node.created):
        for node in step:
            found.counter -= node.poignancy
            found.events += 1
        if found.counter <= 0:
            found.times.append(when)
            found.counter, found.events = trigger, 0
    return found
