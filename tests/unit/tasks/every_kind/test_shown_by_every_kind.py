"""For every kind that archives or moves a cursor: what its jobs passed is what their prompts showed, word for word.

Each memory consists of words of its own, so the prompts alone tell how much of it was shown.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogitate.memory.apply import apply, unmet
from cogitate.memory.effects import AdvanceCursor, Append, Archive, TakeWaiting
from cogitate.memory.entry import Entry
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.routing.scopes import WORLD
from cogitate.memory.stream import Stream
from cogitate.prompts.answers import IntegratedAnswer, SummaryAnswer
from cogitate.prompts.render import Templates
from cogitate.scheduler.engine.triggers import location_left, story_event
from cogitate.tasks.integrate import Integrate
from cogitate.tasks.kind import Case, WorldFacts
from cogitate.tasks.recount import Recount
from cogitate.tasks.registry import kinds
from cogitate.tasks.shown import effects_of
from cogitate.tasks.summarise import Summarise
from cogitate.workers.jobs.fitting import fit
from tests.unit.memory.scope_case import BOB, INN, Realm
from tests.unit.tasks.kind_cases import KLAUS, MARIA, case_of, due_turn, moment_of, stream_of

TEMPLATES = Templates()
SUMMARISE, RECOUNT, INTEGRATE = Summarise(TEMPLATES), Recount(TEMPLATES), Integrate(TEMPLATES)
PASSING = {"summarise", "recount", "integrate"}  # prune reads whatever it archives, and asks no model
MOST_JOBS = 400


class Fitting(NamedTuple):
    """How much of a prompt fits, job by job."""

    caps: list[int]  # tokens
    halved: list[bool]


def text_of(number: int, words: int) -> str:
    """Sentences of words that no other memory has; the NPC is named in each."""
    named = [f"w{number}x{i}{'.' if i % 7 == 6 else ''}" for i in range(words)]
    return " ".join(["Bob said", *named])[:4_000].rsplit(" ", words > 1)[0]


def words_in(text: str) -> set[str]:
    return set(re.findall(r"\bw\d+x\d+\b", text))


capped, halved = st.integers(1_000, 3_500), st.booleans()
sizes = st.lists(st.integers(1, 30) | st.integers(1, 500), min_size=1, max_size=25)
fittings = st.builds(
    Fitting,
    st.lists(st.integers(1_000, 3_500), min_size=1, max_size=5),
    st.lists(st.booleans(), min_size=1, max_size=3),
)


class Reader:
    """Follows the jobs of one owner, and compares what they pass with what their prompts have shown so far."""

    def __init__(self, kind: Any, entries: dict[int, Entry], fitting: Fitting) -> None:
        self.kind, self.entries, self.fitting = kind, entries, fitting
        self.seen: set[str] = set()
        self.passed: set[int] = set()
        self.jobs = 0

    def answered(self, case: Case) -> tuple[Any, ...]:
        """The effects of a job, once they were compared with its prompt."""
        fitting, self.jobs = self.fitting, self.jobs + 1
        assert self.jobs < MOST_JOBS, "no job passes anything any more"
        cap = min(self.kind.prompt_cap, fitting.caps[self.jobs % len(fitting.caps)])
        prompt = fit(self.kind, case, cap, halved=fitting.halved[self.jobs % len(fitting.halved)])
        answer = IntegratedAnswer if self.kind is INTEGRATE else SummaryAnswer
        effects = effects_of(self.kind, case, answer(summary="They spoke."), prompt)
        self.seen |= words_in(prompt.user.partition("New events:")[2] or prompt.user)
        complete = {number for number, entry in self.entries.items() if words_in(entry.text) <= self.seen}
        passed = set(self._passed(effects))
        assert passed == complete - self.passed, "what was shown to its end, no more and no less"
        for effect in effects:
            if isinstance(effect, Archive | AdvanceCursor):
                assert passed <= set(effect.shown or ())
            if isinstance(effect, TakeWaiting):
                assert effect.count == len(passed)
        self.passed |= passed
        return effects

    def _passed(self, effects: tuple[Any, ...]) -> Iterator[int]:
        for effect in effects:
            if isinstance(effect, Archive):
                yield from effect.numbers
            elif isinstance(effect, AdvanceCursor):
                yield from (n for n in self.entries if effect.start < n <= effect.end)


def entries_of(sizes: list[int], **fields: Any) -> list[Entry]:
    """Lines of a conversation, a minute apart."""
    values: dict[str, Any] = {
        "type": "message",
        "location": "inn",
        "subjects": (MARIA, KLAUS),
        "importance": 8,
    } | fields
    return [Entry(text=text_of(at, size), minute=600 + at, **values) for at, size in enumerate(sizes, start=1)]


def of_policy(stream: Stream, limits: MemoryLimits, reader: Reader) -> None:
    """Let the jobs of an owner's policy run until none is due."""
    world = WorldFacts(limits=limits)
    while requests := list(SUMMARISE.due(moment_of(stream, 5_000, world=world))):
        (request,) = requests
        case = case_of(SUMMARISE, stream, 5_000, request=request, world=world)
        head = stream.head
        job = msgspec.structs.replace(case.job, summary=head.summary, summary_version=head.summary_version)
        if not request.numbers:  # a second pass, on the summary alone
            return
        carried_out({KLAUS: stream}, reader.answered(dataclasses.replace(case, job=job)))


def carried_out(streams: dict[str, Stream], effects: tuple[Any, ...]) -> None:
    assert unmet(streams, effects) is None
    apply(streams, effects, 5_000)


def conversation(sizes: list[int], fitting: Fitting) -> Reader:
    stream, minute = stream_of(*entries_of(sizes)), 3_400
    reader = Reader(SUMMARISE, dict(stream.entries), fitting)
    while requests := due_turn(SUMMARISE, stream, minute):
        case = case_of(SUMMARISE, stream, minute, request=requests[0])
        effects = reader.answered(case)
        carried_out({KLAUS: stream}, effects)
        assert reader.passed <= {n for e in stream.live("summary") for n in e.evidence}, "the summaries name them"
        minute += 1
    return reader


def cells(sizes: list[int], fitting: Fitting) -> Reader:
    stream = stream_of(*entries_of(sizes, type="observation"))
    for number in range(len(sizes)):
        stream.wait(Entry(type="observation", text=f"Waiting {number}.", minute=4_000))
    reader = Reader(SUMMARISE, dict(stream.entries), fitting)
    of_policy(stream, MemoryLimits(policy="cells", cells=len(sizes)), reader)
    assert stream.head.waiting == []
    return reader


def window(sizes: list[int], fitting: Fitting) -> Reader:
    stream = stream_of(*entries_of(sizes, type="observation"))
    reader = Reader(SUMMARISE, dict(stream.entries), fitting)
    of_policy(stream, MemoryLimits(policy="tokens", token_limit=2, retain=0), reader)
    return reader


def scope(sizes: list[int], fitting: Fitting, owner: str) -> Reader:
    realm = Realm()
    for entry in entries_of(sizes, subjects=(BOB,)):
        realm.streams[WORLD].append(entry, 1)
    reader = Reader(RECOUNT, dict(realm.streams[WORLD].entries), fitting)
    realm.trigger(*location_left("inn", [BOB], 5_000), story_event("the_end", [], {}, 5_000))
    while owner in realm.open:
        effects = reader.answered(realm.open.pop(owner))
        carried_out(realm.streams, effects)
        (memory,) = (effect.entry for effect in effects if isinstance(effect, Append))
        assert memory.since_number == max(reader.passed | {memory.since_number or 0})
        realm.trigger()
    return reader


def integration(sizes: list[int], fitting: Fitting) -> Reader:
    stream = stream_of(*entries_of(sizes, tags=("integrate",)))
    stream.set_counter("integrate.asked", 9)
    reader = Reader(INTEGRATE, dict(stream.entries), fitting)
    while requests := list(INTEGRATE.due(moment_of(stream, 5_000))):
        case = case_of(INTEGRATE, stream, 5_000, request=requests[0])
        version = stream.head.summary_version
        case = dataclasses.replace(case, job=msgspec.structs.replace(case.job, summary_version=version))
        carried_out({KLAUS: stream}, reader.answered(case))
    return reader


WAYS: dict[str, Callable[[list[int], Fitting], Reader]] = {
    "summarise: a conversation": conversation,
    "summarise: cells": cells,
    "summarise: a window": window,
    "recount: a location": lambda sizes, fitting: scope(sizes, fitting, INN),
    "recount: an npc": lambda sizes, fitting: scope(sizes, fitting, BOB),
    "recount: the world": lambda sizes, fitting: scope(sizes, fitting, WORLD),
    "integrate": integration,
}


@pytest.mark.parametrize("way", WAYS)
@given(sizes=sizes, fitting=fittings)
@settings(max_examples=25, deadline=None)
def test_the_passed_entries_are_those_shown(way: str, sizes: list[int], fitting: Fitting) -> None:
    reader = WAYS[way](sizes, fitting)
    assert reader.passed == reader.entries.keys(), "in the end everything was shown"


def test_every_kind_that_passes_memories_is_among_them() -> None:
    assert {way.partition(":")[0] for way in WAYS} == PASSING
    assert {kind.name for kind in kinds() if kind.output_cap} - PASSING == {"rate", "plan", "act", "reflect"}
