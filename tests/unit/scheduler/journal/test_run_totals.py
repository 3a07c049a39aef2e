"""What the lines of a journal come to: each line of a small journal, and what it adds to the totals."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cogitate.memory.profile import Profile
from cogitate.scheduler.budget.admission import DecidedLine, Grant
from cogitate.scheduler.budget.budget import Cell
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.journal import run_totals as module
from cogitate.scheduler.journal.lines import Core, Correction, Ended, EndNote, ReadLine, Retried, TickNotes
from cogitate.scheduler.journal.run_totals import Charge, JobBeginning, RunTotals, oldest, same_figures
from cogitate.scheduler.ledger.answer_times import Timed
from cogitate.tasks.job import Cost, JobKey
from tests.unit.scheduler.scheduler_case import ANN, BOB

RESERVED, USED = Cost(calls=1, tokens=30, usd_micros=3), Cost(calls=1, tokens=7, usd_micros=1)
DAY, RUN = Cell("day:0", "run"), Cell("run:0", "run")
ONE, TWO = JobKey(1, "plan", ANN, 0, 0), JobKey(1, "muse", BOB, 0, 0)


class Fold:
    """Totals to which a test adds line by line."""

    def __init__(self, **totals: Any) -> None:
        self.totals = RunTotals(**totals)

    def add(self, tick: int, notes: dict[str, Any] | None = None, **core: Any) -> RunTotals:
        line = ReadLine(Core(tick=tick, minute=10 * tick, **core), TickNotes(epoch=1, **(notes or {})), "", "")
        self.totals.add(line)
        return self.totals

    def admit(self, *keys: JobKey, tick: int = 1) -> RunTotals:
        grants = tuple(Grant(key=key, reserved=RESERVED, cells=(DAY, RUN)) for key in keys)
        return self.add(tick, {"opened": grants}, decided=tuple(decided(key) for key in keys))

    def end(self, key: JobKey, tick: int = 2, reason: Any = "none", end: Any = "applied", **note: Any) -> RunTotals:
        return self.add(
            tick, {"ended": (EndNote(key=key, source="llm", **note),)}, ended=(Ended(key=key, end=end, reason=reason),)
        )


def decided(key: JobKey, decision: Any = "admitted", **more: Any) -> DecidedLine:
    return DecidedLine(key=key, decision=decision, model="small" if decision == "admitted" else "", **more)


def amounts(calls: int, tokens: int, usd_micros: int) -> dict[str, int]:
    units = {"calls": calls, "tokens": tokens, "usd_micros": usd_micros}
    return {f"{window}|run|{unit}": amount for window in ("day:0", "run:0") for unit, amount in units.items()}


JOBS = {"day:0|run|jobs": 1, "run:0|run|jobs": 1}


# -- what happens to a job ---------------------------------------------------------------------------


def test_an_admitted_job_is_open_and_counts_its_reservation() -> None:
    found = Fold().admit(ONE)
    assert found.open == {ONE.text(): JobBeginning(decided(ONE), Grant(key=ONE, reserved=RESERVED, cells=(DAY, RUN)))}
    assert (found.view, found.known, found.unknown) == (amounts(1, 30, 3) | JOBS, {}, {})
    assert (found.tick, found.minute) == (1, 10)
    assert found.jobs == {"plan": {"decision": {"admitted": 1}, "end": {}, "source": {}, "reason": {}}}


def test_an_answered_job_counts_its_usage() -> None:
    fold = Fold()
    fold.admit(ONE)
    found = fold.end(ONE, usage=USED)
    assert (found.view, found.known, found.open) == (amounts(1, 7, 1) | JOBS, amounts(1, 7, 1), {})
    assert (found.unknown, found.charged) == ({}, {})
    assert found.usage == {ANN: USED}


def test_an_answer_that_was_shared_counts_in_the_view_and_costs_nothing() -> None:
    fold = Fold()
    fold.admit(ONE)
    found = fold.end(ONE, usage=USED, saved=True)
    assert (found.view, found.known) == (amounts(1, 7, 1) | JOBS, {})
    assert found.usage == {ANN: Cost()}


@pytest.mark.parametrize("reason", ["late", "dead", "cancelled"])
def test_a_job_without_a_result_counts_in_full_until_it_is_corrected(reason: Any) -> None:
    fold = Fold()
    fold.admit(ONE)
    found = fold.end(ONE, tick=4, reason=reason)
    assert (found.view, found.unknown, found.known) == (amounts(1, 30, 3) | JOBS, amounts(1, 30, 3), {})
    grant = Grant(key=ONE, reserved=RESERVED, cells=(DAY, RUN))
    assert found.charged == {ONE.text(): Charge(4, grant)}
    found = fold.add(5, {"corrected": (Correction(key=ONE, usage=USED, at=4),)})
    assert (found.view, found.unknown, found.known) == (amounts(1, 7, 1) | JOBS, amounts(0, 0, 0), amounts(1, 7, 1))
    assert found.charged == {}
    assert found.usage == {ANN: USED}


def test_a_job_that_reserved_nothing_has_nothing_to_correct() -> None:
    fold = Fold()
    fold.add(1, {"opened": (Grant(key=ONE, reserved=Cost(), cells=(DAY,)),)}, decided=(decided(ONE),))
    assert fold.end(ONE, reason="late").charged == {}


def test_a_correction_of_a_job_still_counted_in_full_states_only_its_cost() -> None:
    fold = Fold()
    fold.admit(ONE)
    fold.end(ONE, reason="cancelled")
    found = fold.add(3, {"corrected": (Correction(key=ONE, usage=USED, at=2, kept=True),)})
    assert (found.view, found.known, found.unknown) == (amounts(1, 30, 3) | JOBS, amounts(1, 7, 1), amounts(0, 0, 0))
    assert found.usage == {ANN: USED}


def test_a_correction_reaches_the_windows_that_were_not_forgotten() -> None:
    fold = Fold()
    fold.admit(ONE)
    fold.end(ONE, reason="late").forget(["run:0"])
    found = fold.add(3, {"corrected": (Correction(key=ONE, usage=USED, at=2),)})
    for account, tokens in ((found.view, 7), (found.known, 7), (found.unknown, 0)):
        assert account["run:0|run|tokens"] == tokens
        assert not [field for field in account if field.startswith("day:0|")]
    assert fold.add(4, {"corrected": (Correction(key=ONE, usage=USED, at=3),)}).known["run:0|run|tokens"] == 7, "once"


def test_a_waiting_answer_counts_its_usage_and_then_its_end() -> None:
    fold = Fold()
    fold.admit(ONE, TWO)
    timed = Timed(ONE, "small", 0, 1, USED)
    found = fold.add(2, {"timed": (timed, timed._replace(key=JobKey(1, "act", ANN, 0, 0)))})
    assert found.view["run:0|run|tokens"] == 37
    assert fold.add(3, {"timed": (timed._replace(used=Cost(1, 9)),)}).view["run:0|run|tokens"] == 39, "the newest note"
    assert fold.add(4, {"timed": (timed._replace(used=Cost()),)}).view["run:0|run|tokens"] == 39
    found = fold.end(ONE, tick=5, usage=Cost(1, 8))
    assert (found.view["run:0|run|tokens"], found.known["run:0|run|tokens"]) == (38, 8)


def test_a_refused_job_that_waits_for_its_heuristic_counts_nothing() -> None:
    fold = Fold()
    found = fold.add(1, decided=(decided(ONE, "heuristic", refused="day:0 kind:plan calls"),))
    assert (found.view, [*found.open], found.open[ONE.text()].note) == ({}, [ONE.text()], None)
    assert found.open[ONE.text()].counted == Cost()
    assert found.refused == {"day kind:plan calls": 1}
    found = fold.add(2, {"timed": (Timed(ONE, "small", 0, 1, USED),)})
    assert found.view == {}
    found = fold.end(ONE, tick=3, reason="denied")
    assert (found.view, found.known, found.open) == ({}, {}, {})
    assert found.jobs["plan"]["reason"] == {"denied": 1}


@pytest.mark.parametrize(
    ("refused", "reason", "told"),
    [
        ("run:0 run tokens", "denied", "run run tokens"),
        ("too_slow", "too_slow", "too_slow"),
        ("draining", "denied", "draining"),
    ],
)
def test_dropped_and_deferred_jobs_end_at_once(refused: str, reason: str, told: str) -> None:
    fold, later = Fold(), ONE._replace(tick=11, trial=1)
    found = fold.add(
        1,
        decided=(decided(ONE, "deferred", refused=refused, successor=later), decided(TWO, "dropped", refused=refused)),
    )
    for kind, decision in (("plan", "deferred"), ("muse", "dropped")):
        assert found.jobs[kind] == {
            "decision": {decision: 1},
            "end": {decision: 1},
            "source": {"none": 1},
            "reason": {reason: 1},
        }
    assert found.refused == {told: 2}
    assert (found.open, found.promised) == ({}, {later.text(): 1})


def test_a_successor_is_promised_until_it_is_decided_or_its_owner_leaves() -> None:
    fold, first, second = Fold(), ONE._replace(tick=11, trial=1), TWO._replace(tick=11, trial=1)
    fold.add(
        1,
        decided=(
            decided(ONE, "deferred", refused="x", successor=first),
            decided(TWO, "deferred", refused="x", successor=second),
        ),
    )
    assert fold.add(2, left=(BOB,)).promised == {first.text(): 1}
    assert fold.admit(first, tick=11).promised == {}


# -- the rest of a line ------------------------------------------------------------------------------


def test_present_owners_and_current_facts_are_known() -> None:
    fold, facts = Fold(), (Facts(), Facts(morning=400))
    fold.add(1, joined=((ANN, Profile(name="Ann")), (BOB, Profile(name="Bob"))), facts=facts[0])
    fold.add(2, joined=((BOB, Profile(name="Robert")),))
    found = fold.add(3, left=(ANN, "agent:nobody"), facts=facts[1])
    assert found.profiles == {BOB: Profile(name="Robert")}
    assert found.facts == {1: facts[0], 3: facts[1]}


def test_warnings_and_late_answers_add_up() -> None:
    fold = Fold()
    late = [Ended(key=ONE, end="applied"), Ended(key=TWO, end="stale"), Ended(key=ONE, end="applied")]
    fold.add(1, {"warnings": {"job.stale": 2}}, late=tuple(late))
    found = fold.add(2, {"warnings": {"job.stale": 3, "job.overrun": 1}}, late=(late[1],))
    assert found.warnings == {"job.stale": 5, "job.overrun": 1}
    assert found.late_answers == {"plan": {"applied": 2}, "muse": {"stale": 2}}


def test_owners_are_charged_for_all_spending_in_a_line() -> None:
    fold = Fold()
    fold.admit(ONE, TWO)
    fold.end(ONE, usage=USED, retried=Cost(1, 5, 1))
    found = fold.add(3, {"retried": (Retried(TWO, Cost(1, 2)), Retried(ONE, Cost(1, 1)))})
    assert found.usage == {ANN: Cost(3, 13, 2), BOB: Cost(1, 2)}


def test_an_end_without_a_note_has_no_source() -> None:
    fold = Fold()
    fold.admit(ONE)
    found = fold.add(2, ended=(Ended(key=ONE, end="cancelled", reason="cancelled"),))
    assert found.jobs["plan"] == {
        "decision": {"admitted": 1},
        "end": {"cancelled": 1},
        "source": {"none": 1},
        "reason": {"cancelled": 1},
    }


def test_a_shortfall_is_of_the_model_that_admission_gave() -> None:
    fold = Fold()
    fold.admit(ONE)
    fold.end(ONE, tick=2, reason="failed", failure="timeout", model="other")
    found = fold.end(TWO, tick=3, reason="failed", failure="timeout", model="other")
    assert [(one.model, one.first, one.first_minute) for one in found.shortfalls.values()] == [
        ("small", 2, 20),
        ("other", 3, 30),
    ]


def test_the_oldest_of_too_many_jobs_counted_in_full_stay_uncorrected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    keys = [JobKey(1, "plan", ANN, ordinal, 0) for ordinal in range(4)]
    fold = Fold()
    fold.admit(*keys)
    for tick, key in enumerate(keys, 2):
        fold.end(key, tick=tick, reason="late")
    assert [*fold.totals.charged] == [key.text() for key in keys[1:]], "those that end with a tick are no part of it"
    assert [*fold.add(6).charged] == [key.text() for key in keys[2:]]
    assert oldest({}, 5) == []
    assert oldest({keys[0]: 3, keys[1]: 3, keys[2]: 3}, 4) == [keys[0]]
    assert oldest({keys[0]: 3, keys[1]: 3}, 4) == []


# -- what is forgotten and compared ------------------------------------------------------------------


def test_facts_are_forgotten_that_no_open_job_was_made_with() -> None:
    versions = {tick: Facts(morning=tick) for tick in (1, 3, 5)}
    late = decided(ONE._replace(tick=4))
    for opened, kept in (({}, {5}), ({late.key.text(): JobBeginning(late, None)}, {3, 5})):
        found = RunTotals(tick=9, facts=dict(versions), open=opened)
        found.forget([])
        assert {*found.facts} == kept
    at_once = decided(ONE._replace(tick=3))
    found = RunTotals(tick=9, facts=dict(versions), open={at_once.key.text(): JobBeginning(at_once, None)})
    found.forget([])
    assert {*found.facts} == {3, 5}, "a job is made with the facts of its own tick"
    found = RunTotals(tick=4, facts=dict(versions))
    found.forget([])
    assert {*found.facts} == {3}, "later ones are not in force yet"


def test_amounts_are_forgotten_by_window() -> None:
    fold = Fold()
    fold.admit(ONE)
    fold.add(
        2, {"opened": (Grant(key=TWO, reserved=RESERVED, cells=(Cell("tick:2", "run"),)),)}, decided=(decided(TWO),)
    )
    found = fold.end(ONE, tick=3, usage=USED)
    found.forget(["day:0"])
    assert {field.partition("|")[0] for field in found.view} == {"day:0", "tick:2"}
    assert {field.partition("|")[0] for field in found.known} == {"day:0"}


def test_two_totals_agree_apart_from_windows_that_only_one_has_dropped() -> None:
    def made() -> RunTotals:
        fold = Fold()
        fold.admit(ONE, TWO)
        fold.end(ONE, usage=USED)
        return fold.end(TWO, tick=3, reason="late")

    one, other = made(), made()
    one.forget(["run:0"])
    assert same_figures(one, other)
    assert not same_figures(other, one), "the other has dropped what is there"
    assert "day:0|run|tokens" in other.view, "it is left as it was"
    changes: tuple[dict[str, Any], ...] = ({"tick": 4}, {"usage": {}}, {"view": one.view | {"run:0|run|tokens": 1}})
    for changed in changes:
        assert not same_figures(msgspec.structs.replace(one, **changed), other)


def test_a_checkpoint_of_a_version_that_counts_no_unclaimed_jobs_agrees() -> None:
    fold = Fold()
    fold.admit(ONE, TWO)
    fold.end(ONE, reason="late")
    ours = fold.end(TWO, tick=3, reason="failed", failure="timeout")
    assert {one.failure for one in ours.shortfalls.values()} == {"unclaimed", "timeout"}
    theirs = {name: one for name, one in ours.shortfalls.items() if one.failure == "timeout"}
    older = msgspec.structs.replace(ours, shortfalls=theirs)
    assert same_figures(older, ours)
    assert same_figures(ours, older)
    assert not same_figures(msgspec.structs.replace(ours, shortfalls={}), ours)
