"""What an audit says of open jobs that were changed in Redis: each kind of harm by itself."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from cogitate.scheduler.budget.admission import Grant
from cogitate.scheduler.budget.budget import Cell
from cogitate.scheduler.budget.budget_lines import accounts_of
from cogitate.scheduler.inspection.audit_accounts import wrong_attempts, wrong_lists
from cogitate.scheduler.journal.run_totals import JobBeginning
from cogitate.tasks.job import Cost, JobKey

OPEN, STAGED = JobKey(7, "plan", "agent:ada", 0, 0), JobKey(7, "plan", "agent:ben", 0, 0)
CELLS = ("day:0", "run"), ("tick:7", "kind:plan")


def record(state: str, due: int = 9, **fields: str) -> dict[bytes, bytes]:
    cells = json.dumps([part for cell in CELLS for part in cell])
    values = {"state": state, "due": str(due), "token": "", "calls": "1", "tokens": "500", "usd_micros": "0"}
    return {name.encode(): text.encode() for name, text in (values | {"cells": cells} | fields).items()}


def ledger(**changed: Any) -> Any:
    """What a sound ledger holds at tick 8, and what a test changes of it."""
    sound = {
        "tick": 8,
        "trimmed": 0,
        "staged": {STAGED.text()},
        "waiting": {"9": 1},
        "lost": {},
        "due": {"9": {OPEN.text(), STAGED.text()}},
        "attempts": {"t1": {"job": OPEN.text()}},
        "jobs": {
            OPEN.text(): record("open", token="t1"),
            STAGED.text(): record("staged", result='{"effects": [], "source": "heuristic"}'),
        },
    }
    return SimpleNamespace(**(sound | changed))


def jobs(**changed: dict[bytes, bytes]) -> dict[str, dict[bytes, bytes]]:
    found: dict[str, dict[bytes, bytes]] = ledger().jobs
    return {OPEN.text(): changed.get("open", found[OPEN.text()]), STAGED.text(): found[STAGED.text()]}


def opening() -> JobBeginning:
    decided: Any = None
    return JobBeginning(decided, Grant(key=OPEN, reserved=Cost(1, 500), cells=tuple(Cell(*cell) for cell in CELLS)))


def test_a_sound_ledger_has_no_findings() -> None:
    assert wrong_lists(ledger()) == []
    assert wrong_attempts(ledger(), {OPEN, STAGED}, [opening()]) == []


def test_a_job_without_a_record_is_reported_once() -> None:
    gone = jobs(open={})
    said = wrong_lists(ledger(jobs=gone, due={"9": {STAGED.text()}}, waiting={}, attempts={}))
    assert said == [], "what adds up reservations finds it"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"tick": 9}, ["was due at tick 9 but is still open at tick 9"] * 2),
        ({"attempts": {}}, ["is claimed by an attempt that does not exist"]),
        ({"attempts": {"t1": {"job": STAGED.text()}}}, ["is claimed by an attempt that does not exist"]),
        ({"due": {"9": {OPEN.text()}}}, ["the lists of due jobs differ"]),
        ({"staged": set()}, ["staged jobs differ from their records"]),
        ({"staged": {STAGED.text(), "x"}}, ["staged jobs differ from their records"]),
        ({"waiting": {"9": 2}}, ["waiting counters"]),
        ({"jobs": jobs(open=record("dead")), "waiting": {}}, []),
        ({"jobs": jobs(open=record("odd")), "waiting": {}}, ["has the unknown state"]),
        ({"jobs": jobs(open=record("open"))}, []),
    ],
)
def test_lists_that_differ_from_the_records_are_reported(changed: dict[str, Any], said: list[str]) -> None:
    found = wrong_lists(ledger(**changed))
    assert len(found) == len(said)
    assert all(part in one for part, one in zip(said, found, strict=True)), found


def test_an_unreadable_staged_result_is_reported() -> None:
    harmed = ledger()
    harmed.jobs[STAGED.text()] = record("staged", result="{")
    (found,) = wrong_lists(harmed)
    assert "its staged result cannot be read" in found


@pytest.mark.parametrize("field", ["calls", "tokens", "usd_micros"])
def test_a_reservation_absent_from_the_journal_is_reported(field: str) -> None:
    (found,) = wrong_attempts(ledger(jobs=jobs(open=record("open", **{field: "7"}))), {OPEN}, [opening()])
    assert f"job {OPEN.text()}: reserves" in found


def test_cells_absent_from_the_journal_are_reported() -> None:
    other = record("open", cells=json.dumps(["day:0", "run"]))
    (found,) = wrong_attempts(ledger(jobs=jobs(open=other)), {OPEN}, [opening()])
    assert f"job {OPEN.text()}: reserves" in found


@pytest.mark.parametrize("where", ["attempts", "lost"])
def test_an_attempt_of_an_unknown_job_is_reported_unless_its_lines_are_trimmed(where: str) -> None:
    held: dict[str, Any] = {"attempts": {}, "lost": {}} | {where: {"t9": {"job": OPEN.text()}}}
    (found,) = wrong_attempts(ledger(**held, trimmed=6), set(), [])
    assert "attempt t9: holds a reservation" in found
    assert wrong_attempts(ledger(**held, trimmed=7), set(), []) == []


def test_a_job_that_its_heuristic_has_reserves_nothing() -> None:
    decided: Any = None
    assert wrong_attempts(ledger(), {OPEN, STAGED}, [JobBeginning(decided, None), opening()]) == []


def test_a_job_without_a_record_is_found_where_reservations_are_added_up() -> None:
    other = JobBeginning(opening().decided, Grant(key=STAGED, reserved=Cost(9), cells=()))
    (found,) = wrong_attempts(ledger(jobs={STAGED.text(): record("open")}), {OPEN, STAGED}, [opening(), other])
    assert STAGED.text() in found


def test_invalid_cells_hide_no_other_findings() -> None:
    (found,) = wrong_attempts(ledger(jobs=jobs(open=record("open", cells="[7]"))), {OPEN}, [opening()])
    assert f"job {OPEN.text()}: reserves [1, 500, 0] in [7], but [1, 500, 0] by the journal" in found


def test_the_first_five_differing_jobs_are_named_in_order() -> None:
    many = {f"x{n}" for n in range(40)}
    first = "['x0', 'x1', 'x10', 'x11', 'x12']"
    staged, due = wrong_lists(ledger(staged=many | {STAGED.text()})), {str(n): {OPEN.text()} for n in range(20, 60)}
    assert staged == [f"staged jobs differ from their records: {first}"]
    (found,) = wrong_lists(ledger(due=due | ledger().due))
    assert found == "the lists of due jobs differ from the open jobs: ['20', '21', '22', '23', '24']"


def test_the_names_of_accounts_are_read_from_their_end() -> None:
    found = accounts_of({"day:0": {b"kind:a|b|calls|spent": b"3", b"kind:a|b|calls|pool": b"1"}})
    assert found == {("day:0", "kind:a|b", "calls"): {"spent": 3, "pool": 1}}
