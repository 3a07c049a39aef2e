"""At which tick a job is due: by a fixed number, by its model's latency, and not at all where that is too long."""

from __future__ import annotations

import pytest

from cogitate.memory.clock import Clock
from cogitate.scheduler.budget.rules import rules_of
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.tiers import ModelOption
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.latency.due_ticks import LONG_PAUSE, PAUSE, RUN_ENDS, TOO_SLOW, Bounds, DueTicks
from cogitate.scheduler.latency.latencies import Latencies, LatencyPrior
from cogitate.scheduler.ledger.answer_times import Timed
from cogitate.tasks.job import Cost, JobKey, Request
from cogitate.tasks.registry import kinds
from tests.unit.scheduler.scheduler_case import ANN, BOB, open_job

MODEL = "default"
OFFER = ModelOption(MODEL, 100, Cost(calls=1))
NONE = ModelOption("", 100, Cost(calls=1))
FIXED, BOUNDS = 3, Bounds(2, 60)


class Case:
    """The due ticks of one kind, and what is known of its model."""

    def __init__(self, bounds: Bounds | None = BOUNDS, minutes_per_tick: int = 1) -> None:
        self.known = Latencies()
        self.jobs: dict[JobKey, OpenJob] = {}
        self.due = DueTicks(
            fixed=lambda kind: FIXED,
            bounds_of=lambda kind: bounds,
            models_of=lambda kind: (MODEL,),
            known=self.known,
            jobs=self.jobs,
            clock=Clock(seconds_per_tick=60 * minutes_per_tick),
        )

    def learn(self, *ticks: int, at: int = 50) -> None:
        for one in ticks:
            key = JobKey(at - one, "act", ANN, 0, 0)
            self.known.take([Timed(key, MODEL, 0, one)], at, {key: None})

    def asked(self, tick: int, *, at: int = 0, within: int = 0, offer: ModelOption = OFFER) -> int | None:
        due = self.due.due_of(Request(kind="act", owner=ANN, at=at, within=within), tick, offer)
        return due if isinstance(due, int) else None

    def opens(self, tick: int, owner: str = ANN) -> JobKey:
        item = open_job("act", owner, tick=tick, due=tick + 99, model=MODEL)
        self.jobs[item.job.key] = item
        self.known.record_request("act", MODEL, tick)
        return item.job.key


def test_without_learning_a_job_is_due_after_a_fixed_number_of_ticks() -> None:
    case = Case(None)
    case.learn(*[40] * 10)
    assert case.asked(100) == 103
    assert case.asked(100, within=2) == 102
    assert case.asked(100, within=9) == 103
    assert case.asked(100, at=180) == 180
    assert case.due.lead("act", 25) == 0


def test_a_job_without_a_model_is_due_after_a_fixed_number_of_ticks() -> None:
    case = Case()
    case.learn(*[40] * 10)
    assert case.asked(100, offer=NONE) == 103


def test_a_job_is_due_when_its_answer_will_be_there() -> None:
    case = Case()
    assert case.asked(100) == 160  # nothing is known: as long as it is worth waiting
    case.learn(*[20] * 64)
    assert case.asked(100) == 126
    assert case.asked(100, at=180) == 180
    assert case.asked(100, at=110) == 126


def test_bounds_hold() -> None:
    case = Case(Bounds(10, 60))
    case.learn(*[1] * 64)
    assert case.asked(100) == 110
    case.learn(*[58] * 64)
    assert case.asked(100) == 160  # 73.5 with the margin, and yet all were there within 58


def test_a_job_that_would_be_late_is_not_requested() -> None:
    case = Case()
    case.learn(*[61] * 64)
    case.known.record_request("act", MODEL, 90)
    assert case.asked(100) is None
    assert case.due.fallback_due(Request(kind="act", owner=ANN), 100, TOO_SLOW) == 102
    assert case.due.fallback_due(Request(kind="act", owner=ANN, at=150), 100, TOO_SLOW) == 150
    assert case.due.fallback_due(Request(kind="act", owner=ANN), 100, "run calls") == 103


def test_a_job_that_cannot_wait_is_refused_and_is_no_probe() -> None:
    case = Case()
    case.learn(*[20] * 64)
    assert case.asked(5_000, within=26) == 5_026
    assert case.asked(5_000, within=20) == 5_020  # all answers were there by then
    assert case.asked(5_000, within=19) is None


def test_a_kind_that_is_too_slow_is_tried_again_and_after_two_slow_in_turn_more_rarely() -> None:
    case = Case()
    tick, pauses = 1_000, []
    case.learn(*[100] * 20, at=tick)
    case.known.record_request("act", MODEL, tick)
    for _ in range(6):
        before = tick
        while case.asked(tick) is None:
            tick += 1
        assert case.asked(tick) == tick + BOUNDS.most
        pauses.append(tick - before)
        case.known.record_request("act", MODEL, tick)
        case.learn(100, at=tick + 100)
    assert pauses == [PAUSE, *[LONG_PAUSE] * 5]


def test_a_crowd_that_was_late_is_one_try() -> None:
    case = Case()
    case.learn(*[20] * 20, at=500)
    case.known.record_request("act", MODEL, 1_000)
    for ticks in range(61, 90):  # all asked for at 1,000
        case.learn(ticks, at=1_000 + ticks)
    assert case.known.slow_in_turn("act", MODEL, 60) == 1
    assert case.asked(1_000 + PAUSE - 1) is None
    assert case.asked(1_000 + PAUSE) is not None


def test_one_try_runs_at_a_time_and_a_success_allows_the_next() -> None:
    case = Case()
    case.learn(*[100] * 20, at=1_000)
    case.known.record_request("act", MODEL, 1_000)
    tick = 1_000 + PAUSE
    first = case.opens(tick)
    case.due.record_admission("act", MODEL, tick)
    assert case.asked(tick + LONG_PAUSE) is None
    case.known.take([Timed(first, MODEL, 0, 30)], tick + 30, case.jobs)
    assert case.asked(tick + 30) is not None
    case.due.record_admission("act", MODEL, tick + 30)
    assert case.asked(tick + 30) is None


def test_a_kind_is_trusted_again_after_a_few_good_tries() -> None:
    case = Case()
    case.learn(*[100] * 64, at=1_000)
    for at in range(6):
        case.learn(20, at=2_000 + 20 * at)
    assert case.asked(3_000) is not None
    case.due.record_admission("act", MODEL, 3_000)
    assert case.asked(3_000) is not None


def test_before_any_answer_a_wait_is_at_least_the_longest_failed_one() -> None:
    case = Case()
    waiting = case.opens(100)
    assert case.asked(160) == 220
    assert case.asked(161) is None
    case.known.take([Timed(waiting, MODEL, 0, 65)], 165, case.jobs)
    assert case.asked(166) is None  # it is known to be too slow
    case.learn(*[20] * 8, at=170)
    assert case.asked(171) is not None


def test_jobs_of_the_same_tick_wait_behind_one_another() -> None:
    case = Case(Bounds(2, 10_000))
    for ahead in range(100):
        key = JobKey(900, "act", ANN, ahead, 0)
        ticks = 40 * (1 + ahead // 16)
        case.known.take([Timed(key, MODEL, ahead, ticks)], 1_500, {key: None})
    found = []
    for _ in range(60):
        found.append(case.asked(2_000))
        case.due.record_admission("act", MODEL, 2_000)
    assert found == sorted(found, key=lambda due: due or 0)
    assert found[0] is not None
    assert found[-1] is not None
    assert found[-1] - found[0] >= 3 * 40


def test_an_answered_job_is_not_in_the_queue() -> None:
    case = Case()
    first, second = case.opens(100, ANN), case.opens(100, BOB)
    assert case.due.ahead("act", MODEL, 101) == 2
    case.known.take([Timed(first, MODEL, 0, 3)], 103, case.jobs)
    assert case.due.ahead("act", MODEL, 103) == 1
    del case.jobs[second]
    assert case.due.ahead("act", MODEL, 104) == 0


def test_an_assumed_model_gets_the_longest_lead() -> None:
    case = Case(Bounds(2, 480))
    case.known.prior = LatencyPrior(usual={MODEL: 40.0}, queue={MODEL: 1.0}, assumed=[MODEL])
    assert case.asked(100) == 221
    assert case.due.lead("act", 25) == 480
    case.learn(*[20] * 20)
    assert case.due.lead("act", 25) < 480


def test_a_job_due_after_the_last_tick_is_not_requested() -> None:
    case = Case()
    case.learn(*[20] * 64)
    case.due.last = 126
    assert case.asked(100) == 126
    assert case.due.due_of(Request(kind="act", owner=ANN), 101, OFFER) == RUN_ENDS


def test_the_pauses_are_of_game_time() -> None:
    case = Case(minutes_per_tick=10)
    case.known.record_request("act", MODEL, 1_000)
    case.learn(*[100] * 20, at=1_000)
    assert case.asked(1_000 + PAUSE // 10 - 1) is None
    assert case.asked(1_000 + PAUSE // 10) is not None


def test_the_lead_covers_the_last_of_a_crowd() -> None:
    case = Case(Bounds(2, 480))
    assert case.due.lead("plan", 25) == 480
    case.learn(*[20] * 64)
    alone, crowd = case.due.lead("act", 1), case.due.lead("act", 60)
    assert alone == 2 * 26, "twice as early as needed"
    assert alone < crowd <= 480


@pytest.mark.parametrize(
    ("changed", "adapts"),
    [
        ({}, False),
        ({"tick_rate": 20.0}, True),
        ({"tick_rate": 20.0, "wait": 1.0}, False),
        ({"wait": 0.0}, False),
        ({"tick_rate": 20.0, "adaptive_latency": False}, False),
        ({"adaptive_latency": True}, True),
        ({"tick_rate": 20.0, "llm": "heuristic"}, False),
        ({"adaptive_latency": True, "llm": "heuristic"}, False),
    ],
)
def test_due_ticks_follow_the_model_where_ticks_do_not_wait(changed: dict[str, object], adapts: bool) -> None:
    settings = Settings.tuned(**({"llm": "openai", "limit_tokens": 1_000} | changed))  # type: ignore[arg-type]
    rules = rules_of(settings, kinds(), lambda owner: {})
    assert settings.adapts() is adapts
    assert {kind.name for kind in rules.kinds if rules.bounds_of(kind)} == (
        {kind.name for kind in rules.kinds if kind.output_cap} if adapts else set()
    )


def test_bounds_are_game_time_and_a_fixed_kind_has_none() -> None:
    settings = Settings(
        llm="openai", limit_tokens=1_000, tick_rate=1.0, seconds_per_tick=600, latency={"reflect": 4}, act_interval=6
    )
    rules = rules_of(settings, kinds(), lambda owner: {})
    found = {kind.name: rules.bounds_of(kind) for kind in rules.kinds}
    assert found["plan"] == Bounds(1, 48)
    assert found["act"] == Bounds(1, 3)  # half of its interval
    assert found["reflect"] is None
    assert rules.latency("reflect") == 4


def test_a_job_that_may_wait_is_requested_despite_other_long_waits() -> None:
    case = Case()
    case.learn(*[20] * 64)
    case.opens(1, BOB)
    due = case.asked(500)
    assert due is not None
    assert due - 500 < BOUNDS.most


@pytest.mark.parametrize("first", [1, 50])
def test_before_any_answer_the_longest_wait_counts(first: int) -> None:
    case = Case()
    for tick, owner in ((first, ANN), (51 - first, BOB)):
        case.opens(tick, owner)
    assert case.asked(61) is not None, "sixty ticks are not too long"
    assert case.asked(62) is None


@pytest.mark.parametrize("crowd", [1, 2, 9])
def test_the_last_of_a_crowd_has_all_others_ahead_of_it(crowd: int) -> None:
    case = Case(Bounds(2, 480))
    case.known.prior = LatencyPrior(usual={MODEL: 20.0}, queue={MODEL: 3.0})
    need = case.known.need("act", MODEL, crowd - 1)
    assert need is not None
    assert case.due.lead("act", crowd) == 2 * need
    assert case.due.lead("act", 10_000) == 480


def test_an_untried_kind_is_probed_despite_its_slow_model() -> None:
    case = Case()
    for number in range(8):
        key = JobKey(1 + number, "plan", ANN, 0, 0)
        case.known.take([Timed(key, MODEL, 0, 90)], 91 + number, {key: None})
    assert case.known.since("act", MODEL) == 0
    assert case.asked(100) == 100 + BOUNDS.most
    case.opens(100)
    assert case.asked(101) is None, "never two at a time"


def test_an_ended_job_waits_no_longer() -> None:
    case = Case()
    first = case.opens(1)
    assert case.asked(2) == 2 + BOUNDS.most
    assert case.asked(100) is None, "one has waited for an answer for longer than this one may"
    del case.jobs[first]
    assert case.asked(101) == 101 + BOUNDS.most
    case.opens(90)
    assert case.asked(110) == 110 + BOUNDS.most
