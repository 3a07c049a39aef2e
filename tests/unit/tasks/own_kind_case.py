"""A kind of a host's own that does whatever a test says, for the tests of what a run does about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from cogitate.memory.effects import Append, Effect
from cogitate.memory.entry import Entry
from cogitate.tasks.job import Latency, Request
from cogitate.tasks.kind import Case, Kind, Moment, OnDenied, Prompt


class Said(BaseModel):
    """What a model answers to the kind."""

    text: str


def remembered(case: Case, **fields: Any) -> tuple[Effect, ...]:
    """One observation, as the fields say."""
    values = {"type": "observation", "text": "I hummed.", "minute": case.job.minute, "importance": 1} | fields
    return (Append(case.job.key.owner, Entry(**values)),)


def asked_every_tick(moment: Moment) -> Iterable[Request]:
    """One request."""
    return [Request(kind="hum", owner=moment.owner)]


@dataclass
class Own(Kind):
    """Due at every tick on which it is asked, unless a test says otherwise."""

    makes: Callable[[Case], Any] = remembered  # its heuristic
    answers: Callable[[Case, Any], Any] = lambda case, answer: remembered(case, text=answer.text)
    asks: Callable[[Moment], Any] = asked_every_tick
    wakes: Callable[[Moment], Any] = lambda moment: moment.tick + 1
    name: str = "hum"
    order: int = 90
    latency: Latency = 1
    on_denied: OnDenied = "heuristic"
    prompt_cap: int = 1_000
    output_cap: int = 0

    def due(self, moment: Moment) -> Any:
        return self.asks(moment)

    def wake(self, moment: Moment) -> Any:
        return self.wakes(moment)

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        return Prompt(system="Hum.", user=f"A tune for {case.profile.name}.", answer=Said, version="1")

    def effects(self, case: Case, answer: BaseModel, used: tuple[int, ...]) -> Any:
        return self.answers(case, answer)

    def heuristic(self, case: Case) -> Any:
        return self.makes(case)
