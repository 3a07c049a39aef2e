"""What readers say of a run: its jobs one by one and in figures, its open jobs, its hosts and its steering."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis

from memory.effects import Append, SetCounter
from memory.entry import Entry
from memory.errors import InputError
from memory.profile import Profile
from memory.snapshot import dump
from memory.stream import Stream
from scheduler.budget.admission import DecidedLine, Grant
from scheduler.budget.budget import Cell
from scheduler.config.controls import FULL
from scheduler.config.facts import Facts
from scheduler.config.kept_settings import keep_settings
from scheduler.config.limits import LimitTable
from scheduler.config.settings import Settings
from scheduler.config.versions import CORRECTS_VIEW, SCHEMA
from scheduler.inspection.job_history import JobHistory
from scheduler.inspection.recent import recent_ticks
from scheduler.inspection.steering_vitals import steering_of
from scheduler.inspection.vitals import RunHead, open_kinds, run_heads
from scheduler.journal.checkpoint import JournalCheckpoint, packed, write_checkpoint
from scheduler.journal.history import changes_of, observed_again, read_journal, redo
from scheduler.journal.left_out import check_kind_wrote
from scheduler.journal.lines import (
    Core,
    Correction,
    Ended,
    EndNote,
    JournalError,
    Repeat,
    Retried,
    TickNotes,
    write_line,
)
from scheduler.journal.run_totals import RunTotals, same_figures, wrong_facts
from scheduler.ledger.answer_times import Timed
from scheduler.ledger.errors import RunAltered
from scheduler.ledger.keys import RUNS, incarnation_key
from scheduler.ledger.presence import this_process
from scheduler.ledger.run_store import RunStore
from scheduler.steering.postponing import Postponing
from scheduler.steering.steering import SteeringState
from scheduler.steering.throttle import ThrottleState
from scheduler.tick.seals import Seals
from tasks.job import Cost, Job, JobKey
from tests.unit.scheduler.journal_case import Journal

RESERVED, USED, MORE = Cost(calls=1, tokens=30), Cost(calls=1, tokens=7), Cost(calls=1, tokens=5)
CELLS = (Cell("day:0", "run"), Cell("run:0", "run"))
ANN, BOB, CY = "agent:ann", "agent:bob", "agent:cy"
SOON, LATE, GONE = JobKey(1, "think", ANN, 0, 0), JobKey(1, "think", BOB, 0, 0), JobKey(2, "muse", CY, 0, 0)
OPEN = JobKey(4, "think", CY, 0, 0)


def decided(key: JobKey, decision: Any = "admitted", refused: str = "") -> DecidedLine:
    return DecidedLine(
        key=key, decision=decision, model="default" if decision == "admitted" else "", due=key.tick + 2, refused=refused
    )


def opened(*keys: JobKey) -> tuple[Grant, ...]:
    return tuple(Grant(key=key, reserved=RESERVED, cells=CELLS) for key in keys)


#: Six ticks: two jobs and one that was dropped; one ends with an answer, one late; then its cost becomes known, and
#: what an attempt before its newest used.
TICKS: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"decided": (decided(SOON), decided(LATE)), "joined": tuple((o, Profile(name=o)) for o in (ANN, BOB, CY)),
      "facts": Facts()}, {"opened": opened(SOON, LATE)}),
    ({"decided": (decided(GONE, "dropped", "run:0 kind:muse calls"),)}, {}),
    ({"ended": (Ended(key=SOON, end="applied"), Ended(key=LATE, end="applied", reason="late"))},
     {"ended": (EndNote(key=SOON, source="llm", usage=USED, attempts=1, model="default"),
                EndNote(key=LATE, source="heuristic", attempts=2, failure="server"))}),
    ({"decided": (decided(OPEN),)}, {"opened": opened(OPEN)}),
    ({}, {"retried": (Retried(LATE, MORE),)}),
    ({}, {"corrected": (Correction(key=LATE, usage=USED, at=5),)}),
)  # fmt: skip


def lines(schema: int = SCHEMA, ticks: Sequence[tuple[dict[str, Any], dict[str, Any]]] = TICKS) -> list[bytes]:
    found, digest, chain = [], "", ""
    for tick, (core, notes) in enumerate(ticks, 1):
        line, digest, chain = write_line(
            Core(tick=tick, minute=tick, **core), TickNotes(epoch=1, **notes), digest, chain, schema
        )
        found.append(line)
    return found


def store_of(journal: list[bytes], client: FakeRedis | None = None, run: str = "town", **state: Any) -> RunStore:
    client = client or FakeRedis()
    client.sadd(RUNS, run)
    client.set(incarnation_key(run), "now")
    store = RunStore.of(client, run, "now")
    values = {"tick": len(journal), "schema": SCHEMA, "status": "running"} | state
    client.hset(store.key("state"), mapping=values)
    if journal:
        client.rpush(store.key("journal"), *journal)
    return store


def with_open_job(store: RunStore) -> RunStore:
    job = Job(run="town", key=OPEN, minute=4, due=6, reads=(), model="default", reserved=RESERVED)
    put(store, OPEN, job=msgspec.json.encode(job), claims=1, token="t")
    attempt = {"job": OPEN.text(), "worker": "w"}
    store.client.hset(store.key("attempts"), "t", msgspec.json.encode(attempt))
    return store


def put(store: RunStore, key: JobKey, **fields: Any) -> None:
    """Put a job among the open ones."""
    cells = msgspec.json.encode([part for cell in CELLS for part in cell])
    values = {"state": "open", "token": "", "claims": 0, "cells": cells} | fields
    store.client.sadd(store.key("jobs"), key.text())
    store.client.hset(store.job_key(key.text()), mapping=values)


@pytest.fixture
def store() -> RunStore:
    return with_open_job(store_of(lines()))


# -- jobs one by one ---------------------------------------------------------------------------------


def names(found: Any) -> list[str]:
    return [record.id.removeprefix("town/") for record in found]


ALL = [OPEN.text(), SOON.text(), LATE.text(), GONE.text()]


@pytest.mark.parametrize(("last", "found"), [(0, ALL), (1, ALL[:1]), (2, ALL[:2]), (4, ALL), (9, ALL)])
def test_the_newest_jobs_are_the_open_ones_and_then_those_that_ended_last(
    store: RunStore, last: int, found: list[str]
) -> None:
    assert names(JobHistory(store.client, "town").newest(last)) == found


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"kind": "muse"}, [GONE]), ({"owner": CY}, [OPEN, GONE]), ({"state": "late"}, [LATE]),
        ({"state": "applied"}, [SOON, LATE]), ({"state": "open"}, [OPEN]), ({"state": "denied"}, [GONE]),
        ({"kind": "think", "owner": CY}, [OPEN]), ({"kind": "hum"}, []),
    ],
)  # fmt: skip
def test_jobs_are_found_by_kind_owner_and_state(store: RunStore, asked: dict[str, str], found: list[JobKey]) -> None:
    assert names(JobHistory(store.client, "town").newest(0, **asked)) == [key.text() for key in found]


def test_all_jobs_come_in_the_order_of_their_ends(store: RunStore) -> None:
    assert names(JobHistory(store.client, "town").all()) == [GONE.text(), SOON.text(), LATE.text(), OPEN.text()]


def test_an_open_job_is_told_with_who_is_at_work_on_it(store: RunStore) -> None:
    found = JobHistory(store.client, "town").find(OPEN)
    assert (found.state, found.reason, found.claims, found.workers) == ("open", "none", 1, ("w",))
    assert (found.reserved, found.cells) == (RESERVED, ("day:0 run", "run:0 run"))


def test_of_a_job_all_is_told_that_became_known_after_its_end(store: RunStore) -> None:
    found = JobHistory(store.client, "town").find(LATE)
    assert (found.ended, found.reason, found.source, found.model) == (3, "late", "heuristic", "default")
    assert (found.usage, found.retried, found.settled) == (USED, MORE, True)
    assert found.spent == Cost(calls=2, tokens=12)


def test_until_its_cost_is_known_a_job_is_not_settled() -> None:
    found = JobHistory(store_of(lines(ticks=TICKS[:5])).client, "town").find(LATE)
    assert (found.usage, found.retried, found.settled) == (Cost(), MORE, False)


def test_a_job_that_never_was_is_named(store: RunStore) -> None:
    with pytest.raises(InputError, match="has no job 'town/2/think/agent:ann/0/0'"):
        JobHistory(store.client, "town").find(JobKey(2, "think", ANN, 0, 0))


def test_a_job_that_ended_while_the_open_ones_were_read_is_none_of_them(store: RunStore) -> None:
    store.client.sadd(store.key("jobs"), JobKey(4, "think", ANN, 7, 0).text())
    assert names(JobHistory(store.client, "town").newest(1)) == [OPEN.text()]


#: The late job's answer comes at the fifth tick; its kind could use it.
ANSWERED_LATE: tuple[dict[str, Any], dict[str, Any]] = (
    {"late": (Ended(key=LATE, end="stale", effects=(SetCounter(owner=BOB, name="n", value=1),)),)},
    {"late": (EndNote(key=LATE, source="llm", usage=MORE, saved=True, model="large", prompt="abc",
                      failure="entry 3 is provisional no more", appended=(7,)),)},
)  # fmt: skip


def test_a_late_answer_is_told_with_its_job_in_full() -> None:
    store = store_of(lines(ticks=[*TICKS[:4], ANSWERED_LATE, TICKS[5]]))
    found = JobHistory(store.client, "town").find(LATE)
    assert found.late is not None
    assert msgspec.to_builtins(found.late) == {
        "tick": 5, "end": "stale", "source": "llm", "usage": msgspec.to_builtins(MORE), "saved": True, "model": "large",
        "prompt": "abc", "failure": "entry 3 is provisional no more", "appended": (7,),
        "effects": msgspec.to_builtins(ANSWERED_LATE[0]["late"][0].effects),
    }  # fmt: skip
    assert [one.late for one in JobHistory(store.client, "town").all() if one.id == found.id] == [found.late]
    assert next(one for one in JobHistory(store.client, "town").newest(0) if one.id == found.id).late == found.late


def test_before_answers_were_corrected_by_themselves_a_late_one_said_what_it_cost() -> None:
    older = store_of(lines(CORRECTS_VIEW - 1, ticks=[*TICKS[:4], ANSWERED_LATE]))
    found = JobHistory(older.client, "town").find(LATE)
    assert (found.usage, found.saved, found.settled) == (MORE, True, True)
    newer = store_of(lines(CORRECTS_VIEW, ticks=[*TICKS[:4], ANSWERED_LATE]))
    assert not JobHistory(newer.client, "town").find(LATE).settled


def test_the_facts_of_an_end_are_told() -> None:
    note = EndNote(
        key=SOON, source="cached", usage=USED, saved=True, attempts=3, model="large", prompt="abc", failure="server",
        empty="day:0 run calls", because="auth", refusal="no text", appended=(4, 5), retried=MORE,
    )  # fmt: skip
    end = Ended(key=SOON, end="stale", effects=(SetCounter(owner=ANN, name="n", value=1),))
    store = store_of(lines(ticks=[TICKS[0], ({"ended": (end,)}, {"ended": (note,)})]))
    found = JobHistory(store.client, "town").find(SOON)
    assert (found.state, found.ended, found.reason, found.source) == ("stale", 2, "none", "cached")
    assert (found.usage, found.saved, found.retried, found.claims, found.settled) == (USED, True, MORE, 3, True)
    assert (found.model, found.prompt, found.failure) == ("large", "abc", "server")
    assert (found.empty, found.because, found.refusal) == ("day:0 run calls", "auth", "no text")
    assert (found.appended, found.effects, found.late) == ((4, 5), end.effects, None)
    assert found.spent == MORE, "what was saved is not spent"


# -- of a trimmed journal ----------------------------------------------------------------------------


def trimmed_store(upto: int = 2) -> RunStore:
    """The same run, whose first lines were removed."""
    kept, digest, chain = [], "", ""
    for tick, (core, notes) in enumerate(TICKS, 1):
        line, digest, chain = write_line(
            Core(tick=tick, minute=tick, **core), TickNotes(epoch=1, **notes), digest, chain, SCHEMA
        )
        if tick > upto:
            kept.append(line)
        if tick == upto:
            entry, chain = write_checkpoint(
                JournalCheckpoint(
                    v=SCHEMA, tick=tick, digest=digest, after=chain, totals=totals(upto), streams={}, retired={}
                )
            )
    store = with_open_job(store_of(kept, tick=len(TICKS), trimmed=upto, digest=digest, chain=chain))
    store.client.hset(store.key("journal_checkpoints"), str(upto), entry)
    return store


def test_jobs_that_ended_after_what_was_removed_are_told_as_if_nothing_were_removed(store: RunStore) -> None:
    trimmed = trimmed_store()
    for key in (SOON, LATE, OPEN):
        assert JobHistory(trimmed.client, "town").find(key) == JobHistory(store.client, "town").find(key)
    history = JobHistory(trimmed.client, "town")
    assert history.trimmed == 2
    assert names(history.all()) == [SOON.text(), LATE.text(), OPEN.text()]
    assert names(JobHistory(trimmed.client, "town").newest(0)) == [OPEN.text(), SOON.text(), LATE.text()]


@pytest.mark.parametrize("tick", [1, 2])
def test_a_job_that_may_have_ended_in_what_was_removed_is_not_known_any_more(tick: int) -> None:
    with pytest.raises(InputError, match=r"is not known any more, .* before tick 3, with which the journal of run"):
        JobHistory(trimmed_store().client, "town").find(JobKey(tick, "muse", CY, 0, 0))
    for never in (0, 3):
        with pytest.raises(InputError, match="run 'town' has no job"):
            JobHistory(trimmed_store().client, "town").find(JobKey(never, "muse", CY, 0, 0))


def test_a_dead_job_and_one_that_was_refused_say_why_before_their_end() -> None:
    keys = [JobKey(4, "muse", CY, number, 0) for number in range(3)]
    ticks = [*TICKS[:3], ({"decided": (decided(OPEN), *map(decided, keys))}, {"opened": opened(OPEN)})]
    store = store_of(lines(ticks=ticks))
    states = (("dead", ""), ("held", "day:0 run calls"), ("held", "too_slow"))
    for key, (state, refused) in zip(keys, states, strict=True):
        job = Job(run="town", key=key, minute=4, due=6, reads=(), refused=refused)
        store.client.hset(store.job_key(key.text()), "failure", "server")
        put(store, key, state=state, job=msgspec.json.encode(job))
    found = [(one.state, one.reason, one.failure) for one in JobHistory(store.client, "town").newest(3)]
    assert found == [("dead", "dead", "server"), ("held", "denied", "server"), ("held", "too_slow", "server")]


# -- what a resuming host holds against the journal --------------------------------------------------


def written(number: int, text: str, **fields: Any) -> Entry:
    return Entry(type="reflection", text=text, minute=1, number=number, tick=1, **fields)


def test_what_cannot_be_read_is_left_out_if_its_kind_wrote_it_so() -> None:
    effects = tuple(Append(owner=ANN, entry=Entry(type="reflection", text=text, minute=1)) for text in "ab")
    ended = Ended(key=SOON, end="applied", effects=(SetCounter(owner=ANN, name="n", value=1), *effects))
    note = EndNote(key=SOON, source="llm", appended=(4, 6))
    store = store_of(lines(ticks=[({"ended": (ended,)}, {"ended": (note,)})]))
    check_kind_wrote(store, ANN, written(6, "b"))
    check_kind_wrote(store, ANN, written(6, "b", importance=4, rated=3))
    for owner, entry in ((ANN, written(6, "a")), (ANN, written(5, "b")), (BOB, written(6, "b"))):
        with pytest.raises(ValueError, match=f"entry {entry.number} of {owner} is not what the journal says"):
            check_kind_wrote(store, owner, entry)


def test_in_a_trimmed_journal_its_checkpoint_says_what_a_kind_wrote() -> None:
    made = Stream(ANN)
    kept = made.append(written(0, "b"), 1)
    store = Journal(streams={ANN: made}).store(4)
    store.client.hset(store.checkpoint_streams_key(4), ANN, packed(dump(made)))
    check_kind_wrote(store, ANN, kept)
    check_kind_wrote(store, ANN, msgspec.structs.replace(kept, importance=4, rated=3))
    other = msgspec.structs.replace
    for owner, entry in ((BOB, kept), (ANN, other(kept, number=2)), (ANN, other(kept, text="a"))):
        with pytest.raises(ValueError, match=f"entry {entry.number} of {owner} is not what the journal says"):
            check_kind_wrote(store, owner, entry)
    at_once = other(kept, tick=4)  # of the last tick that was removed
    with pytest.raises(ValueError, match="is not what the journal says"):
        check_kind_wrote(store, ANN, at_once)
    with pytest.raises(ValueError, match="is not what the journal says"):
        check_kind_wrote(Journal().store(), ANN, other(kept, tick=0))


def test_without_seals_a_run_is_held_against_its_journal() -> None:
    store = store_of(lines())
    streams: dict[str, Stream] = {}
    for line in read_journal(store, 1, 6):
        redo(line, streams)
    whole: dict[str, Any] = {
        "run": "town",
        "facts_at": {1: Facts()},
        "profiles": {o: Profile(name=o) for o in (ANN, BOB, CY)},
    }
    sound: Any = SimpleNamespace(**whole, streams=streams, retired=set())
    Seals().check(store, sound, 6)
    streams[BOB].append(Entry(type="observation", text="A cow.", minute=1), 6)
    changes: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, BOB), ({"facts_at": {1: Facts(morning=1)}}, "facts"), ({"profiles": {}}, "owners"),
    )  # fmt: skip
    for changed, told in changes:
        state: Any = SimpleNamespace(**whole | changed, streams=streams, retired=set())
        with pytest.raises(RunAltered, match=told):
            Seals().check(store, state, 6)


# -- in figures --------------------------------------------------------------------------------------


def totals(upto: int = 6, schema: int = SCHEMA) -> RunTotals:
    found = RunTotals()
    for line in read_journal(store_of(lines(schema)), 1, upto):
        found.add(line)
    return found


def test_ended_jobs_count_their_cost_and_those_without_a_result_in_full_until_it_is_known() -> None:
    tokens = [totals(upto).view.get("run:0|run|tokens", 0) for upto in range(1, 7)]
    assert tokens == [60, 60, 37, 67, 67, 44]
    known = [totals(upto).known.get("run:0|run|tokens", 0) for upto in range(1, 7)]
    assert known == [0, 0, 7, 7, 7, 14]
    assert totals(5).unknown["run:0|run|tokens"] == 30
    assert (totals(6).unknown["run:0|run|tokens"], totals(6).charged) == (0, {})
    assert totals(6).view["run:0|run|jobs"] == 3


def test_each_fact_of_a_job_is_counted_once() -> None:
    found = totals()
    assert found.jobs["think"] == {
        "decision": {"admitted": 3}, "end": {"applied": 2}, "source": {"llm": 1, "heuristic": 1},
        "reason": {"none": 1, "late": 1},
    }  # fmt: skip
    assert found.jobs["muse"]["reason"] == {"denied": 1}
    assert found.refused == {"run kind:muse calls": 1}
    assert found.usage == {ANN: USED, BOB: Cost(calls=2, tokens=12)}
    assert [*found.open] == [OPEN.text()]


def test_windows_that_nobody_keeps_are_forgotten_unless_an_open_job_names_them() -> None:
    found = totals(3)
    found.forget(["run:0"])
    assert {field.partition("|")[0] for field in found.view} == {"run:0"}
    found = totals(4)
    found.forget(["run:0"])
    assert {field.partition("|")[0] for field in found.view} == {"day:0", "run:0"}
    assert same_figures(totals(3), totals(3))
    older = msgspec.structs.replace(totals(3), shortfalls={}, all_shortfalls=False)
    assert totals(3).shortfalls, "a job ended late"
    assert same_figures(older, totals(3)), "checkpoints of before have none"
    assert not same_figures(msgspec.structs.replace(older, all_shortfalls=True), totals(3))
    assert not same_figures(totals(3), totals(4))


def test_facts_that_are_kept_are_those_of_the_journal() -> None:
    first, later = Facts(), Facts(morning=400)
    assert not wrong_facts({1: first}, RunTotals(facts={1: first}))
    assert not wrong_facts({4: later}, RunTotals(facts={1: first, 4: later})), "no open job uses the others"
    assert wrong_facts({1: first}, RunTotals(facts={1: first, 4: later})), "the newest are missing"
    assert wrong_facts({1: later}, RunTotals(facts={1: first}))
    assert wrong_facts({1: first, 4: later}, RunTotals(facts={1: first}))
    assert wrong_facts({}, RunTotals(facts={1: first}))
    assert not wrong_facts({0: first}, RunTotals(facts={0: first}))
    assert wrong_facts({1: first}, RunTotals())


def test_a_line_of_a_newer_version_is_refused_with_what_to_do() -> None:
    with pytest.raises(JournalError, match=f"tick 1: written with schema {SCHEMA + 1}, .*: upgrade"):
        next(read_journal(store_of(lines(SCHEMA + 1)), 1, 1))


@pytest.mark.parametrize(("count", "first", "late"), [(240, 1, 1), (6, 1, 1), (4, 3, 1), (3, 4, 0)])
def test_the_newest_ticks_are_counted(store: RunStore, count: int, first: int, late: int) -> None:
    found = recent_ticks(store, "town", LimitTable({"run.kind:muse.calls": 1}), count)
    assert (found.first, found.last, found.minute) == (first, 6, 6)
    assert found.failures == ({"server": 1} if late else {})
    if first > 1:
        return
    think, muse = found.kinds["think"], found.kinds["muse"]
    assert (think.sources, muse.sources) == ({"llm": 1, "heuristic": 1}, {})
    assert (think.decisions, think.ends) == ({"admitted": 3}, {"applied": 2})
    assert (think.reasons, think.attempts, think.most_attempts) == ({"late": 1}, 3, 2)
    assert think.spent == Cost(calls=3, tokens=19)
    assert (muse.ends, muse.reasons) == ({"dropped": 1}, {"denied": 1})
    assert found.refused == {"run.kind:muse.calls": 1}
    assert [*found.owners.items()] == [(BOB, Cost(calls=2, tokens=12)), (ANN, USED)]
    (failed,) = found.failed
    assert (failed.id, failed.tick, failed.ended, failed.attempts) == (f"town/{LATE.text()}", 1, 3, 2)


def test_a_job_that_found_no_room_for_another_attempt_says_which_pool_was_empty() -> None:
    ends = tuple(Ended(key=key, end="applied", reason="failed") for key in (SOON, LATE))
    notes = tuple(
        EndNote(key=key, source="heuristic", attempts=1, failure="timeout", empty=empty)
        for key, empty in ((SOON, "day:0 run calls"), (LATE, ""))
    )
    store = store_of(lines(ticks=[TICKS[0], ({"ended": ends}, {"ended": notes})]))
    found = recent_ticks(store, "town", LimitTable({}), 9)
    assert [one.why for one in found.failed] == ["", "retry refused: day.run.calls retry pool is empty"]
    assert found.failures == {"timeout": 2}


def test_the_newest_failures_and_the_owners_that_spent_most_are_shown() -> None:
    ticks: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for number in range(25):
        key = JobKey(number + 1, "think", f"agent:{number:02}", 0, 0)
        used = Cost(calls=1, tokens=100 + number)
        note = EndNote(key=key, source="heuristic", usage=used, attempts=1, failure="server")
        core = {"decided": (decided(key),), "ended": (Ended(key=key, end="applied", reason="failed"),)}
        corrected = (Correction(key=key, usage=used, at=number + 1),)
        ticks.append((core, {"opened": opened(key), "ended": (note,), "corrected": corrected}))
    found = recent_ticks(store_of(lines(ticks=ticks)), "town", LimitTable({}), 99)
    assert [one.ended for one in found.failed] == [*range(25, 15, -1)], "the newest first"
    assert [*found.owners] == [f"agent:{number:02}" for number in range(24, 4, -1)], "who used most first"
    assert found.failures == {"server": 25}


def test_an_answer_that_waits_for_its_due_tick_counts_as_what_it_used_until_its_end() -> None:
    timed = Timed(LATE, "default", 0, 1, USED)
    ticks = [TICKS[0], ({}, {"timed": (timed, timed._replace(key=OPEN), timed._replace(used=Cost()))}), *TICKS[2:]]
    store = store_of(lines(ticks=ticks))
    found = RunTotals()
    tokens = []
    for line in read_journal(store, 1, 6):
        found.add(line)
        tokens.append(found.view["run:0|run|tokens"])
    assert tokens == [60, 37, 37, 67, 67, 44], "a job that ends without it counts in full again"


def test_what_a_tick_handed_to_the_world_is_found_in_its_line() -> None:
    effects = tuple(Append(owner=ANN, entry=Entry(type="reflection", text=text, minute=1)) for text in "ab")
    ended = Ended(key=SOON, end="applied", effects=(effects[0], SetCounter(owner=ANN, name="n", value=1), effects[1]))
    stale = Ended(key=LATE, end="stale", effects=effects)
    notes = EndNote(key=SOON, source="llm", appended=(4, 6)), EndNote(key=LATE, source="llm")
    store = store_of(lines(ticks=[({"ended": (ended, stale)}, {"ended": notes})]))
    (line,) = read_journal(store, 1, 1)
    found = [*changes_of(line)]
    assert [(one.owner, one.kind, one.source, one.reason) for one in found] == [(ANN, "think", "llm", "none")] * 3
    numbered = [None if one.entry is None else (one.entry.number, one.entry.text, one.entry.tick) for one in found]
    assert numbered == [(4, "a", 1), None, (6, "b", 1)]
    assert [one.effect for one in found] == [*ended.effects]


def test_a_world_repeats_a_tick_if_it_observes_the_same_in_the_same_order() -> None:
    first, second, third = (Entry(type="observation", text=text, minute=5) for text in "abc")
    core = Core(tick=1, minute=5, observed=((ANN, first),), waiting=((BOB, second),), repeated=(Repeat(CY, 3, 5, 4),))
    seen = [(ANN, first), (BOB, second), (CY, third)]
    assert observed_again(seen, core)
    assert observed_again([seen[2], seen[1], seen[0]], core), "each list has its own order"
    for other in (
        seen[:2], [*seen, (CY, third)], [seen[0], seen[1], (CY, msgspec.structs.replace(third, minute=6))],
        [seen[0], (BOB, third), seen[2]], [(BOB, first), *seen[1:]], [seen[0], seen[2]],
    ):  # fmt: skip
        assert not observed_again(other, core)
    assert observed_again([], Core(tick=1, minute=5))
    assert not observed_again([(ANN, first)], Core(tick=1, minute=5))


# -- open jobs, hosts and steering -------------------------------------------------------------------


def test_open_jobs_are_counted_by_state_with_the_one_that_has_waited_longest() -> None:
    store = store_of([])
    states: list[dict[str, Any]] = [{}, {}, {"token": "t"}, {"state": "staged"}, {"state": "held"}, {"state": "dead"}]
    for ordinal, (tick, fields) in enumerate(zip((5, 3, 4, 1, 2, 2), states, strict=True)):
        put(store, JobKey(tick, "think", ANN, ordinal, 0), **fields)
    store.client.sadd(store.key("jobs"), "1/muse/agent:ann/0/0")  # ended since the set was read
    (name, kind) = next(iter(open_kinds(store, "town", 7).items()))
    assert (name, kind.waiting, kind.running, kind.staged, kind.held, kind.dead) == ("think", 2, 1, 1, 1, 1)
    assert (kind.oldest, kind.age) == ("town/3/think/agent:ann/1/0", 4)
    assert [*open_kinds(store, "town", 7)] == ["think"]


def test_runs_with_a_host_come_first_and_then_those_that_should_have_one() -> None:
    client = FakeRedis()
    for run, status in (("a", "finished"), ("b", "running"), ("c", "paused"), ("d", "running")):
        store = store_of([], client, run, status=status)
    store.client.set(store.key("host"), msgspec.json.encode(this_process()))
    odd = store_of([], client, "e", schema="odd")
    client.hset(odd.key("state"), "schema", "odd")
    assert run_heads(client) == [
        RunHead("d", "running", True), RunHead("b", "running", False), RunHead("c", "paused", False),
        RunHead("a", "finished", False), RunHead("e", "unreadable", False),
    ]  # fmt: skip
    newer = store_of([], client, "f")
    client.hset(newer.key("state"), "schema", SCHEMA + 1)
    assert "f" not in [head.run for head in run_heads(client)]


def steering(throttle: ThrottleState | None = None, **settings: Any) -> Any:
    chosen = Settings(**({"reflection_interval": 600} | settings))
    state: dict[str, Any] = {"settings": keep_settings(chosen)}
    if throttle is not None:
        state["steering"] = msgspec.json.encode(SteeringState(throttle=throttle))
        state |= {"postponed": msgspec.json.encode(Postponing()), "lag": 3, "host_us": 2500}
    return steering_of(store_of([], **state))


def test_steering_is_shown_as_it_is_in_force() -> None:
    before = steering()
    assert (before.mode, before.cadence, before.by, before.lag, before.host_ms) == (
        "running",
        1.0,
        "controller",
        0,
        0.0,
    )
    slowed = steering(ThrottleState(factor=500, causes={"late": 40}, pressing=("late",), postponed=4))
    assert (slowed.cadence, slowed.lag, slowed.host_ms, slowed.postponed) == (0.5, 3, 2.5, 4)
    assert (slowed.causes, slowed.pressing) == ({"late": 40}, ("late",))
    assert steering(ThrottleState(pinned=True)).by == "pinned"
    assert steering(throttle_auto=False).by == "settings"


@pytest.mark.parametrize(
    ("factor", "settings", "pinned", "interval"),
    [
        (FULL, {}, False, 600), (500, {}, False, 1200), (125, {}, False, 600 + 1440), (0, {}, False, 600 + 1440),
        (125, {}, True, 4800), (0, {}, True, None), (125, {"throttle_auto": False}, False, 4800),
        (2 * FULL, {}, False, 300),
    ],
)  # fmt: skip
def test_the_interval_between_reflections_ends_with_a_day_where_the_controller_decides(
    factor: int, settings: dict[str, Any], pinned: bool, interval: int | None
) -> None:
    found = steering(ThrottleState(factor=factor, pinned=pinned), **settings)
    assert (found.interval, found.usual) == (interval, 600)
