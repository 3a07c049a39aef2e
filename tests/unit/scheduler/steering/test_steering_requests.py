"""What a run does with operators' requests: each is applied or refused once, answered, and kept for who resumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate.memory import typed_json
from cogitate.memory.entry import Entry
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.admission import AdmissionRound
from cogitate.scheduler.budget.budget import BudgetView
from cogitate.scheduler.budget.rules import Rules
from cogitate.scheduler.config.controls import (
    MOST_CANCELLED,
    CalledOff,
    CancelJobs,
    Control,
    ControlAnswer,
    ControlRequest,
    Retry,
    SetCadence,
    SetLimit,
    SetMode,
)
from cogitate.scheduler.config.limits import MAX_LIMIT, LimitTable
from cogitate.scheduler.config.tiers import ModelOption
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.steering.steering import MOST_ANSWERS, Steering, read_steering
from cogitate.tasks.job import Cost, JobKey
from tests.unit.scheduler.scheduler_case import ANN, BOB, Thinker, fixed_ticks

KINDS = (Thinker("plan", output_cap=10), Thinker("reflect", output_cap=10))
FIRST = {"run.run.calls": 50, "day.run.calls": 20}
JOB = "7/plan/agent:ann/0/0"


class Host:
    """A host's steering, and the run that it writes to."""

    def __init__(
        self, store: RunStore | None = None, *, model: str = "default", unpriced: tuple[str, ...] = ()
    ) -> None:
        self.rules = Rules(
            kinds=KINDS,
            offers_of=lambda kind, tier: [ModelOption(model, 10, Cost(calls=1))],
            latency_of=lambda kind: 1,
            brief=lambda owner: {},
            unpriced=unpriced,
        )
        self.view = BudgetView(LimitTable(FIRST), retry_share=0.0, guarantees={})
        self.steering = Steering(self.rules, self.view)
        self.store = store or RunStore.of(FakeRedis(), "town", "now")
        if store is not None:
            self.steering.load(store)

    def take(self, *controls: Control | None, tick: int = 7) -> tuple[Control, ...]:
        asked = [None if one is None else ControlRequest(f"id{n}", one) for n, one in enumerate(controls)]
        return self.steering.take(asked, tick, tick, self.call_off)

    def call_off(self, keys: Iterable[JobKey], because: str) -> tuple[int, int]:
        """Find the jobs of plan open, and those of reflect held."""
        found = Counter(key.kind for key in keys)
        return found["plan"], found["reflect"]

    def answers(self) -> list[ControlAnswer]:
        return [*self.steering._answers]

    def refusal(self, control: Control) -> str:
        """Why a request is refused; "": it is applied."""
        self.take(control)
        return self.answers()[-1].refused

    def write(self) -> dict[str, list[Write]]:
        """Write what a tick writes, and return it by key."""
        found: dict[str, list[Write]] = {}
        for write in self.steering.take_writes():
            self.store.client.execute_command(write.command, self.store.prefix + write.key, *write.args)
            found.setdefault(write.key, []).append(write)
        self.steering.take_answers()
        return found

    def state(self, *fields: str) -> list[bytes | None]:
        return self.store.state(*fields)


@pytest.fixture
def host() -> Host:
    return Host()


# -- limits ------------------------------------------------------------------------------------------


def test_a_limit_holds_from_the_next_admission_on_under_its_full_name(host: Host) -> None:
    control = SetLimit("day.calls", 3)
    assert host.take(control) == (control,)
    assert {name.text(): value for name, value in host.view.table} == FIRST | {"day.run.calls": 3}
    host.take(SetLimit("day.run.calls", None), tick=8)
    assert {name.text(): value for name, value in host.view.table} == {"run.run.calls": 50}


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("day.kind:plan.calls", 0, ""),
        ("day.kind:plan.calls", MAX_LIMIT, ""),
        ("day.kind:*.calls", 3, ""),
        ("day.kind:plan.calls", -1, "is not between 0"),
        ("day.kind:plan.calls", MAX_LIMIT + 1, "is not between 0"),
        ("day.kind:hum.calls", 3, "there is no kind 'hum'; there are plan, reflect"),
        ("year.run.calls", 3, "year"),
        ("run.run.calls", None, "only overall limit"),
        ("day.run.calls", None, ""),
    ],
)
def test_an_invalid_limit_is_refused_and_changes_nothing(host: Host, name: str, value: int | None, why: str) -> None:
    before = host.view.table
    said = host.refusal(SetLimit(name, value))
    assert (why in said) if why else not said
    assert (host.view.table is before) is bool(why)


def test_without_a_model_a_run_needs_no_limit() -> None:
    host = Host(model="")
    assert host.refusal(SetLimit("run.run.calls", None)) == ""


# -- cadence and mode --------------------------------------------------------------------------------


def test_only_reflections_are_throttled(host: Host) -> None:
    assert host.refusal(SetCadence("reflect", 500)) == ""
    assert host.steering.throttle.state.factor == 500
    assert "day.kind:plan.calls" in host.refusal(SetCadence("plan", 250))
    assert host.steering.throttle.state.factor == 500


def test_pausing_a_run_changes_no_decision_and_is_answered(host: Host) -> None:
    assert host.take(SetMode("paused"), SetMode("running")) == ()
    assert [answer.refused for answer in host.answers()] == ["", ""]
    assert host.take(SetMode("paused")) == ()
    assert host.steering.mode == "paused"


def test_calling_a_drain_off_decides_something_as_draining_does(host: Host) -> None:
    drain, go_on, pause = SetMode("draining"), SetMode("running"), SetMode("paused")
    assert host.take(drain) == (drain,)
    assert not host.steering.admits
    assert host.take(go_on) == (go_on,)
    assert host.steering.admits
    assert host.take(drain, pause) == (drain, pause)
    assert host.steering.mode == "paused"


def test_a_cancelled_run_stays_cancelled(host: Host) -> None:
    assert host.take(SetMode("cancelled")) == (SetMode("cancelled"),)
    assert host.steering.over
    assert host.refusal(SetMode("running")).startswith("the run is cancelled")
    assert (host.steering.mode, host.steering.admits) == ("cancelled", False)


@pytest.mark.parametrize(
    ("mode", "is_open", "over"),
    [
        ("draining", True, False),
        ("draining", False, True),
        ("running", False, False),
        ("paused", False, False),
    ],
)
def test_a_draining_run_is_left_once_no_admitted_job_is_open(host: Host, mode: Any, is_open: bool, over: bool) -> None:
    host.take(SetMode(mode))
    host.steering.settle(is_open)
    assert host.steering.over is over


# -- retries -----------------------------------------------------------------------------------------


def planned(owner: str) -> Stream:
    """A stream with a provisional plan for a day."""
    stream = Stream(owner)
    plan = Entry(type="plan", text="Plan.", minute=0, importance=6, valid_until=1440, provisional=True)
    stream.append(plan, 1)
    return stream


STREAMS = {owner: planned(owner) for owner in (ANN, BOB)}


def retried(host: Host, busy: tuple[str, str] | None = None) -> list[str]:
    steering, offers = host.steering, [ModelOption("default", 10, Cost(calls=1))]
    at = AdmissionRound(7, 7, steering._view, steering._rules, lambda request: offers, fixed_ticks())
    found = steering.retry(STREAMS, at, lambda kind, owner: (kind, owner) == busy)
    return [decided.line.key.text() for decided in found]


def test_a_retry_becomes_a_job_and_its_operator_learns_which(host: Host) -> None:
    asked = Retry(JOB, ANN, (1,)), Retry(JOB, BOB, (1,))
    assert host.take(*asked) == (), "the decision is in the line, not the request"
    assert host.answers() == []
    assert retried(host) == [f"7/plan/{ANN}/0/0", f"7/plan/{BOB}/0/0"]
    assert [(answer.id, answer.control, answer.job, answer.refused) for answer in host.answers()] == [
        ("id0", asked[0], f"7/plan/{ANN}/0/0", ""),
        ("id1", asked[1], f"7/plan/{BOB}/0/0", ""),
    ]
    assert retried(host) == [], "once"


def test_two_retries_of_one_owner_in_a_tick_are_one_job(host: Host) -> None:
    host.take(Retry(JOB, ANN, (1,)), Retry(JOB, ANN, (1,)))
    assert retried(host) == [f"7/plan/{ANN}/0/0"]
    assert "is open" in host.answers()[1].refused


def test_a_retry_of_a_busy_owner_is_refused_with_the_reason(host: Host) -> None:
    host.take(Retry(JOB, ANN, (1,)), Retry(JOB, "agent:gone", (1,)))
    assert retried(host, busy=("plan", ANN)) == []
    assert ["is open" in host.answers()[0].refused, "has left" in host.answers()[1].refused] == [True, True]
    assert retried(host) == [], "it is not tried again later"


@pytest.mark.parametrize("mode", ["draining", "cancelled"])
def test_a_run_that_admits_nothing_refuses_retries_too(host: Host, mode: Any) -> None:
    host.take(Retry(JOB, ANN, (1,)), SetMode(mode))
    (_, refused) = host.answers()
    assert (refused.id, refused.refused) == ("id0", f"the run is {mode} and admits no more jobs")
    assert retried(host) == []


# -- what is kept ------------------------------------------------------------------------------------


def test_a_tick_removes_the_requests_that_it_took_and_answers_them(host: Host) -> None:
    host.store.client.rpush(host.store.key("controls"), "a", "b", "c")
    host.take(SetLimit("day.calls", 3), None)
    host.write()
    assert host.store.items("controls") == [b"c"], "one cannot be read, and one has come since"
    (answer,) = host.store.items("answers")
    assert typed_json.decode(answer, ControlAnswer) == ControlAnswer("id0", 7, SetLimit("day.calls", 3))
    woken = host.store.answered_key("id0")
    assert (host.store.client.lrange(woken, 0, -1), host.store.client.pttl(woken) > 30_000) == ([b"1"], True)
    host.write()
    assert host.store.items("controls") == [b"c"]
    assert host.store.length("answers") == 1


def test_the_newest_answers_are_kept(host: Host) -> None:
    host.take(*[SetLimit("day.calls", value) for value in range(MOST_ANSWERS + 1)])
    host.write()
    values = [typed_json.decode(raw)["control"]["value"] for raw in host.store.items("answers")]
    assert values == [*range(1, MOST_ANSWERS + 1)]


def test_a_resume_restores_the_steering_in_force(host: Host) -> None:
    host.take(SetLimit("day.calls", 3), SetCadence("reflect", 250, True), SetMode("paused"))
    host.write()
    assert host.state("status", "waits") == [b"paused", b"1"]
    after = Host(host.store)
    assert after.steering.mode == "paused"
    assert [*after.view.table] == [*host.view.table]
    assert after.steering.throttle.state == host.steering.throttle.state
    assert read_steering(host.store).mode == "paused"
    assert after.write() == {}, "nothing has changed"
    after.take(SetMode("running"))
    after.write()
    assert after.state("status", "waits") == [b"running", b"0"]


def test_a_resume_restores_the_waiting_owners(host: Host) -> None:
    host.steering.throttle.postponing.sift(
        [ANN], factor=500, minute=7, interval=60, last_call=False, salience=lambda owner: 0
    )
    host.write()
    after = Host(host.store).steering.throttle.postponing
    assert (list(after.waiting), after.credit) == ([ANN], 500)


@pytest.mark.parametrize("mode", ["running", "draining"])
def test_a_run_that_did_not_wait_does_not_announce_a_resume(host: Host, mode: Any) -> None:
    host.take(SetMode(mode))
    host.write()
    after = Host(host.store)
    after.take(SetMode("running"))
    assert all("waits" not in write.args for writes in after.write().values() for write in writes)


def test_an_unsteered_run_starts_with_defaults(host: Host) -> None:
    assert read_steering(host.store).mode == "running"
    after = Host(host.store)
    assert (after.steering.mode, [*after.view.table]) == ("running", [*LimitTable(FIRST)])
    assert {*after.write()} == {"state"}
    assert after.state("status", "waits") == [None, None], "it did not wait"


def test_a_state_without_waiting_owners_is_refused(host: Host) -> None:
    host.write()
    host.store.client.hdel(host.store.key("state"), "postponed")
    with pytest.raises(ValueError, match="'postponed'"):
        Host(host.store)


def test_no_limit_in_money_is_set_on_models_whose_price_the_run_does_not_know() -> None:
    money = SetLimit("day.owner:*.usd_micros", 5)
    assert Host().refusal(money) == ""
    host = Host(unpriced=("qwen", "m"))
    assert host.refusal(money).endswith("does not know: 'qwen', 'm'")
    assert host.refusal(SetLimit("day.tokens", 5)) == ""
    assert host.refusal(SetLimit("day.usd_micros", None)) == "", "one that was there is lifted"


# -- single jobs -------------------------------------------------------------------------------------


def test_the_answer_to_a_cancellation_counts_the_outcomes_of_its_jobs(host: Host) -> None:
    named = (JOB, JOB, "7/reflect/agent:ann/0/0", "6/act/agent:ann/0/0", "6/act/agent:bob/0/0")
    assert host.take(CancelJobs(named)) == (CancelJobs(named),), "it changes what is decided"
    (answer,) = host.answers()
    assert answer.called_off == CalledOff(cancelled=1, ended=2, held=1)
    assert CalledOff(1, 2, 1).text() == "1 cancelled, 2 had ended, 1 left to the heuristic before"
    assert CalledOff(1_000, 0, 0).text() == "1,000 cancelled"


@pytest.mark.parametrize(
    ("jobs", "why"),
    [
        ((JOB, "nothing"), "'nothing' is not a job key"),
        (tuple(f"7/plan/agent:a{n}/0/0" for n in range(MOST_CANCELLED + 1)), "at most 1000 jobs"),
    ],
)
def test_an_invalid_cancellation_cancels_nothing(host: Host, jobs: tuple[str, ...], why: str) -> None:
    host.call_off = pytest.fail  # type: ignore[method-assign]
    assert why in host.refusal(CancelJobs(jobs))
    assert host.take(CancelJobs(jobs)) == ()
    assert host.answers()[-1].called_off is None
