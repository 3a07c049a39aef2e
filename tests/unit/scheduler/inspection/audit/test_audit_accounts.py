"""The auditor's arithmetic, each account by itself: what jobs hold, what they came to, what admission counts."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from cogitate.scheduler.budget.admission import Grant
from cogitate.scheduler.budget.budget import Cell
from cogitate.scheduler.budget.budget_lines import BudgetLine, Pools, lines_of
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.engine.corrections import Charged, Corrections
from cogitate.scheduler.engine.late_answers import MOST, Awaited, LateAnswers, ProvisionalEntry
from cogitate.scheduler.engine.part import AuditedRun
from cogitate.scheduler.inspection.audit_accounts import over_limit, wrong_reservations, wrong_spending, wrong_view
from cogitate.scheduler.journal.run_totals import Charge, JobBeginning, RunTotals
from cogitate.tasks.job import Cost, Job, JobKey

KEY = JobKey(7, "plan", "agent:ada", 0, 0)
CELLS = (Cell("day:0", "run"), Cell("run:0", "kind:plan"))
FLAT = [part for cell in CELLS for part in cell]
RESERVED, USED = Cost(calls=1, tokens=500), Cost(calls=1, tokens=120)
JOB = Job(run="town", key=KEY, minute=7, due=9, reads=(), model="default", reserved=RESERVED)
NO_JOBS: Mapping[str, Any] = {}


def record(state: str = "open", *, claims: int = 0, token: str = "", last: Cost = USED, job: Job = JOB) -> Any:
    values: dict[str, str | bytes] = {
        "job": msgspec.json.encode(job),
        "state": state,
        "due": str(job.due),
        "claims": str(claims),
        "token": token,
        "cells": msgspec.json.encode(FLAT),
        "last": msgspec.json.encode([last.calls, last.tokens, last.usd_micros]),
    }
    return {name.encode(): value if isinstance(value, bytes) else value.encode() for name, value in values.items()}


def accounts(cost: Cost, kind: str = "reserved") -> dict[Any, dict[str, int]]:
    """Accounts in which a cost stands once, for each of the cells."""
    units = (("calls", cost.calls), ("tokens", cost.tokens))
    return {(*cell, unit): {kind: amount} for cell in CELLS for unit, amount in units}


def ledger(**changed: Any) -> Any:
    sound = {
        "tick": 8,
        "trimmed": 0,
        "jobs": {KEY.text(): record()},
        "unclaimed": {KEY.text()},
        "attempts": {},
        "lost": {},
        "open": {7: 1},
        "windows": {"day:0", "run:0"},
        "accounts": accounts(RESERVED),
        "view": {},
        "awaited": {},
        "offered": {},
        "charged": {},
        "unsettled": {},
        "corrections": {},
    }
    return SimpleNamespace(**(sound | changed))


def audited(ledger: Any, **journal: Any) -> AuditedRun:
    names = (*LateAnswers.hashes, *Corrections.hashes)
    hashes = {
        name: {job: raw if isinstance(raw, bytes) else raw.encode() for job, raw in getattr(ledger, name).items()}
        for name in names
    }
    attempts = {token: attempt["job"] for token, attempt in (ledger.lost | ledger.attempts).items()}
    by_journal: dict[str, Any] = {"ended": set(), "charged": {}, "streams": {}} | journal
    return AuditedRun(
        tick=ledger.tick,
        trimmed=ledger.trimmed,
        hashes=hashes,
        open=ledger.jobs.keys(),
        attempts=attempts,
        windows=ledger.windows,
        **by_journal,
    )


def wrong_corrections(ledger: Any, charged: Mapping[str, Charge]) -> list[str]:
    return Corrections.audit(audited(ledger, charged=charged))


def wrong_late_answers(ledger: Any, ended: Any, streams: Any) -> list[str]:
    return LateAnswers.audit(audited(ledger, ended=ended, streams=streams))


# -- limits ------------------------------------------------------------------------------------------


def line(**changed: Any) -> BudgetLine:
    values = {"window": "day:0", "scope": "run", "unit": "calls", "limit": 10, "reserved": 4, "spent": 6, "overrun": 0}
    return BudgetLine(**(values | changed))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, []),
        ({"spent": 7}, ["> limit 10"]),
        ({"spent": 7, "overrun": 1}, []),
        ({"limit": None, "spent": 99}, []),
        ({"reserved": 0, "spent": 0}, []),
        ({"reserved": -1}, ["negative"]),
        ({"spent": -1}, ["negative"]),
        ({"overrun": -1}, ["negative", "> limit 10"]),
        ({"limit": None, "reserved": -1}, ["negative"]),
    ],
)
def test_a_window_holds_its_limit_and_overrun_and_no_account_is_negative(changed: Any, said: list[str]) -> None:
    found = over_limit([line(**changed)])
    assert len(found) == len(said)
    assert all(part in one for part, one in zip(said, found, strict=True)), found


def test_admission_may_give_the_limit_minus_the_retry_pool() -> None:
    assert (line(for_retries=3).room, line(limit=None).room) == (7, 0)
    assert line(retried=2, held=5).counted == 13


def test_held_amounts_are_admissions_count_minus_the_accounts() -> None:
    limits = LimitTable({"day.run.calls": 10})
    accounts = {("day:0", "run", "calls"): {"reserved": 2, "spent": 5, "pool": 1, "overrun": 3}}

    for counted, held in ((9, 3), (6, 0), (0, 0)):
        (found,) = lines_of(accounts, limits.limit_of, Pools(0.2), {"day:0|run|calls": counted})
        assert (found.limit, found.reserved, found.spent, found.overrun, found.retried) == (10, 2, 5, 3, 1)
        assert (found.for_retries, found.held) == (2, held)
    assert lines_of(accounts, limits.limit_of)[0].held == 0, "what admission counts is unknown"


# -- reservations ------------------------------------------------------------------------------------

ATTEMPT = {"job": KEY.text(), "tick": 7, "cells": FLAT, "reserved": [1, 500, 0]}
CLAIMED = {"jobs": {KEY.text(): record(claims=1, token="t")}, "unclaimed": set[str](), "attempts": {"t": ATTEMPT}}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, []),
        ({"accounts": {}}, ["reserved 0, but jobs and attempts hold"] * 4),
        ({"accounts": {}, "windows": {"day:0"}}, ["reserved 0, but jobs and attempts hold"] * 2),
        ({"accounts": accounts(RESERVED) | {("day:0", "kind:act", "calls"): {"reserved": 2}}}, ["reserved 2, but"]),
        ({"accounts": accounts(RESERVED) | {("day:0", "kind:act", "calls"): {"spent": 2}}}, []),
        # an attempt holds its job's reservation from its claim on
        (CLAIMED | {"open": {7: 2}}, []),
        (CLAIMED | {"open": {7: 2}, "accounts": accounts(Cost(2, 1000))}, ["reserved"] * 4),
        (CLAIMED, ["open counters"]),
        # a job that waits is where workers look for it, and no other
        ({"unclaimed": set()}, ["unclaimed is False, but its record says True"]),
        (CLAIMED | {"open": {7: 2}, "unclaimed": {KEY.text()}}, ["unclaimed is True, but its record says False"]),
        # a job that the budget refused holds nothing
        ({"jobs": {KEY.text(): record("held")}, "unclaimed": set(), "open": {}, "accounts": {}}, []),
        ({"jobs": {KEY.text(): record("dead", claims=4)}, "unclaimed": set(), "accounts": {}}, []),
        # records are of the job that they are listed under
        ({"jobs": {"7/act/agent:ada/0/0": record()}, "unclaimed": {"7/act/agent:ada/0/0"}}, ["its record belongs to"]),
        ({"jobs": {KEY.text(): record() | {b"due": b"8"}}}, ["due at 9"]),
        ({"jobs": {KEY.text(): {}}, "open": {}, "accounts": {}}, ["has no record"]),
    ],
)
def test_reserved_amounts_are_those_of_open_jobs_and_attempts(changed: Any, said: list[str]) -> None:
    found = wrong_reservations(ledger(**changed))
    assert len(found) == len(said), found
    assert all(part in one for part, one in zip(said, found, strict=True)), found


# -- admission's view --------------------------------------------------------------------------------


def beginning(window: str = "day:0") -> dict[str, JobBeginning]:
    decided: Any = None
    return {KEY.text(): JobBeginning(decided, Grant(key=KEY, reserved=RESERVED, cells=(Cell(window, "run"),)))}


@pytest.mark.parametrize(
    ("held", "said", "minute", "open_jobs", "wrong"),
    [
        ({"day:0|run|calls": 3}, {"day:0|run|calls": 3}, 0, {}, []),
        (
            {"day:0|run|calls": 3},
            {"day:0|run|calls": 4},
            0,
            {},
            ["of day:0|run|calls is 4, but 3 by the journal"],
        ),
        ({"day:0|run|calls": 3}, {}, 0, {}, ["is 0, but 3 by the journal"]),
        ({}, {"run:0|run|calls": 3}, 0, {}, ["is 3, but 0 by the journal"]),
        # a day's window is forgotten after seven further days, unless it is kept in part or an open job names it
        ({"day:0|run|calls": 3}, {}, 8 * 1440 - 1, {}, ["is 0"]),
        ({"day:0|run|calls": 3}, {}, 8 * 1440, {}, []),
        ({"day:0|run|calls": 3, "day:0|run|tokens": 9}, {"day:0|run|tokens": 9}, 8 * 1440, {}, ["is 0"]),
        ({"day:0|run|calls": 3}, {}, 8 * 1440, beginning(), ["is 0"]),
        ({"tick:7|run|calls": 3}, {}, 0, {}, []),
        ({"tick:7|run|calls": 3}, {}, 0, beginning("tick:7"), ["is 0"]),
        ({"run:0|run|calls": 3}, {}, 99 * 1440, {}, ["is 0"]),
    ],
)
def test_the_accounts_match_the_kept_journal(
    held: dict[str, int], said: dict[str, int], minute: int, open_jobs: Any, wrong: list[str]
) -> None:
    found = wrong_view(RunTotals(minute=minute, view=held, open=open_jobs), ledger(view=said))
    assert len(found) == len(wrong), found
    assert all(part in one for part, one in zip(wrong, found, strict=True)), found


# -- spending ----------------------------------------------------------------------------------------


def fields(cost: Cost) -> dict[str, int]:
    units = (("calls", cost.calls), ("tokens", cost.tokens))
    return {f"{c.window}|{c.scope}|{unit}": amount for c in CELLS for unit, amount in units if amount}


@pytest.mark.parametrize(
    ("known", "unknown", "changed", "wrong"),
    [
        # an open job holds its reservation, and what its latest attempt came to once that is over
        ({}, {}, {}, 0),
        ({}, {}, {"jobs": {KEY.text(): record(claims=1, token="t")}}, 0),
        ({}, {}, {"jobs": {KEY.text(): record(claims=1)}, "accounts": accounts(USED, "spent")}, 0),
        ({}, {}, {"jobs": {KEY.text(): record(claims=1)}}, 2),
        ({}, {}, {"jobs": {KEY.text(): record("held")}, "accounts": {}}, 0),
        # an ended one what it came to
        (fields(USED), {}, {"jobs": NO_JOBS, "accounts": accounts(USED, "spent")}, 0),
        (fields(USED), {}, {"jobs": NO_JOBS, "accounts": {}}, 4),
        (fields(USED), {}, {"jobs": NO_JOBS, "accounts": {}, "windows": {"run:0"}}, 2),
        ({}, {}, {"jobs": NO_JOBS, "accounts": accounts(USED, "spent")}, 4),
        # one that ended without a result at most its reservation, and an overrun
        ({}, fields(RESERVED), {"jobs": NO_JOBS, "accounts": {}}, 0),
        ({}, fields(RESERVED), {"jobs": NO_JOBS, "accounts": accounts(RESERVED, "spent")}, 0),
        ({}, fields(RESERVED), {"jobs": NO_JOBS, "accounts": accounts(Cost(1, 501), "spent")}, 2),
        # what the retry pool carries is of earlier attempts
        (
            fields(USED),
            {},
            {
                "jobs": NO_JOBS,
                "accounts": {
                    a: {"spent": 2 * n["spent"], "pool": n["spent"]} for a, n in accounts(USED, "spent").items()
                },
            },
            0,
        ),
    ],
)
def test_attempts_add_up_to_the_accounts(
    known: dict[str, int], unknown: dict[str, int], changed: Any, wrong: int
) -> None:
    found = wrong_spending(RunTotals(known=known, unknown=unknown), ledger(**changed))
    assert len(found) == wrong, found


def test_a_kind_named_with_a_bar_has_an_account() -> None:
    spent = {("day:0", "kind:a|b", "tokens"): {"spent": 5}}
    assert wrong_spending(RunTotals(known={"day:0|kind:a|b|tokens": 5}), ledger(jobs={}, accounts=spent)) == []


@pytest.mark.parametrize(("unknown", "wrong"), [({"day:0|run|tokens": 500}, []), ({}, ["day"])])
def test_only_unknown_costs_may_overrun(unknown: dict[str, int], wrong: list[str]) -> None:
    spent = {("day:0", "run", "tokens"): {"spent": 600, "overrun": 100}}
    found = wrong_spending(RunTotals(unknown=unknown), ledger(jobs={}, accounts=spent))
    assert len(found) == len(wrong), found


# -- jobs that count in full -------------------------------------------------------------------------

CHARGED = msgspec.json.encode(Charged(ended=9, due=9, reserved=RESERVED, cells=CELLS))
CHARGE = Charge(9, Grant(key=KEY, reserved=RESERVED, cells=CELLS))
CAME_TO = msgspec.json.encode({"usage": [1, 120, 0], "saved": False, "at": 8})
FULL = {"jobs": NO_JOBS, "charged": {KEY.text(): CHARGED}, "corrections": {KEY.text(): CAME_TO}}
AWAITS = {"jobs": NO_JOBS, "charged": {KEY.text(): CHARGED}, "unsettled": {KEY.text(): "t"}, "attempts": {"t": ATTEMPT}}


@pytest.mark.parametrize(
    ("changed", "charge", "wrong"),
    [
        (FULL, CHARGE, []),
        (AWAITS, CHARGE, []),
        (AWAITS | {"attempts": {}, "lost": {"t": ATTEMPT}}, CHARGE, []),
        (FULL, None, ["differ from the journal's"]),
        (FULL | {"charged": {}}, CHARGE, ["differ from the journal's"]),
        (FULL, msgspec.structs.replace(CHARGE, ended=8), ["since tick 9, but as"]),
        (FULL, Charge(9, Grant(key=KEY, reserved=USED, cells=CELLS)), ["by the journal"]),
        (FULL, Charge(9, Grant(key=KEY, reserved=RESERVED, cells=CELLS[:1])), ["by the journal"]),
        (FULL | {"corrections": {}}, CHARGE, ["no attempt or correction will report its usage"]),
        (FULL | {"corrections": {}, "windows": {"run:0"}}, CHARGE, []),
        (AWAITS | {"attempts": {}}, CHARGE, ["which is not one of its unsettled attempts"]),
        (
            AWAITS | {"attempts": {"t": ATTEMPT | {"job": "7/act/agent:ada/0/0"}}},
            CHARGE,
            ["not one of its unsettled attempts"],
        ),
        (AWAITS | {"charged": {}}, None, ["is to be corrected, but does not count in full"]),
        (FULL | {"corrections": {KEY.text(): b"{"}}, CHARGE, ["cannot be read"]),
        (FULL | {"jobs": {KEY.text(): record()}}, CHARGE, ["has a correction before its end"]),
        (FULL | {"tick": 7}, CHARGE, ["has a correction before its end"]),
    ],
)
def test_jobs_counted_in_full_are_in_the_journal_and_awaited(
    changed: Any, charge: Charge | None, wrong: list[str]
) -> None:
    found = wrong_corrections(ledger(**changed), {} if charge is None else {KEY.text(): charge})
    assert len(found) == len(wrong), found
    assert all(part in one for part, one in zip(wrong, found, strict=True)), found


def test_a_job_of_a_closed_window_is_still_awaited() -> None:
    cells = (Cell("tick:7", "run"), *CELLS)
    charged = msgspec.json.encode(Charged(ended=9, due=9, reserved=RESERVED, cells=cells))
    charge = Charge(9, Grant(key=KEY, reserved=RESERVED, cells=cells))
    changed = FULL | {"charged": {KEY.text(): charged}, "corrections": {}}
    (found,) = wrong_corrections(ledger(**changed), {KEY.text(): charge})
    assert "no attempt or correction will report its usage" in found


@pytest.mark.parametrize(("windows", "wrong"), [({"day:0", "day:1"}, 1), ({"day:0"}, 0), ({"day:1"}, 0), (set(), 0)])
def test_a_job_of_a_forgotten_day_is_no_longer_awaited(windows: set[str], wrong: int) -> None:
    cells = (Cell("day:0", "run"), Cell("day:1", "run"))
    charged = msgspec.json.encode(Charged(ended=9, due=9, reserved=RESERVED, cells=cells))
    charge = Charge(9, Grant(key=KEY, reserved=RESERVED, cells=cells))
    changed = FULL | {"charged": {KEY.text(): charged}, "corrections": {}, "windows": windows}
    assert len(wrong_corrections(ledger(**changed), {KEY.text(): charge})) == wrong


#: Keys of jobs, in an order that is not theirs.
MIXED = [f"7/plan/agent:{name}/0/0" for name in ("cy", "ada", "dee", "ben", "fay", "eve")]


def jobs_named(found: list[str]) -> list[str]:
    return [one.partition("job ")[2].partition(":")[0] + ":" + one.split(":")[1] for one in found]


def test_findings_come_in_the_order_of_their_jobs() -> None:
    unsettled = wrong_corrections(ledger(jobs=NO_JOBS, unsettled=dict.fromkeys(MIXED, "t")), {})
    assert jobs_named(unsettled[::2]) == sorted(MIXED)
    known = ledger(jobs={key: {} for key in MIXED}, corrections=dict.fromkeys(MIXED, CAME_TO))
    assert jobs_named(wrong_corrections(known, {})) == sorted(MIXED)
    unread = ledger(jobs=NO_JOBS, corrections=dict.fromkeys(MIXED, b"{"))
    assert jobs_named(wrong_corrections(unread, {})) == sorted(MIXED)
    full = wrong_corrections(ledger(jobs=NO_JOBS, charged=dict.fromkeys(MIXED, CHARGED)), {})
    assert jobs_named(full[1:]) == sorted(MIXED)
    assert str(sorted(MIXED)[:5]) in full[0], "the first five"
    late = wrong_late_answers(ledger(jobs=NO_JOBS, awaited=dict.fromkeys(MIXED, awaited())), set(), {})
    assert jobs_named(late[::2]) == sorted(MIXED)
    offered = wrong_late_answers(ledger(jobs=NO_JOBS, offered=dict.fromkeys(MIXED, ANSWER)), set(), {})
    assert jobs_named(offered) == sorted(MIXED)


def test_findings_come_in_the_order_of_their_accounts() -> None:
    held = {("day:0", f"kind:{name}", "calls"): {"reserved": 1} for name in ("cy", "ada", "dee", "ben", "fay", "eve")}
    empty = {"jobs": NO_JOBS, "unclaimed": set(), "open": {}, "accounts": held}
    for found in (wrong_reservations(ledger(**empty)), wrong_spending(RunTotals(), ledger(**empty))):
        assert (len(found), found) == (len(held), sorted(found))


# -- late answers ------------------------------------------------------------------------------------


class Standing:
    """A stream whose entry 3 is provisional."""

    def is_provisional(self, number: int) -> bool:
        return number == 3


def awaited(number: int = 3) -> bytes:
    return msgspec.json.encode(Awaited(7, (ProvisionalEntry("agent:ada", number),)))


LATE = {"jobs": NO_JOBS, "awaited": {KEY.text(): awaited()}}
ANSWER = b'{"effects": [], "source": "llm"}'


@pytest.mark.parametrize(
    ("changed", "ended", "wrong"),
    [
        (LATE, True, []),
        (LATE, False, ["but the job has not ended"]),
        (LATE | {"trimmed": 7}, False, []),
        (LATE | {"trimmed": 6}, False, ["but the job has not ended"]),
        (LATE | {"trimmed": 7, "jobs": {KEY.text(): record()}}, True, ["but the job has not ended"]),
        (LATE | {"awaited": {KEY.text(): awaited(4)}}, True, ["nothing is left for it to replace"]),
        (LATE | {"offered": {KEY.text(): ANSWER}}, True, []),
        (LATE | {"offered": {KEY.text(): ANSWER.replace(b"llm", b"cached")}}, True, []),
        (LATE | {"offered": {KEY.text(): ANSWER.replace(b"llm", b"heuristic")}}, True, ["not a model"]),
        (LATE | {"offered": {KEY.text(): b"{"}}, True, ["cannot be read"]),
        (LATE | {"awaited": {}, "offered": {KEY.text(): ANSWER}}, True, ["that is not awaited"]),
    ],
)
def test_late_answers_belong_to_ended_jobs_and_are_useful(changed: Any, ended: bool, wrong: list[str]) -> None:
    streams: Any = {"agent:ada": Standing()}
    found = wrong_late_answers(ledger(**changed), {KEY} if ended else set(), streams)
    assert len(found) == len(wrong), found
    assert all(part in one for part, one in zip(wrong, found, strict=True)), found


@pytest.mark.parametrize(("count", "wrong"), [(MOST, 0), (MOST + 1, 1)])
def test_the_audit_bounds_awaited_answers(count: int, wrong: int) -> None:
    keys = [KEY._replace(ordinal=n) for n in range(count)]
    streams: Any = {"agent:ada": Standing()}
    harmed = ledger(jobs={}, awaited={key.text(): awaited() for key in keys})
    assert len(wrong_late_answers(harmed, {*keys}, streams)) == wrong
