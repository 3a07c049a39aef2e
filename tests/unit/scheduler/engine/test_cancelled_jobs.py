"""An operator cancels open jobs: each ends at once without effects, and its heuristic is applied when it was due."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis

from cogitate import JobEnd, Profile, TickLoop
from cogitate.kinds import register
from cogitate.scheduler.budget.admission import Decided, replacement
from cogitate.scheduler.config.controls import CancelJobs, Control, ControlAnswer, SetMode
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.engine import admitting
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import JobQuery
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.journal.checkpoint import trimmed_tick
from cogitate.scheduler.journal.ends import ends_of
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.scheduler.steering.operators import ask
from cogitate.tasks.job import JobKey, Request
from cogitate.tasks.kind import Moment
from tests.unit.tasks.own_kind_case import Own

Loops = Callable[..., TickLoop]
ADA, BEN = "agent:ada", "agent:ben"
OWNERS = {ADA: Profile(name="Ada"), BEN: Profile(name="Ben")}
RUN, TICKS, ASKED, CANCELLED, DUE = "test", 14, 2, 4, 8
WHY = "it asks for too much"
OF_ADA = f"{ASKED}/hum/{ADA}/0/0"
INSTEAD = f"{CANCELLED}/hum/{ADA}/0/1"


@pytest.fixture(autouse=True)
def hum() -> None:
    """Jobs of this kind are due six ticks after their request."""
    register(Own(asks=lambda moment: (), wakes=lambda moment: None, latency=DUE - ASKED))


class Lived:
    """A run in which a host asks for two jobs, and an operator for something later."""

    def __init__(
        self, loops: Loops, *controls: Control, at: int = CANCELLED - 1, until: int = TICKS, **more: Any
    ) -> None:
        self.client: FakeRedis = more.pop("client", None) or FakeRedis()
        self.ends: dict[str, JobEnd] = {}
        self.ended_at: dict[str, int] = {}
        loop = loops(client=self.client, ticks=TICKS, **more)
        for tick in loop:
            for end in tick.ended:
                assert end.id not in self.ends, "a job ends once"
                self.ends[end.id], self.ended_at[end.id] = end, tick.number
            if tick.replayed:
                continue
            if tick.number == ASKED:
                loop.request("hum", ADA)
                loop.request("hum", BEN)
            if tick.number == at and controls:
                ask(self.client, RUN, controls, wait=0, by="ann", reason=WHY)
            if tick.number == until:
                break
        loop.close()
        self.loop = loop

    def lines(self) -> Sequence[ReadLine]:
        return list(read_journal(self.loop.ledger.store, 1, self.loop.tick))

    def answers(self) -> list[ControlAnswer]:
        return [answer for line in self.lines() for answer in line.notes.answers]

    def prove(self) -> None:
        """Check that it is sound, and the same by its journal."""
        assert audit(self.client, RUN) == []
        assert replay(self.client, RUN, FakeRedis()).digest == self.loop.digest


def test_a_cancelled_job_ends_at_once_and_its_heuristic_is_applied_when_it_was_due(cogitate_loop: Loops) -> None:
    lived = Lived(cogitate_loop, CancelJobs((OF_ADA,)), owners=OWNERS)
    cancelled, instead = lived.ends[f"{RUN}/{OF_ADA}"], lived.ends[f"{RUN}/{INSTEAD}"]
    assert (cancelled.end, cancelled.source, cancelled.reason, cancelled.applied) == (
        "cancelled",
        "none",
        "cancelled",
        (),
    )
    assert (cancelled.why, cancelled.next) == (f"an operator cancelled it: {WHY}", instead.id)
    assert (instead.end, instead.source, instead.reason) == ("applied", "heuristic", "cancelled")
    assert instead.why == "an operator cancelled its call"
    assert [change.entry and change.entry.text for change in instead.applied] == ["I hummed."]
    assert lived.ended_at[instead.id] == DUE
    assert lived.ends[f"{RUN}/{ASKED}/hum/{BEN}/0/0"].reason == "none", "the other goes on"
    (answer,) = lived.answers()
    assert (answer.tick, answer.cancelled, answer.held, answer.reason, answer.by) == (CANCELLED, 1, 0, WHY, "ann")
    told = [end for line in lived.lines() for end in ends_of(RUN, line)]
    assert {end.id: end for end in told} == lived.ends
    lived.prove()


def test_jobs_that_have_ended_and_those_left_to_the_heuristic_are_counted_not_cancelled(cogitate_loop: Loops) -> None:
    named = CancelJobs((OF_ADA, INSTEAD, "1/hum/agent:zoe/0/0"))
    lived = Lived(cogitate_loop, named, named, owners=OWNERS)
    first, second = lived.answers()
    assert [(one.cancelled, one.held) for one in (first, second)] == [(1, 0), (0, 0)]
    assert first.called_off is not None
    assert first.called_off.ended == 2
    again = Lived(cogitate_loop, CancelJobs((OF_ADA,)), owners=OWNERS, until=CANCELLED)
    ask(again.client, RUN, [CancelJobs((OF_ADA, INSTEAD))], wait=0, reason=WHY)
    last = Lived(cogitate_loop, client=again.client, exist="resume")
    assert last.answers()[-1].called_off == (0, 1, 1)
    assert last.ends[f"{RUN}/{INSTEAD}"].end == "applied"
    last.prove()


def test_a_resumed_run_is_the_same(cogitate_loop: Loops) -> None:
    whole = Lived(cogitate_loop, CancelJobs((OF_ADA,)), owners=OWNERS)
    for stopped in (CANCELLED - 1, CANCELLED, CANCELLED + 1, DUE - 1, DUE):
        begun = Lived(cogitate_loop, CancelJobs((OF_ADA,)), owners=OWNERS, until=stopped)
        resumed = Lived(cogitate_loop, client=begun.client, exist="resume")
        assert resumed.loop.digest == whole.loop.digest
        resumed.prove()


def test_a_heuristic_in_the_place_of_a_job_outlives_the_lines_that_say_so(cogitate_loop: Loops, tmp_path: Path) -> None:
    def live(folder: Path, keep: int | None) -> tuple[FakeRedis, TickLoop]:
        client = FakeRedis()
        settings = Settings.tuned(seconds_per_tick=3_600, journal_keep=keep, data_dir=folder)
        loop = cogitate_loop(owners=OWNERS, ticks=80, client=client, settings=settings)
        for tick in loop:
            if tick.number == 20:
                loop.request("hum", ADA)
            if tick.number == 21:
                ask(client, RUN, [CancelJobs((f"20/hum/{ADA}/0/0",))], wait=0, reason=WHY)
            loop.checkpoint(b"a world")
        return client, loop

    (_, whole), (client, trimmed) = live(tmp_path / "whole", None), live(tmp_path / "trimmed", 1)
    assert trimmed.digest == whole.digest
    assert trimmed_tick(trimmed.ledger.store) >= 24, "midnight, at which it waits"
    assert audit(client, RUN) == []
    assert replay(client, RUN, FakeRedis()).digest == trimmed.digest


def test_several_cancelled_jobs_of_an_owner_have_a_heuristic_each(cogitate_loop: Loops) -> None:
    keys = [f"{ASKED}/hum/{ADA}/{ordinal}/0" for ordinal in range(3)]
    client = FakeRedis()
    loop = cogitate_loop(owners=OWNERS, ticks=TICKS, client=client)
    found: list[JobEnd] = []
    for tick in loop:
        found += tick.ended
        if tick.number == ASKED:
            for _ in keys:
                loop.request("hum", ADA)
        if tick.number == CANCELLED - 1:
            ask(client, RUN, [CancelJobs(tuple(keys[::-1]))], wait=0)
    assert [one.id for one in found if one.end == "cancelled"] == [f"{RUN}/{key}" for key in keys]
    assert [one.next for one in found if one.end == "cancelled"] == [
        f"{RUN}/{CANCELLED}/hum/{ADA}/{ordinal}/1" for ordinal in range(3)
    ]
    assert [one.why for one in found if one.end == "cancelled"] == ["an operator cancelled it"] * 3
    assert sorted(one.id for one in found if one.end == "applied") == sorted(one.next for one in found if one.next)
    assert audit(client, RUN) == []


def test_a_kind_that_is_still_due_is_not_asked_again_in_the_place_of_a_cancelled_job(cogitate_loop: Loops) -> None:
    def due(moment: Moment) -> list[Request]:
        new = moment.owner == ADA and moment.tick >= ASKED and not moment.stream.entries
        return [Request(kind="hum", owner=ADA)] if new else []

    register(Own(asks=due, latency=DUE - ASKED))
    client = FakeRedis()
    loop = cogitate_loop(owners=OWNERS, ticks=TICKS, client=client)
    for tick in loop:
        if tick.number == CANCELLED - 1:
            ask(client, RUN, [CancelJobs((OF_ADA,))], wait=0)
    decided = [one.key.text() for line in read_journal(loop.ledger.store, 1, TICKS) for one in line.core.decided]
    assert [key for key in decided if "/hum/" in key] == [OF_ADA, INSTEAD], "else it would be paid for once more"


def test_a_decision_waits_for_the_heuristic_of_a_cancelled_job(cogitate_loop: Loops) -> None:
    client = FakeRedis()
    loop = cogitate_loop(owners=OWNERS, ticks=TICKS, client=client)
    for tick in loop:
        if tick.number == ASKED:
            ask(client, RUN, [CancelJobs((f"{ASKED}/hum/{ADA}/0/0",))], wait=0)
            (end,) = loop.decide("hum", [ADA])
            assert (end.id, end.end, end.reason) == (f"{RUN}/{ASKED + 1}/hum/{ADA}/0/1", "applied", "cancelled")
            break
    loop.close()
    assert audit(client, RUN) == []


def test_a_cancelled_run_leaves_nothing_in_the_place_of_its_jobs(cogitate_loop: Loops) -> None:
    lived = Lived(cogitate_loop, CancelJobs((OF_ADA,)), SetMode("cancelled"), owners=OWNERS)
    assert lived.loop.tick == CANCELLED
    ends = list(ends_of(RUN, lived.lines()[-1]))
    assert [(end.id, end.next, end.why) for end in ends] == [
        (f"{RUN}/{OF_ADA}", "", f"an operator cancelled it: {WHY}"),
        (f"{RUN}/{ASKED}/hum/{BEN}/0/0", "", "an operator cancelled the run"),
    ]
    lived.prove()


def test_the_history_of_jobs_links_a_cancelled_one_to_its_heuristic(cogitate_loop: Loops) -> None:
    lived = Lived(cogitate_loop, CancelJobs((OF_ADA,)), owners=OWNERS)
    history = JobHistory(lived.client, RUN)
    found = {one.id: one for one in history.newest(0, JobQuery(state="cancelled"))}
    cancelled, instead = found.pop(f"{RUN}/{OF_ADA}"), found.pop(f"{RUN}/{INSTEAD}")
    assert not found
    assert (cancelled.successor, cancelled.because, cancelled.ended) == (instead.id, WHY, CANCELLED)
    assert (instead.decision, instead.refused, instead.reason, instead.ended) == (
        "heuristic",
        "cancelled",
        "cancelled",
        DUE,
    )


@pytest.mark.parametrize("other", [f"{ASKED}/hum/{BEN}/0/0", "1/hum/agent:ada/0/0"])
def test_the_auditor_finds_a_heuristic_in_the_place_of_a_job_that_was_not_cancelled(
    cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    def wrong(*of: Any) -> Decided:
        decided = replacement(*of)
        line = msgspec.structs.replace(decided.line, instead=JobKey.parse(other))
        return msgspec.structs.replace(decided, line=line)

    monkeypatch.setattr(admitting, "replacement", wrong)
    lived = Lived(cogitate_loop, CancelJobs((OF_ADA,)), owners=OWNERS)
    assert audit(lived.client, RUN) == [
        f"tick {CANCELLED}: job {INSTEAD} replaces one that was not cancelled",
        f"tick {CANCELLED}: job {INSTEAD} is not the announced successor",
    ]
