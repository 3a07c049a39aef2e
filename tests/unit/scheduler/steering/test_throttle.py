"""Throttling: the controller's steps, who is let through, and that nothing is lost on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory import typed_json
from cogitate.memory.entry import Entry
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.budget import BudgetView, Cell
from cogitate.scheduler.budget.rules import ThrottleRules
from cogitate.scheduler.config.controls import FULL, SetCadence
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.journal.lines import Ended
from cogitate.scheduler.ledger.claims import Reason
from cogitate.scheduler.steering.postponing import Postponing
from cogitate.scheduler.steering.throttle import Seen, Throttle, burn, judge
from cogitate.tasks.job import Cost, JobKey, Request

HOUR = 60
OWNERS = [f"agent:{n}" for n in range(6)]
FREE = BudgetView(LimitTable({}), retry_share=0.2, guarantees={})


def ended(reason: Reason, count: int, tick: int) -> list[Ended]:
    return [Ended(key=JobKey(tick - 5, "plan", f"agent:{n}", 0, 0), end="applied", reason=reason) for n in range(count)]


def lived(throttle: Throttle, hours: Sequence[tuple[Reason, int]]) -> list[int]:
    """The cadence after each hour in which so many jobs ended so."""
    found = []
    for hour, (reason, count) in enumerate(hours, 1):
        throttle.see(ended(reason, count, hour * HOUR - 1), hour * HOUR - 1)
        throttle.step(FREE, hour * HOUR, hour * HOUR - 1)
        found.append(throttle.state.factor)
    return found


@pytest.mark.parametrize("reason", ["late", "failed", "dead"])
def test_an_outage_halves_the_cadence_at_once_and_it_comes_back_in_as_many_steps(reason: Reason) -> None:
    well: list[tuple[Reason, int]] = [("none", 9)] * 5
    found = lived(Throttle(ThrottleRules()), [*well[:2], *[(reason, 9)] * 5, *well])
    assert found == [1000, 1000, 500, 250, 125, 125, 125, 250, 500, 1000, 1000, 1000]


def test_a_little_trouble_neither_slows_nor_hurries() -> None:
    throttle = Throttle(ThrottleRules())
    lived(throttle, [("late", 9)])
    for _ in range(10):
        throttle.see([*ended("none", 19, 10), *ended("failed", 2, 10)], 10)
        throttle.step(FREE, HOUR, HOUR - 1)
        assert throttle.state.factor == 500, "two of 21 are above easing and below pressing"


def test_one_unlucky_job_is_neither_pressure_nor_relief() -> None:
    assert lived(Throttle(ThrottleRules()), [("failed", 1), ("failed", 2), ("failed", 1)]) == [1000, 500, 500]


def test_idle_hours_relax_the_throttle_only_after_several() -> None:
    quiet: list[tuple[Reason, int]] = [("none", 0)] * 9
    found = lived(Throttle(ThrottleRules()), [("late", 9), ("late", 9), *quiet])
    assert found == [500, 250, 250, 250, 250, 500, 500, 500, 500, 1000, 1000]


def test_refused_and_cancelled_jobs_are_not_pressure() -> None:
    assert lived(Throttle(ThrottleRules()), [("denied", 99), ("cancelled", 99)]) == [1000, 1000]


def test_a_pinned_cadence_stays_and_a_set_one_does_not() -> None:
    throttle = Throttle(ThrottleRules())
    throttle.set(SetCadence("reflect", 400))
    assert lived(throttle, [("none", 5)]) == [800]
    throttle.set(SetCadence("reflect", 300, True))
    assert lived(throttle, [("none", 5), ("late", 9)]) == [300, 300]
    throttle.set(SetCadence("reflect", None, False))
    assert lived(throttle, [("late", 9), ("none", 9)]) == [150, 300]
    throttle.set(SetCadence("reflect", 0))
    assert lived(throttle, [("late", 9), ("none", 9)]) == [0, 125]


def test_without_the_controller_only_operators_decide() -> None:
    throttle = Throttle(ThrottleRules(auto=False))
    assert lived(throttle, [("late", 9)]) == [1000]
    throttle.set(SetCadence("reflect", 500))
    assert lived(throttle, [("none", 9)] * 3) == [500] * 3
    assert throttle.step(FREE, 9 * HOUR, 9 * HOUR - 1) is None, "what decides nothing is not journalled"


def test_a_step_is_journalled_with_its_causes_and_inaction_is_not() -> None:
    throttle = Throttle(ThrottleRules())
    throttle.see(ended("none", 3, 9), 9)
    assert throttle.step(FREE, HOUR, HOUR - 1) is None
    throttle.see(ended("late", 4, 80), 80)
    assert throttle.step(FREE, HOUR + 1, HOUR) is None, "no interval is over"
    line = throttle.step(FREE, 2 * HOUR, 2 * HOUR - 1)
    assert line is not None
    assert (line.before, line.factor, line.ended, line.late, line.oldest) == (1000, 500, 4, 4, 5)


@pytest.mark.parametrize(
    ("minute", "used", "expected"),
    [(720, 39, 0), (720, 40, 100), (720, 64, 160), (360, 48, 240), (1200, 72, 108), (0, 48, 0)],
)
def test_the_budget_presses_once_half_of_its_room_is_gone_too_early(minute: int, used: int, expected: int) -> None:
    view = BudgetView(LimitTable({"day.kind:reflect.calls": 100}), retry_share=0.2, guarantees={})
    view.move([Cell("day:0", "kind:reflect")], Cost(), Cost(calls=used))
    assert burn(view, "reflect", minute) == expected
    verdict = judge(Seen(ended=9), expected)
    assert verdict.pressing == (("budget",) if expected >= 150 else ())
    assert verdict.easing == (expected <= 110)


@pytest.mark.parametrize(
    ("seen", "pace", "pressing", "easing"),
    [
        (Seen(ended=20, late=2), 0, ("late",), False),
        (Seen(ended=21, late=2), 0, (), False),
        (Seen(ended=5, late=1), 0, (), False),
        (Seen(ended=100, late=2), 0, (), True),
        (Seen(ended=100, late=3), 0, (), False),
        (Seen(ended=8, failed=2), 0, ("failed",), False),
        (Seen(ended=100, failed=24), 0, (), False),
        (Seen(ended=2, failed=1), 0, (), False),
        (Seen(ended=100, failed=5), 0, (), True),
        (Seen(ended=100, failed=6), 0, (), False),
        (Seen(ended=9), 149, (), False),
        (Seen(ended=9), 150, ("budget",), False),
        (Seen(ended=9), 110, (), True),
        (Seen(ended=9), 111, (), False),
        (Seen(ended=4, late=2, failed=2), 150, ("late", "failed", "budget"), False),
        (Seen(), 0, (), True),
    ],
)
def test_pressure_starts_and_ends_exactly_at_its_thresholds(
    seen: Seen, pace: int, pressing: tuple[str, ...], easing: bool
) -> None:
    verdict = judge(seen, pace)
    assert (verdict.pressing, verdict.easing) == (pressing, easing)


@pytest.mark.parametrize(
    ("reason", "counts"),
    [
        ("none", (1, 0, 0, 0)),
        ("late", (1, 1, 0, 7)),
        ("failed", (1, 0, 1, 0)),
        ("dead", (1, 0, 1, 0)),
        ("stale", (1, 0, 0, 0)),
        ("denied", (0, 0, 0, 0)),
        ("too_slow", (0, 0, 0, 0)),
        ("cancelled", (0, 0, 0, 0)),
    ],
)
def test_only_jobs_that_a_worker_was_to_do_count_as_ended(reason: Reason, counts: tuple[int, ...]) -> None:
    seen = Seen().with_ended(reason, 7)
    assert (seen.ended, seen.late, seen.failed, seen.oldest) == counts


def test_the_oldest_late_job_is_the_slowest() -> None:
    ages = [0, 3, 9, 4]
    oldest, seen = [], Seen()
    for age in ages:
        seen = seen.with_ended("late", age).with_ended("none", 99)
        oldest.append(seen.oldest)
    assert oldest == [0, 3, 9, 9]


def test_without_limits_the_budget_does_not_throttle() -> None:
    assert burn(FREE, "reflect", 720) == 0


def test_causes_are_percentages_of_ended_jobs() -> None:
    assert judge(Seen(ended=1, late=1), 0).causes == {"late": 100}
    assert judge(Seen(ended=8, late=1, failed=2), 40).causes == {"late": 12, "failed": 25, "budget": 40}


def sift(
    postponing: Postponing,
    due: list[str],
    factor: int,
    minute: int = 0,
    last_call: bool = False,
    **salience: int,
) -> list[str]:
    owners, postponed = postponing.sift(
        due, factor=factor, minute=minute, interval=720, last_call=last_call, salience=lambda o: salience.get(o[-1], 0)
    )
    assert set(postponed) <= postponing.waiting.keys()
    return owners


def test_at_full_cadence_every_due_owner_thinks() -> None:
    assert sift(Postponing(), OWNERS, FULL) == OWNERS


def test_a_postponed_importance_trigger_fires_again_after_as_much_importance() -> None:
    postponing = Postponing()
    common = {"factor": 500, "interval": 10_000, "last_call": False, "enough": 100}

    def at(minute: int, happened: int) -> list[str]:
        passed = postponing.sift(["agent:a"], minute=minute, salience=lambda _: happened, **common)  # type: ignore[arg-type]
        return passed.owners

    assert at(0, 105) == []
    assert at(1, 150) == [], "it is due all the while, and brings no credit for that"
    assert at(2, 205) == ["agent:a"]
    assert at(3, 100) == [], "the next is half as often again"


def test_at_one_half_every_second_owner_thinks_most_salient_first() -> None:
    postponing = Postponing()
    assert sift(postponing, ["agent:a"], 500, a=1) == []
    assert sift(postponing, ["agent:b"], 500, a=1, b=9) == ["agent:b"]
    assert sift(postponing, ["agent:c"], 500, a=1, c=1) == []
    assert sift(postponing, ["agent:d"], 500, a=1, c=1, d=1) == ["agent:a"], "of equals who has waited longest"
    assert sorted(postponing.waiting) == ["agent:c", "agent:d"]


def test_at_cadence_zero_no_owner_thinks_and_all_are_remembered() -> None:
    postponing = Postponing()
    for minute in range(0, 7200, 60):
        assert sift(postponing, OWNERS, 0, minute) == []
    assert {waiting.times for waiting in postponing.waiting.values()} == {10}, "once an interval"


def test_a_thought_takes_a_whole_credit_and_no_credit_is_there_to_begin_with() -> None:
    thirds = Postponing()
    assert sift(thirds, OWNERS[:3], 333) == [], "three thirds of it are not quite one"
    assert sift(Postponing(), OWNERS[:4], 250) == OWNERS[:1]
    assert sift(thirds, OWNERS[3:4], 333) == OWNERS[:1]
    assert thirds.credit == 332, "what is left over counts for the next"


def test_a_postponed_owner_is_due_again_exactly_one_interval_later() -> None:
    postponing = Postponing()
    common = {"factor": 0, "interval": 720, "last_call": False, "salience": lambda owner: 0}
    first = postponing.sift(OWNERS, minute=5, **common)  # type: ignore[arg-type]
    assert first.postponed == OWNERS
    assert postponing.sift([], minute=724, **common).postponed == []  # type: ignore[arg-type]
    assert postponing.sift([], minute=725, **common).postponed == OWNERS, "in order of their names"  # type: ignore[arg-type]
    assert {(was.since, was.again, was.times) for was in postponing.waiting.values()} == {(5, 1445, 2)}


def test_credit_of_one_pressure_is_not_spent_in_the_next() -> None:
    postponing = Postponing()
    assert sift(postponing, OWNERS[:1], 999) == []
    assert sift(postponing, [], FULL) == OWNERS[:1], "as usual again: who waited thinks"
    assert sift(postponing, OWNERS[1:2], 500) == []
    assert postponing.credit == 500


def test_owners_that_left_or_thought_otherwise_wait_no_more() -> None:
    postponing = Postponing()
    sift(postponing, OWNERS[:2], 0)
    postponing.forget(OWNERS[0])
    postponing.forget("agent:nobody")
    assert sift(postponing, [], FULL) == OWNERS[1:2]


def test_importance_counts_from_the_last_credit() -> None:
    postponing = Postponing()
    common = {"factor": 1, "interval": 10_000, "last_call": False, "enough": 100}

    def postponed(due: list[str], happened: int) -> list[str]:
        return postponing.sift(due, minute=0, salience=lambda _: happened, **common).postponed  # type: ignore[arg-type]

    assert postponed(["agent:a"], 50) == ["agent:a"]
    assert postponed(["agent:a"], 149) == []
    assert postponed([], 150) == [], "only who is due at this tick, by its usual cadence, brings credit"
    assert postponed(["agent:a"], 150) == ["agent:a"]
    assert postponed(["agent:a"], 249) == []


def test_no_owner_waits_beyond_a_last_call() -> None:
    postponing, thought = Postponing(), list[tuple[int, str]]()
    for minute in range(0, 1440, 10):
        due = ["agent:a"] if minute == 0 else ["agent:b"] if minute == 1400 else []
        thought += [(minute, owner) for owner in sift(postponing, due, 125, minute, last_call=minute >= 1380)]
    assert thought == [(1380, "agent:a"), (1400, "agent:b")]
    assert postponing.credit == 0


def test_at_a_last_call_waiting_owners_think_in_order_of_name() -> None:
    postponing = Postponing()
    for owner in reversed(OWNERS):
        sift(postponing, [owner], 0)
    assert sift(postponing, [], 0, 1, last_call=True, **{"3": 9}) == OWNERS


def test_owners_postponed_by_a_version_without_importance_count_all_of_it() -> None:
    raw = b'{"credit":500,"waiting":{"agent:a":{"since":1,"again":900,"times":1}}}'
    for happened, thinks in ((99, []), (100, ["agent:a"])):
        postponing = typed_json.decode(raw, Postponing)
        passed = postponing.sift(
            ["agent:a"],
            factor=500,
            minute=2,
            interval=720,
            last_call=False,
            salience=lambda _, happened=happened: happened,  # type: ignore[misc]
            enough=100,
        )
        assert passed.owners == thinks


def test_waiting_owners_pass_a_few_at_a_time() -> None:
    postponing = Postponing()
    many = [f"agent:{n:03}" for n in range(90)]
    sift(postponing, many, 0)
    counts = []
    while postponing.waiting:
        counts.append(len(sift(postponing, [], FULL, 1)))
    assert counts[:3] == [3, 3, 3]
    assert sum(counts) == 90


@pytest.mark.parametrize(("waiting", "think"), [(1, 1), (30, 1), (31, 2), (60, 2), (61, 3)])
def test_most_waiting_owners_think_within_thirty_ticks(waiting: int, think: int) -> None:
    postponing = Postponing()
    sift(postponing, [f"agent:{n:03}" for n in range(waiting)], 0)
    assert len(sift(postponing, [], FULL, 1)) == think


@given(
    st.integers(0, FULL),
    st.lists(st.tuples(st.sampled_from(OWNERS), st.integers(0, 10)), min_size=1, max_size=60),
)
def test_the_share_that_thinks_is_the_cadence_and_no_owner_is_lost(factor: int, calls: list[tuple[str, int]]) -> None:
    postponing, minute = Postponing(), 0
    due, thought = 0, Counter[str]()
    weights: Counter[str] = Counter()
    for owner, weight in calls:
        minute += 100
        weights[owner] = weight
        before = dict(postponing.waiting)
        owners, postponed = postponing.sift(
            [owner], factor=factor, minute=minute, interval=720, last_call=False, salience=weights.__getitem__
        )
        due += (owner not in before) + sum(waiting.again <= minute for waiting in before.values())
        thought.update(owners)
        assert not set(owners) & set(postponing.waiting)
        assert {owner, *before} == set(owners) | set(postponing.waiting)
        assert set(postponed) <= set(postponing.waiting)
        assert 0 <= postponing.credit < FULL, "a full credit is spent at once"
    assert thought.total() * FULL <= factor * due
    assert thought.total() * FULL > factor * due - FULL or not postponing.waiting or factor == FULL


def test_a_throttle_reevaluates_owners_that_it_admits_later() -> None:
    throttle = Throttle(ThrottleRules())
    throttle.set(SetCadence("reflect", 500, True))
    streams = {owner: Stream(owner) for owner in ("agent:a", "agent:b")}
    streams["agent:a"].append(Entry(type="observation", text="a fire", minute=1, importance=9), 1)
    plan = Request(kind="plan", owner="agent:b")

    def asked(*owners: str) -> tuple[list[Request], list[str]]:
        due = [plan, *(Request(kind="reflect", owner=owner) for owner in owners)]
        requests, postponed = throttle.sift(
            due,
            streams,
            minute=5,
            before=4,
            interval=720,
            again=lambda kind, owner: [Request(kind=kind, owner=owner, priority=7)],
        )
        return requests, [line.owner for line in postponed]

    assert asked("agent:a") == ([plan], ["agent:a"])
    assert asked("agent:b") == ([plan, Request(kind="reflect", owner="agent:a", priority=7)], ["agent:b"])
    assert throttle.state.postponed == 2


def test_no_owner_waits_beyond_the_last_hour_unless_an_operator_says_so() -> None:
    def thinks(minute: int, *, pinned: bool = False, auto: bool = True, step: int = 1) -> bool:
        throttle = Throttle(ThrottleRules(auto=auto))
        throttle.set(SetCadence("reflect", 1, pinned))
        due = [Request(kind="reflect", owner="agent:a")]
        requests, postponed = throttle.sift(
            due,
            {"agent:a": Stream("agent:a")},
            minute=minute,
            before=minute - step,
            interval=720,
            again=lambda kind, owner: (),
        )
        assert len(requests) + len(postponed) == 1
        assert throttle.state.postponed == len(postponed)
        return bool(requests)

    hours = (1379, 1380, 1439, 1440, 1440 + 1379, 1440 + 1380)
    assert [thinks(minute) for minute in hours] == [False, True, True, False, False, True]
    assert [thinks(minute, step=480) for minute in (480, 960, 1440)] == [False, True, False], "the last tick of a day"
    assert thinks(1440, step=1440)
    assert not thinks(1380, pinned=True)
    assert not thinks(1380, auto=False)


def test_a_pinned_cadence_stays_until_changed() -> None:
    throttle = Throttle(ThrottleRules())
    throttle.set(SetCadence("reflect", 300, True))
    throttle.set(SetCadence("reflect", 200))
    assert lived(throttle, [("none", 9), ("late", 9)]) == [200, 200]
    throttle.set(SetCadence("reflect", None, True))
    assert throttle.state.factor == 200


def test_pressure_at_the_slowest_cadence_is_journalled() -> None:
    throttle = Throttle(ThrottleRules(least=FULL))
    throttle.see(ended("late", 9, 9), 9)
    line = throttle.step(FREE, HOUR, HOUR - 1)
    assert line is not None
    assert (line.before, line.factor, line.late) == (FULL, FULL, 9)
