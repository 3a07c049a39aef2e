"""What readers say of a run in figures, of its open jobs, its hosts and its steering."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis

from cogitate.memory.effects import Append, SetCounter
from cogitate.memory.entry import Entry
from cogitate.scheduler.config.controls import FULL
from cogitate.scheduler.config.facts import SCHEMA, Facts, keep_settings
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.recent import Failed, recent_ticks
from cogitate.scheduler.inspection.vitals import RunHead, open_kinds, run_heads, steering_of
from cogitate.scheduler.journal.history import changes_of, observed_again, read_journal
from cogitate.scheduler.journal.lines import (
    Core,
    Correction,
    Ended,
    EndNote,
    JournalError,
    Repeat,
    Retried,
)
from cogitate.scheduler.journal.run_totals import RunTotals, same_figures, wrong_facts
from cogitate.scheduler.ledger.answer_times import Timed
from cogitate.scheduler.ledger.errors import RunMissing
from cogitate.scheduler.ledger.presence import this_process
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.steering.postponing import Postponing
from cogitate.scheduler.steering.steering import SteeringState
from cogitate.scheduler.steering.throttle import ThrottleState
from cogitate.scheduler.tick.figure_history import Figures, figures_of, joined
from cogitate.tasks.job import Cost, JobKey
from tests.unit.scheduler.run_lines_case import (
    ANN,
    BOB,
    CY,
    LATE,
    OPEN,
    SOON,
    TICKS,
    USED,
    decided,
    lines,
    opened,
    put,
    store_of,
    totals,
)

# -- in figures --------------------------------------------------------------------------------------


def test_ended_jobs_count_their_cost_and_those_without_a_result_in_full_until_it_is_known() -> None:
    tokens = [totals(upto).view.get("run:0|run|tokens", 0) for upto in range(1, 7)]
    assert tokens == [60, 60, 37, 67, 67, 44]
    known = [totals(upto).known.get("run:0|run|tokens", 0) for upto in range(1, 7)]
    assert known == [0, 0, 7, 7, 7, 14]
    assert totals(5).unknown["run:0|run|tokens"] == 30
    assert (totals(6).unknown["run:0|run|tokens"], totals(6).charged) == (0, {})
    assert totals(6).view["run:0|run|jobs"] == 3


def test_the_figures_of_a_tick_are_its_charges_by_kind(store: RunStore) -> None:
    found = [figures_of(line.core, line.notes) for line in read_journal(store, 1, 6)]
    assert [(one.tick, one.tokens, one.late) for one in found] == [
        (1, {}, 0),
        (2, {}, 0),
        (3, {"think": 7}, 1),
        (4, {}, 0),
        (5, {"think": 5}, 0),
        (6, {"think": 7}, 0),
    ]
    assert [one.sources for one in found if one.sources] == [{"llm": 1, "heuristic": 1}]
    assert [one.usd_micros for one in found] == [{}] * 6, "what costs nothing is no figure"
    both = joined(found[2], found[4])
    assert (both.tick, both.ticks, both.tokens, both.late) == (5, found[2].ticks + found[4].ticks, {"think": 12}, 1)
    assert joined(found[2], found[3]).tokens == {"think": 7}


def test_each_fact_of_a_job_is_counted_once() -> None:
    found = totals()
    assert found.jobs["think"] == {
        "decision": {"admitted": 3},
        "end": {"applied": 2},
        "source": {"llm": 1, "heuristic": 1},
        "reason": {"none": 1, "late": 1},
    }
    assert found.jobs["muse"]["reason"] == {"denied": 1}
    assert found.refused == {"run kind:muse calls": 1}
    assert found.usage == {ANN: USED, BOB: Cost(calls=2, tokens=12)}
    assert [*found.open] == [OPEN.text()]


def test_closed_windows_are_forgotten_unless_an_open_job_names_them() -> None:
    found = totals(3)
    found.forget(["run:0"])
    assert {field.partition("|")[0] for field in found.view} == {"run:0"}
    found = totals(4)
    found.forget(["run:0"])
    assert {field.partition("|")[0] for field in found.view} == {"day:0", "run:0"}
    assert same_figures(totals(3), totals(3))
    assert totals(3).shortfalls, "a job ended late"
    assert not same_figures(msgspec.structs.replace(totals(3), shortfalls={}), totals(3))
    assert not same_figures(totals(3), totals(4))


def test_kept_facts_match_the_journal() -> None:
    first, later = Facts(), Facts(morning=400)
    assert not wrong_facts({1: first}, RunTotals(facts={1: first}))
    assert not wrong_facts({4: later}, RunTotals(facts={1: first, 4: later})), "no open job uses the others"
    assert wrong_facts({1: first}, RunTotals(facts={1: first, 4: later})), "the newest are missing"
    assert wrong_facts({1: later}, RunTotals(facts={1: first}))
    assert wrong_facts({1: first, 4: later}, RunTotals(facts={1: first}))
    assert wrong_facts({}, RunTotals(facts={1: first}))
    assert not wrong_facts({0: first}, RunTotals(facts={0: first}))
    assert wrong_facts({1: first}, RunTotals())


def test_a_line_of_a_newer_version_is_refused_with_advice() -> None:
    with pytest.raises(JournalError, match=f"tick 1: its line has schema {SCHEMA + 1}, .*: upgrade"):
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


def test_a_job_without_room_for_another_attempt_names_the_empty_pool() -> None:
    ends = tuple(Ended(key=key, end="applied", reason="failed") for key in (SOON, LATE))
    notes = tuple(
        EndNote(key=key, source="heuristic", attempts=1, failure="timeout", empty=empty)
        for key, empty in ((SOON, "day:0 run calls"), (LATE, ""))
    )
    store = store_of(lines(ticks=[TICKS[0], ({"ended": ends}, {"ended": notes})]))
    found = recent_ticks(store, "town", LimitTable({}), 9)
    assert [one.why for one in found.failed] == [
        "",
        "attempt refused: the retry pool of day.run.calls is empty, or overruns used up the limit",
    ]
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


def test_failed_and_unrequested_jobs_are_complete() -> None:
    dropped = JobKey(1, "muse", CY, 3, 0)
    ticks: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"decided": (decided(LATE), decided(dropped, "dropped", "too_slow"))}, {"opened": opened(LATE)}),
        (
            {"ended": (Ended(key=LATE, end="applied", reason="late"),)},
            {"ended": (EndNote(key=LATE, source="heuristic", attempts=2),)},
        ),
    ]
    found = recent_ticks(store_of(lines(ticks=ticks)), "town", LimitTable({}), 9)
    assert found.failed == (
        Failed(id=f"town/{LATE.text()}", kind="think", owner=BOB, tick=1, ended=2, failure="late", attempts=2),
        Failed(id=f"town/{dropped.text()}", kind="muse", owner=CY, tick=1, ended=1, failure="too_slow", attempts=0),
    )
    assert found.failures == {"late": 1}, "a separate class where no model failed"
    assert (found.kinds["muse"].attempts, found.kinds["muse"].most_attempts) == (0, 0)


@pytest.mark.parametrize(
    ("reason", "failed"),
    [("failed", 1), ("late", 1), ("dead", 1), ("none", 0), ("denied", 0), ("cancelled", 0), ("stale", 0)],
)
def test_only_failed_jobs_are_failures(reason: Any, failed: int) -> None:
    ends = {"ended": (Ended(key=SOON, end="applied", reason=reason),)}
    note = {"ended": (EndNote(key=SOON, source="heuristic", attempts=1, failure="server"),)}
    found = recent_ticks(store_of(lines(ticks=[TICKS[0], (ends, note)])), "town", LimitTable({}), 9)
    assert (len(found.failed), found.failures) == (failed, {"server": 1} if failed else {})
    assert found.kinds["think"].reasons == ({} if reason == "none" else {reason: 1})


def test_a_run_without_a_tick_has_no_newest_ones() -> None:
    found = recent_ticks(store_of([]), "town", LimitTable({}), 9)
    assert (found.first, found.last, found.minute) == (1, 0, 0)
    assert (found.kinds, found.refused, found.owners, found.failures, found.failed) == ({}, {}, {}, {}, ())


def test_spenders_are_ordered_by_money_tokens_calls_and_name() -> None:
    spent = {
        "agent:d": Cost(calls=1, tokens=9, usd_micros=5),
        "agent:c": Cost(calls=1, tokens=50, usd_micros=4),
        "agent:b": Cost(calls=2, tokens=40, usd_micros=4),
        "agent:a": Cost(calls=3, tokens=40, usd_micros=4),
        "agent:f": Cost(calls=2, tokens=40, usd_micros=4),
        "agent:e": Cost(),
    }
    keys = {owner: JobKey(1, "think", owner, 0, 0) for owner in reversed(spent)}
    ticks: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"decided": tuple(decided(key) for key in keys.values())}, {"opened": opened(*keys.values())}),
        ({}, {"retried": tuple(Retried(key, spent[owner]) for owner, key in keys.items())}),
    ]
    found = recent_ticks(store_of(lines(ticks=ticks)), "town", LimitTable({}), 9)
    assert [*found.owners.items()] == [
        (owner, spent[owner]) for owner in ("agent:d", "agent:c", "agent:a", "agent:b", "agent:f")
    ]
    assert found.kinds["think"].spent == Cost(calls=9, tokens=179, usd_micros=21)


def test_figures_of_several_ticks_are_added_up_or_those_of_the_last() -> None:
    one = Figures(
        tick=3,
        minute=30,
        ticks=2,
        tokens={"plan": 5, "act": 1},
        usd_micros={"plan": 7},
        sources={"llm": 1},
        late=1,
        cadence=500,
        causes={"late": 9},
        age=4,
        host_us=300,
    )
    later = Figures(
        tick=4,
        minute=40,
        ticks=3,
        tokens={"plan": 2},
        usd_micros={"act": 4},
        sources={"llm": 2, "cached": 1},
        late=2,
        cadence=1000,
        causes={"budget": 3},
        age=2,
        host_us=50,
    )
    assert joined(one, later) == Figures(
        tick=4,
        minute=40,
        ticks=5,
        tokens={"plan": 7, "act": 1},
        usd_micros={"plan": 7, "act": 4},
        sources={"llm": 3, "cached": 1},
        late=3,
        cadence=1000,
        causes={"budget": 3},
        age=4,
        host_us=350,
    )
    assert one.tokens == {"plan": 5, "act": 1}, "it is not changed"
    unknown = Figures(tick=5, minute=50)
    for pair in ((one, unknown), (unknown, one)):
        assert (joined(*pair).age, joined(*pair).host_us) == (4, None)
    assert joined(unknown, unknown).age is None


def test_a_waiting_answer_counts_its_usage_until_its_end() -> None:
    timed = Timed(LATE, "default", 0, 1, USED)
    ticks = [TICKS[0], ({}, {"timed": (timed, timed._replace(key=OPEN), timed._replace(used=Cost()))}), *TICKS[2:]]
    store = store_of(lines(ticks=ticks))
    found = RunTotals()
    tokens = []
    for line in read_journal(store, 1, 6):
        found.add(line)
        tokens.append(found.view["run:0|run|tokens"])
    assert tokens == [60, 37, 37, 67, 67, 44], "a job that ends without it counts in full again"


def test_a_tick_delivered_to_the_world_is_found_in_its_line() -> None:
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
        seen[:2],
        [*seen, (CY, third)],
        [seen[0], seen[1], (CY, msgspec.structs.replace(third, minute=6))],
        [seen[0], (BOB, third), seen[2]],
        [(BOB, first), *seen[1:]],
        [seen[0], seen[2]],
    ):
        assert not observed_again(other, core)
    assert observed_again([], Core(tick=1, minute=5))
    assert not observed_again([(ANN, first)], Core(tick=1, minute=5))


# -- open jobs, hosts and steering -------------------------------------------------------------------


def test_open_jobs_are_counted_by_state_with_the_longest_wait() -> None:
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
        RunHead("d", "running", True),
        RunHead("b", "running", False),
        RunHead("c", "paused", False),
        RunHead("a", "finished", False),
        RunHead("e", "unreadable", False),
    ]
    silent = store_of([], client, "g")
    client.hdel(silent.key("state"), "status")
    assert RunHead("g", "", False) in run_heads(client)
    newer = store_of([], client, "f")
    client.hset(newer.key("state"), "schema", SCHEMA + 1)
    assert "f" not in [head.run for head in run_heads(client)]


def test_a_run_without_a_live_host_is_marked() -> None:
    states = [
        RunHead("a", status, held).state for status in ("running", "paused", "finished") for held in (True, False)
    ]
    assert states == ["running", "running, no host", "paused", "paused, no host", "finished", "finished"]


def test_a_run_that_was_deleted_is_not_steered() -> None:
    with pytest.raises(RunMissing, match="the run was deleted meanwhile"):
        steering_of(store_of([]))


def steering(throttle: ThrottleState | None = None, **settings: Any) -> Any:
    chosen = Settings.tuned(**({"reflection_interval": 600} | settings))
    state: dict[str, Any] = {"settings": keep_settings(chosen)}
    if throttle is not None:
        state["steering"] = msgspec.json.encode(SteeringState(throttle=throttle))
        state |= {"postponed": msgspec.json.encode(Postponing()), "lag": 3, "host_us": 2500}
    return steering_of(store_of([], **state))


def test_the_steering_in_force_is_shown() -> None:
    before = steering()
    assert (before.mode, before.cadence, before.by, before.lag, before.host_ms) == (
        "running",
        1.0,
        "controller",
        0,
        None,
    )
    slowed = steering(ThrottleState(factor=500, causes={"late": 40}, pressing=("late",), postponed=4))
    assert (slowed.cadence, slowed.lag, slowed.host_ms, slowed.postponed) == (0.5, 3, 2.5, 4)
    assert (slowed.causes, slowed.pressing) == ({"late": 40}, ("late",))
    assert steering(ThrottleState(pinned=True)).by == "pinned"
    assert steering(throttle_auto=False).by == "settings"


@pytest.mark.parametrize(
    ("factor", "settings", "pinned", "interval"),
    [
        (FULL, {}, False, 600),
        (500, {}, False, 1200),
        (125, {}, False, 600 + 1440),
        (0, {}, False, 600 + 1440),
        (125, {}, True, 4800),
        (0, {}, True, None),
        (125, {"throttle_auto": False}, False, 4800),
        (2 * FULL, {}, False, 300),
    ],
)
def test_the_interval_between_reflections_ends_with_a_day_where_the_controller_decides(
    factor: int, settings: dict[str, Any], pinned: bool, interval: int | None
) -> None:
    found = steering(ThrottleState(factor=factor, pinned=pinned), **settings)
    assert (found.interval, found.usual) == (interval, 600)


def test_jobs_unrequested_for_a_slow_model_are_listed_apart_from_failures() -> None:
    dropped, kept = (JobKey(1, "think", ANN, nth, 0) for nth in (5, 6))
    ends = {"ended": (Ended(key=kept, end="applied", reason="too_slow"),)}
    ticks = [
        ({"decided": (decided(dropped, "dropped", "too_slow"), decided(kept, "heuristic", "too_slow"))}, {}),
        (ends, {"ended": (EndNote(key=kept, source="heuristic"),)}),
    ]
    found = recent_ticks(store_of(lines(ticks=ticks)), "town", LimitTable({}), 9)
    assert [(one.id, one.ended, one.failure) for one in found.failed] == [
        (f"town/{kept.text()}", 2, "too_slow"),
        (f"town/{dropped.text()}", 1, "too_slow"),
    ]
    assert found.failures == {}
    assert found.kinds["think"].reasons == {"too_slow": 2}
