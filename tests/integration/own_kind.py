"""A kind of a host's own, as its documentation shows it: an agent hums a tune every hour."""

from __future__ import annotations

from collections.abc import Iterable

from cogitate import Append, Case, Effect, Entry, Moment, Prompt, Request, register


class Hum:
    """Due every sixty ticks; never asks a model."""

    name = "hum"
    order = 90
    latency = 2
    on_denied = "drop"
    prompt_cap = 0
    output_cap = 0

    def due(self, moment: Moment) -> Iterable[Request]:
        if moment.tick % 60 == 0:
            yield Request(kind=self.name, owner=moment.owner)

    def wake(self, moment: Moment) -> int | None:
        return moment.tick + 60 - moment.tick % 60

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        raise LookupError("this kind asks no model")

    def effects(self, case: Case, answer: object, used: tuple[int, ...]) -> tuple[Effect, ...]:
        raise LookupError("this kind asks no model")

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        entry = Entry(type="observation", text="I hummed a tune.", minute=case.job.minute, importance=1)
        return (Append(case.job.key.owner, entry),)


register(Hum())
