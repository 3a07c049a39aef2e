"""What readers say of one job: its attempts, cost, late answer and corrections."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cogitate.memory.effects import SetCounter
from cogitate.memory.errors import InputError
from cogitate.scheduler.budget.admission import DecidedLine
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import JobRecord
from cogitate.scheduler.journal.lines import (
    Core,
    Correction,
    Ended,
    EndNote,
    TickNotes,
    write_line,
)
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, Job, JobKey
from tests.unit.scheduler.run_lines_case import (
    ANN,
    BOB,
    CY,
    LATE,
    MORE,
    OPEN,
    RESERVED,
    SOON,
    TICKS,
    USED,
    decided,
    lines,
    opened,
    put,
    store_of,
    trimmed_store,
)


def test_an_open_job_names_its_worker(store: RunStore) -> None:
    found = JobHistory(store.client, "town").find(OPEN)
    assert (found.state, found.reason, found.claims, found.workers) == ("open", "none", 1, ("w",))
    assert (found.reserved, found.cells) == (RESERVED, ("day:0 run", "run:0 run"))


def test_a_job_includes_all_facts_known_after_its_end(store: RunStore) -> None:
    found = JobHistory(store.client, "town").find(LATE)
    assert (found.ended, found.reason, found.source, found.model) == (3, "late", "heuristic", "default")
    assert (found.usage, found.retried, found.settled) == (USED, MORE, True)
    assert found.spent == Cost(calls=2, tokens=12)


def test_a_job_of_unknown_cost_is_not_settled() -> None:
    found = JobHistory(store_of(lines(ticks=TICKS[:5])).client, "town").find(LATE)
    assert (found.usage, found.retried, found.settled) == (Cost(), MORE, False)


#: The late job's answer comes at the fifth tick; its kind could use it.
ANSWERED_LATE: tuple[dict[str, Any], dict[str, Any]] = (
    {"late": (Ended(key=LATE, end="stale", effects=(SetCounter(owner=BOB, name="n", value=1),)),)},
    {
        "late": (
            EndNote(
                key=LATE,
                source="llm",
                usage=MORE,
                saved=True,
                model="large",
                prompt="abc",
                failure="entry 3 is provisional no more",
                appended=(7,),
            ),
        )
    },
)


def test_a_late_answer_is_included_in_its_job() -> None:
    store = store_of(lines(ticks=[*TICKS[:4], ANSWERED_LATE, TICKS[5]]))
    found = JobHistory(store.client, "town").find(LATE)
    assert found.late is not None
    assert msgspec.to_builtins(found.late) == {
        "tick": 5,
        "end": "stale",
        "source": "llm",
        "usage": msgspec.to_builtins(MORE),
        "saved": True,
        "model": "large",
        "prompt": "abc",
        "failure": "entry 3 is provisional no more",
        "appended": (7,),
        "tries": (),
        "effects": msgspec.to_builtins(ANSWERED_LATE[0]["late"][0].effects),
    }
    assert [one.late for one in JobHistory(store.client, "town").all() if one.id == found.id] == [found.late]
    assert next(one for one in JobHistory(store.client, "town").newest(0) if one.id == found.id).late == found.late


def test_the_facts_of_an_end_are_included() -> None:
    note = EndNote(
        key=SOON,
        source="cached",
        usage=USED,
        saved=True,
        attempts=3,
        model="large",
        prompt="abc",
        failure="server",
        empty="day:0 run calls",
        because="auth",
        refusal="no text",
        appended=(4, 5),
        retried=MORE,
    )
    end = Ended(key=SOON, end="stale", effects=(SetCounter(owner=ANN, name="n", value=1),))
    store = store_of(lines(ticks=[TICKS[0], ({"ended": (end,)}, {"ended": (note,)})]))
    found = JobHistory(store.client, "town").find(SOON)
    assert (found.state, found.ended, found.reason, found.source) == ("stale", 2, "none", "cached")
    assert (found.usage, found.saved, found.retried, found.claims, found.settled) == (USED, True, MORE, 3, True)
    assert (found.model, found.prompt, found.failure) == ("large", "abc", "server")
    assert (found.empty, found.because, found.refusal) == ("day:0 run calls", "auth", "no text")
    assert (found.appended, found.effects, found.late) == ((4, 5), end.effects, None)
    assert found.spent == MORE, "what was saved is not spent"


#: The first of two jobs is late after a single attempt; first its cost becomes known, and an answer later.
ONE_ATTEMPT = (
    TICKS[2][0],
    {"ended": (TICKS[2][1]["ended"][0], EndNote(key=LATE, source="heuristic", attempts=1, failure="server"))},
)


def test_a_late_job_is_read_until_cost_and_answer_are_known() -> None:
    quiet: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    ticks = [*TICKS[:2], ONE_ATTEMPT, quiet, TICKS[5], quiet, ANSWERED_LATE, quiet]
    found = JobHistory(store_of(lines(ticks=ticks)).client, "town").find(LATE)
    assert (found.settled, found.usage) == (True, USED)
    assert found.late is not None
    assert found.late.tick == 7
    ticks = [*TICKS[:2], ONE_ATTEMPT, ANSWERED_LATE, quiet, TICKS[5]]
    found = JobHistory(store_of(lines(ticks=ticks)).client, "town").find(LATE)
    assert (found.settled, found.usage, found.late is not None) == (True, USED, True)


PUT_OFF, NEXT = JobKey(2, "muse", ANN, 1, 0), JobKey(5, "muse", ANN, 1, 1)


def test_each_job_is_complete() -> None:
    deferred = DecidedLine(key=PUT_OFF, decision="deferred", due=0, refused="run:0 run calls", successor=NEXT)
    ticks = [TICKS[0], ({"decided": (*TICKS[1][0]["decided"], deferred)}, {}), TICKS[2]]
    store = store_of(lines(ticks=ticks))
    cells = ("day:0 run", "run:0 run")
    first, *others = JobHistory(store.client, "town").all()
    assert (first, others[0]) == (
        JobRecord(
            id="town/2/muse/agent:cy/0/0",
            kind="muse",
            owner=CY,
            tick=2,
            state="dropped",
            decision="dropped",
            refused="run:0 kind:muse calls",
            due=4,
            successor="",
            reason="denied",
            ended=2,
        ),
        JobRecord(
            id="town/2/muse/agent:ann/1/0",
            kind="muse",
            owner=ANN,
            tick=2,
            state="deferred",
            decision="deferred",
            refused="run:0 run calls",
            due=0,
            successor="town/5/muse/agent:ann/1/1",
            reason="denied",
            ended=2,
        ),
    )
    assert others[1:] == [
        JobRecord(
            id="town/1/think/agent:ann/0/0",
            kind="think",
            owner=ANN,
            tick=1,
            state="applied",
            decision="admitted",
            refused="",
            due=3,
            successor="",
            reason="none",
            ended=3,
            source="llm",
            reserved=RESERVED,
            cells=cells,
            claims=1,
            usage=USED,
            model="default",
        ),
        JobRecord(
            id="town/1/think/agent:bob/0/0",
            kind="think",
            owner=BOB,
            tick=1,
            state="applied",
            decision="admitted",
            refused="",
            due=3,
            successor="",
            reason="late",
            ended=3,
            source="heuristic",
            reserved=RESERVED,
            cells=cells,
            claims=2,
            settled=False,
            model="default",
            failure="server",
        ),
    ]
    assert JobHistory(store.client, "town").find(PUT_OFF) == others[0]


def test_an_open_job_is_complete(store: RunStore) -> None:
    store.client.hset(store.job_key(OPEN.text()), mapping={"failure": "server", "empty": "day:0 run calls"})
    other = msgspec.json.encode({"job": SOON.text(), "worker": "nobody"})
    again = msgspec.json.encode({"job": OPEN.text(), "worker": "v"})
    store.client.hset(store.key("attempts"), mapping={"u": other, "x": again})
    assert JobHistory(store.client, "town").find(OPEN) == JobRecord(
        id="town/4/think/agent:cy/0/0",
        kind="think",
        owner=CY,
        tick=4,
        state="open",
        decision="admitted",
        refused="",
        due=6,
        successor="",
        reason="none",
        reserved=RESERVED,
        cells=("day:0 run", "run:0 run"),
        claims=1,
        workers=("v", "w"),
        model="default",
        failure="server",
        empty="day:0 run calls",
    )


@pytest.mark.parametrize(("minutes", "known"), [(1_440, True), (1_441, False)])
def test_corrections_of_a_job_are_read_for_a_game_day(minutes: int, known: bool) -> None:
    found, digest, chain = list[bytes](), "", ""
    correction = Correction(key=LATE, usage=USED, at=4)
    ticks = [*TICKS[:3], ({}, {}), ({}, {"corrected": (correction,)})]
    for tick, (core, notes) in enumerate(ticks, 1):
        minute = {4: 3 + minutes, 5: 3 + minutes + 1}.get(tick, tick)
        line, digest, chain = write_line(
            Core(tick=tick, minute=minute, **core), TickNotes(epoch=1, **notes), digest, chain, SCHEMA
        )
        found.append(line)
    told = JobHistory(store_of(found).client, "town").find(LATE)
    assert (told.settled, told.usage) == ((True, USED) if known else (False, Cost()))


@pytest.mark.parametrize("tick", [1, 2])
def test_a_job_that_may_have_ended_in_trimmed_lines_is_unknown(tick: int) -> None:
    with pytest.raises(InputError, match=r"is unknown: .* before tick 3, the first in the trimmed journal of run"):
        JobHistory(trimmed_store().client, "town").find(JobKey(tick, "muse", CY, 0, 0))
    for never in (0, 3):
        with pytest.raises(InputError, match="run 'town' has no job"):
            JobHistory(trimmed_store().client, "town").find(JobKey(never, "muse", CY, 0, 0))


def test_dead_and_refused_jobs_state_their_reason_before_their_end() -> None:
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
