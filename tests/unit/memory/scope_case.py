"""What tests of scoped memories share: a party, an innkeeper and what was said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from cogitate.memory.apply import apply, unmet
from cogitate.memory.effects import Effect
from cogitate.memory.entry import Entry
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.profile import Profile
from cogitate.memory.routing.scopes import WORLD, cursor_of
from cogitate.memory.stream import Stream
from cogitate.prompts.answers import SummaryAnswer
from cogitate.prompts.render import Templates
from cogitate.scheduler.engine.triggers import ScopeTrigger, location_left, recounts
from cogitate.tasks.job import Job, JobKey, Reads, Request
from cogitate.tasks.kind import Case, WorldFacts
from cogitate.tasks.recount import Recount
from cogitate.tasks.shown import effects_of

RECOUNT = Recount(Templates())


INN, BOB, EVE = "location:inn", "npc:bob", "npc:eve"


PROFILES = {
    WORLD: Profile(name="The Realm"),
    INN: Profile(name="The Drunken Goose"),
    "location:road": Profile(name="The Road"),
    BOB: Profile(name="Bob"),
    EVE: Profile(name="Eve"),
}
ANSWER = SummaryAnswer(summary="The party paid Bob. He promised them a map.")
TALK = ("Hello, innkeeper.", "Bob brings ale.", "Thank you!", "It rains.", "We must go.")


class Realm:
    """Streams, and jobs that are applied when the test says so."""

    def __init__(self, limits: MemoryLimits | None = None) -> None:
        self.streams = {owner: Stream(owner) for owner in PROFILES}
        self.waiting: list[ScopeTrigger] = []
        self.open: dict[str, Case] = {}
        self.limits = limits or MemoryLimits()
        self.told: dict[str, list[int]] = {}  # numbers that the memories of each scope tell
        self.minute = 0

    def say(self, *texts: str, location: str = "inn", **fields: Any) -> None:
        for text in texts:
            self.minute += 1
            entry = Entry(type="message", text=text, minute=self.minute, location=location, **fields)
            self.streams[WORLD].append(entry, self.minute)

    def trigger(self, *new: ScopeTrigger) -> list[str]:
        """The scopes that get a job at the end of a tick with these triggers."""
        triggers = [*self.waiting, *new]
        requests, self.waiting = recounts(triggers, self.streams, PROFILES, lambda _, scope: scope in self.open)
        for request in requests:
            self.open[request.owner] = self.case(request)
        return [request.owner for request in requests]

    def leave(self, *present: str, location: str = "inn") -> list[str]:
        return self.trigger(*location_left(location, present, self.minute))

    def case(self, request: Request) -> Case:
        own = Reads(request.owner, self.streams[request.owner].head.last_number, request.numbers)
        job = Job(
            run="test",
            key=JobKey(self.minute, "recount", request.owner, 0, 0),
            minute=self.minute,
            due=self.minute + 10,
            reads=(own, *request.reads),
            params=request.params,
        )
        memories = {
            reads.owner: [self.streams[reads.owner].entries[n] for n in reads.numbers or ()] for reads in job.reads
        }
        return Case(job=job, profile=PROFILES[request.owner], world=WorldFacts(limits=self.limits), memories=memories)

    def settle(self, scope: str, *, fails: bool = False, share: float = 1.0) -> tuple[Effect, ...]:
        """The open job of a scope ends, with a model's answer to a share of its messages or without."""
        case = self.open.pop(scope)
        asked = replace(case, job=with_model(case.job))
        prompt = RECOUNT.prompt(asked, share)
        effects = RECOUNT.heuristic(asked) if fails else effects_of(RECOUNT, asked, ANSWER, prompt)
        assert unmet(self.streams, effects) is None
        apply(self.streams, effects, self.minute)
        if effects:
            self.told.setdefault(scope, []).extend(prompt.used)
        return effects

    def memories(self, scope: str) -> list[Entry]:
        return self.streams[scope].live("summary")

    def cursor(self, scope: str, location: str = "inn") -> int:
        return self.streams[scope].head.cursors.get(cursor_of(scope, location), 0)


def with_model(job: Job) -> Job:
    """The same job with a model to ask."""
    return msgspec.structs.replace(job, model="stand-in")
