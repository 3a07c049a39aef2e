"""The calls of recorded days of Generative Agents, for `python -m bench barrier`.

The original asks a model to rate each non-idle event and each talk. A reflection takes four calls, plus two for each
insight, one after the other (`reflect.py` of Park et al. 2023). A rating or an insight is first read when the agent
next reflects or talks, so that is the step at which the result is used; without such a step, it is used at the end of
the day.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from bench.recording.load_profile import CALLS_PER_INSIGHT, CALLS_PER_REFLECTION, reflections
from cogitate.simulation.recorded.recording import Persona, Recording, read_recording

RATING, THOUGHT = "recorded_rating", "recorded_thought"


class RecordedCalls(NamedTuple):
    """Calls of one agent at one step."""

    owner: str
    step: int
    kind: str
    number: int  # ratings do not depend on each other; each call of a reflection needs the one before
    use: int  # the step at which their results are read


def recordings_in(folder: Path) -> list[Recording]:
    """Return the recorded days under a folder, by name."""
    return [read_recording(meta.parent) for meta in sorted(folder.rglob("meta.json"))]


def calls_of(recording: Recording) -> list[RecordedCalls]:
    """Return the calls of a recording, by step."""
    found: list[RecordedCalls] = []
    for persona in recording.personas:
        found.extend(_calls_of(recording, persona))
    return sorted(found, key=lambda calls: (calls.step, calls.owner, calls.kind))


def steps_of(recording: Recording) -> int:
    """Return how many steps a recording has."""
    return _step_of(recording, max(node.created for persona in recording.personas for node in persona.nodes)) + 1


def owner_of(name: str) -> str:
    """Return the owner that represents an agent of a recording."""
    return f"agent:{name.lower()}"


def _calls_of(recording: Recording, persona: Persona) -> Iterator[RecordedCalls]:
    reflected = set(reflections(persona.nodes, persona.scratch.importance_trigger_max).times)
    talked = {node.created for node in persona.nodes if node.type == "chat"}
    uses = sorted(_step_of(recording, when) for when in reflected | talked)
    last = steps_of(recording)
    ratings: Counter[int] = Counter()
    insights: Counter[int] = Counter()
    for node in persona.nodes:
        step = _step_of(recording, node.created)
        if node.type == "chat" or (node.type == "event" and "idle" not in node.text):
            ratings[step] += 1
        elif node.type == "thought" and node.evidence and node.created in reflected:
            insights[step] += 1

    def use_after(step: int) -> int:
        at = bisect_right(uses, step)
        return uses[at] if at < len(uses) else last

    for step, number in ratings.items():
        yield RecordedCalls(owner_of(persona.name), step, RATING, number, use_after(step))
    for when in reflected:
        step = _step_of(recording, when)
        number = CALLS_PER_REFLECTION + CALLS_PER_INSIGHT * insights[step]
        yield RecordedCalls(owner_of(persona.name), step, THOUGHT, number, use_after(step))


def _step_of(recording: Recording, when: datetime) -> int:
    return int((when - recording.first_day).total_seconds() // recording.meta.sec_per_step)
