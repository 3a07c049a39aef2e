"""Requests of operators are applied exactly once, at one tick, and journalled, on resume and replay as well."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from redis import Redis

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.ops.commands.runs import one_line
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.controls import (
    Control,
    ControlAnswer,
    ControlRequest,
    Retry,
    SetCadence,
    SetLimit,
    SetMode,
)
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import JobQuery
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.stored_run import limits_of
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.inspection.vitals import steering_of
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.scheduler.ledger.errors import LedgerError, RunMissing
from cogitate.scheduler.ledger.keys import incarnation_key, run_base, script
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.steering.operators import RunCancelled, TooManyRequests, ask
from tests.conftest import Eventually
from tests.live_redis import empty_redis
from tests.patience import LONGEST

OWNERS = {f"agent:{name}": Profile(name=name.title()) for name in ("ann", "ben", "cid", "dora")}
TICKS, ASKED = 60, 30
RUN = "steered"

Script = Mapping[int, Sequence[Control]]  # the controls sent during the world's turn of a tick


def live(
    tmp_path: Path,
    client: Redis,
    asked: Script,
    *,
    until: int = TICKS,
    resume: bool = False,
    begun: Callable[[TickLoop], None] = lambda loop: None,
    **settings: Any,
) -> TickLoop:
    """Host four agents that the world asks to reflect at ticks 30 and 40."""
    kept = {"limits": {}, "guarantees": {}, "act_interval": 0, **settings}
    with TickLoop(
        run=RUN,
        owners=OWNERS,
        ticks=until,
        exist="resume" if resume else "create",
        settings=Settings.tuned(data_dir=tmp_path, **kept),
        inline=True,
        client=client,
        start_minute=1080,
    ) as loop:
        begun(loop)
        for tick in loop:
            if tick.number in (ASKED, ASKED + 10):
                for owner in OWNERS:
                    for what in ("a stranger", "a fire", "two dogs"):
                        text = f"Saw {what} at door {tick.number}."
                        loop.observe(owner, Entry(type="observation", text=text, minute=tick.minute, importance=4))
                    loop.request("reflect", owner)
            if (controls := asked.get(tick.number)) and not tick.replayed:
                ask(client, RUN, controls, wait=0)
    return loop


def journal(client: Redis, loop: TickLoop) -> list[ReadLine]:
    return list(read_journal(RunStore.open(client, RUN), 1, loop.tick))


def answers(client: Redis, loop: TickLoop) -> list[ControlAnswer]:
    return [answer for line in journal(client, loop) for answer in line.notes.answers]


def assert_sound(client: Redis, loop: TickLoop) -> None:
    """Assert that the run passes the audit and that its replay reaches the same digest."""
    assert audit(client, RUN) == []
    assert replay(client, RUN, empty_redis()).digest == loop.digest


LOWER = {5: [SetLimit("day.run.jobs", 7)], 33: [SetLimit("day.run.jobs", 40)]}


def test_a_limit_takes_effect_at_the_next_tick_and_is_journalled(tmp_path: Path) -> None:
    client = empty_redis()
    loop = live(tmp_path, client, LOWER)
    lines = journal(client, loop)
    assert {line.core.tick: line.core.controls for line in lines if line.core.controls} == {
        6: (SetLimit("day.run.jobs", 7),),
        34: (SetLimit("day.run.jobs", 40),),
    }
    decisions = {tick: {d.decision for d in lines[tick - 1].core.decided} for tick in (ASKED, ASKED + 10)}
    assert decisions == {ASKED: {"admitted", "heuristic"}, ASKED + 10: {"admitted"}}
    limits = limits_of(RunStore.open(client, RUN))
    assert limits.now.of("day", "run", "jobs") == 40
    assert [change.tick for change in limits.changes] == [6, 34]
    assert_sound(client, loop)


def test_a_limit_may_be_set_below_what_was_spent(tmp_path: Path) -> None:
    client = empty_redis()
    loop = live(tmp_path, client, {35: [SetLimit("day.run.jobs", 0)]})
    summary = summarise_run(client, RUN)
    (line,) = [b for b in summary.budget if (b.window, b.scope, b.unit) == ("day:0", "run", "jobs")]
    assert (line.spent, line.limit) == (8, 0)
    assert summary.refused == {"day.run.jobs": 4}
    assert_sound(client, loop)


def test_a_refusal_shows_the_limit_in_force_at_the_time(tmp_path: Path) -> None:
    client = empty_redis()
    live(tmp_path, client, LOWER)
    summary = summarise_run(client, RUN)
    told = [(one.limit, one.value) for one in summary.refusals]
    assert told == [("day.run.jobs", 7)], "not the present limit of 40"
    assert {one.name: one.limit for one in summary.limits}["day.run.jobs"] == 40
    assert sum(one.requests for one in summary.refusals) == summary.refused["day.run.jobs"]


@pytest.mark.parametrize("stopped", [5, 6, 33, 34])
def test_a_resumed_run_keeps_the_settings_of_operators(tmp_path: Path, stopped: int) -> None:
    whole = live(tmp_path, empty_redis(), LOWER)
    client = empty_redis()
    live(tmp_path, client, LOWER, until=stopped)
    loop = live(tmp_path, client, LOWER, resume=True)
    assert loop.digest == whole.digest
    assert [(answer.tick, answer.refused) for answer in answers(client, loop)] == [(6, ""), (34, "")]


@pytest.mark.parametrize(
    ("control", "why"),
    [
        (SetLimit("day.kind:dream.calls", 3), "there is no kind 'dream'"),
        (SetLimit("week.calls", 3), "period 'week' is not one of"),
        (SetLimit("day.run.calls", -1), "-1 is not between"),
        (SetCadence("plan", 500), "only reflect can be throttled"),
        (Retry("1/plan/agent:zoe/0/0", "agent:zoe", (3,)), "agent:zoe has left the run"),
        (Retry("1/plan/agent:ann/0/0", "agent:ann", (3,)), "no provisional entries left"),
    ],
)
def test_an_inapplicable_request_is_refused_with_a_reason_and_changes_nothing(
    tmp_path: Path, control: Control, why: str
) -> None:
    client = empty_redis()
    loop = live(tmp_path, client, {5: [control]}, until=10)
    (answer,) = answers(client, loop)
    assert why in answer.refused
    assert loop.digest == live(tmp_path, empty_redis(), {}, until=10).digest


def test_the_last_limit_of_a_run_with_a_model_cannot_be_lifted(tmp_path: Path) -> None:
    client = empty_redis()
    settings: dict[str, Any] = {"llm": "openai", "api_key": "any", "limit_tokens": 1000}
    loop = live(tmp_path, client, {2: [SetLimit("run.run.tokens", None)]}, until=5, **settings)
    assert "calling a model requires one" in answers(client, loop)[0].refused
    assert limits_of(RunStore.open(client, RUN)).now.of("run", "run", "tokens") == 1000


def test_an_unreadable_request_is_removed(tmp_path: Path) -> None:
    client = empty_redis()
    live(tmp_path, client, {}, until=3)
    client.rpush(RunStore.open(client, RUN).key("controls"), b"{}", b"\xff")
    live(tmp_path, client, {4: [SetMode("draining")]}, resume=True)
    assert client.llen(RunStore.open(client, RUN).key("controls")) == 0
    assert steering_of(RunStore.open(client, RUN)).mode == "drained"


def test_draining_admits_nothing_finishes_open_jobs_and_leaves_a_resumable_run(tmp_path: Path) -> None:
    client = empty_redis()
    loop = live(tmp_path, client, {ASKED: [SetMode("draining")]})
    assert ASKED < loop.tick < TICKS
    assert not any(item.admitted for item in loop.state.open.values())
    assert summarise_run(client, RUN).status == "stopped"
    last = live(tmp_path, client, {}, resume=True)
    summary = summarise_run(client, RUN)
    assert (summary.status, summary.steering.mode) == ("finished", "running")
    assert summary.jobs["reflect"]["source"] == {"heuristic": 8}
    assert_sound(client, last)


def test_a_draining_run_refuses_its_worlds_requests(tmp_path: Path) -> None:
    client = empty_redis()
    live(tmp_path, client, {ASKED - 1: [SetMode("draining")]})
    assert steering_of(RunStore.open(client, RUN)).mode == "drained"
    assert summarise_run(client, RUN).refused == {"draining": 4}
    assert audit(client, RUN) == []


def test_cancelling_closes_open_jobs_keeps_their_charge_and_ends_the_run_for_good(tmp_path: Path) -> None:
    client = empty_redis()
    lost = Retry("1/plan/agent:ann/0/0", "agent:ann", (1,))
    loop = live(tmp_path, client, {ASKED: [lost, SetMode("cancelled")]})
    assert {answer.control: answer.refused for answer in answers(client, loop)} == {
        lost: "the run is cancelled and admits no more jobs",
        SetMode("cancelled"): "",
    }
    assert loop.tick == ASKED + 1
    summary = summarise_run(client, RUN)
    assert summary.status == "cancelled"
    assert summary.jobs["reflect"]["end"] == {"cancelled": 4}
    assert {b.spent for b in summary.budget if (b.window, b.scope, b.unit) == ("run:0", "run", "jobs")} == {8}, (
        "the four plans before, and four cancelled reflections"
    )
    assert_sound(client, loop)
    with pytest.raises(RunCancelled, match="is cancelled"):
        ask(client, RUN, [SetMode("running")], wait=0)
    with pytest.raises(LedgerError, match="is cancelled and cannot be resumed"):
        live(tmp_path, client, {}, resume=True)
    assert summarise_run(client, RUN).status == "cancelled"


def test_a_paused_run_stays_paused_under_another_host(tmp_path: Path, eventually: Eventually) -> None:
    client, hosts = empty_redis(), list[TickLoop]()

    def host(*, resume: bool) -> threading.Thread:
        script = {} if resume else {10: [SetMode("paused")]}
        made = threading.Thread(target=lambda: live(tmp_path, client, script, resume=resume, begun=hosts.append))
        made.start()
        return made

    first = host(resume=False)
    eventually(
        lambda: hosts and hosts[0].ledger.client.hget(hosts[0].ledger.store.key("state"), "waits") == b"1", "pause"
    )
    hosts[0].stop()
    first.join(LONGEST)
    assert (hosts[0].tick, summarise_run(client, RUN).status) == (11, "stopped")

    second, store = host(resume=True), RunStore.open(client, RUN)
    eventually(lambda: client.hget(store.key("state"), "status") == b"paused", "the next host to pause as well")
    (limit,) = ask(client, RUN, [SetLimit("day.run.jobs", 7)], wait=20)
    assert (limit.state, "applied when the run resumes" in limit.detail) == ("waits", True)
    assert one_line(summarise_run(client, RUN)).split()[1].rstrip(",") == "paused"
    (going,) = ask(client, RUN, [SetMode("running")], wait=20)
    assert (going.state, going.tick) == ("applied", 12)
    second.join(LONGEST)
    assert summarise_run(client, RUN).status == "finished"
    assert limits_of(store).now.of("day", "run", "jobs") == 7
    unpaused = live(tmp_path / "other", empty_redis(), {11: [SetLimit("day.run.jobs", 7)]})
    assert hosts[1].digest == unpaused.digest, "a pause leaves the digest"
    assert_sound(client, hosts[1])


@pytest.fixture(scope="module")
def model() -> Iterator[dict[str, Any]]:
    with FakeEndpoint() as endpoint:
        yield {"llm": "openai", "base_url": endpoint.url, "api_key": "any", "limit_tokens": 10_000_000}


def test_a_retry_repeats_a_denied_request(tmp_path: Path, model: dict[str, Any]) -> None:
    client = empty_redis()
    one_a_tick = {**model, "limits": {"tick.run.calls": 1}, "repair_from": 1440}
    live(tmp_path, client, {}, until=55, **one_a_tick)
    denied = JobHistory(client, RUN).newest(0, JobQuery(state="denied", kind="reflect"))[-3:]
    retries = [Retry(job.id.partition("/")[2], job.owner, job.appended) for job in denied]
    outcomes = ask(client, RUN, retries, wait=5)
    assert {outcome.state for outcome in outcomes} == {"waits"}
    assert "the run is finished" in outcomes[0].detail
    loop = live(tmp_path, client, {}, until=70, resume=True, **model)
    told = {answer.control: answer for answer in answers(client, loop)}
    assert [told[retry].refused for retry in retries] == [
        "",
        *["the limit tick 56 run calls = 1 has no room for the repair"] * 2,
    ]
    (line,) = [line for line in journal(client, loop) if line.core.tick == 56]
    assert [decided.key.text() for decided in line.core.decided] == [told[retries[0]].job]
    stream = loop.state.streams[denied[0].owner]
    assert stream.archived[denied[0].appended[0]].into, "replaced by the model's answer"
    assert_sound(client, loop)


def test_a_retry_without_a_model_is_refused(tmp_path: Path) -> None:
    client = empty_redis()
    live(tmp_path, client, {}, until=45, limits={"tick.run.jobs": 1})
    job = JobHistory(client, RUN).newest(0, JobQuery(state="denied", kind="reflect"))[-1]
    ask(client, RUN, [Retry(job.id.partition("/")[2], job.owner, job.appended)], wait=0)
    loop = live(tmp_path, client, {}, resume=True)
    assert "no model" in answers(client, loop)[0].refused


def test_a_bounded_number_of_requests_waits_for_a_host(tmp_path: Path) -> None:
    client = empty_redis()
    with pytest.raises(RunMissing):
        ask(client, RUN, [SetMode("paused")], wait=0)
    live(tmp_path, client, {}, until=2)
    with pytest.raises(TooManyRequests, match="100 requests are waiting"):
        ask(client, RUN, [SetCadence("reflect", 500)] * 101, wait=0)
    ask(client, RUN, [SetCadence("reflect", 500)] * 100, wait=0)
    live(tmp_path, client, {}, resume=True)
    assert len({answer.id for answer in answers(client, live(tmp_path, client, {}, resume=True))}) == 100


def test_a_request_sent_twice_after_a_lost_reply_is_stored_once(tmp_path: Path) -> None:
    client = empty_redis()
    live(tmp_path, client, {}, until=2)
    line = msgspec.json.encode(ControlRequest("same", SetMode("draining")))
    nonce: Any = client.get(incarnation_key(RUN))
    for _ in range(2):
        script(client, "control")(keys=[incarnation_key(RUN)], args=[run_base(RUN), nonce, 100, line])
    assert client.llen(RunStore.open(client, RUN).key("controls")) == 1


def test_a_run_whose_draining_is_called_off_admits_jobs_again(tmp_path: Path) -> None:
    off: Script = {ASKED: [SetMode("draining")], ASKED + 3: [SetMode("running")]}
    client = empty_redis()
    loop = live(tmp_path, client, off)
    assert loop.tick == TICKS, "the host stayed, because jobs were open until draining was called off"
    lines = journal(client, loop)
    assert {line.core.tick: line.core.controls for line in lines if line.core.controls} == {
        ASKED + 1: (SetMode("draining"),),
        ASKED + 4: (SetMode("running"),),
    }
    decided = {line.core.tick: {d.decision for d in line.core.decided} for line in lines}
    assert decided[ASKED + 10] == {"admitted"}
    assert steering_of(RunStore.open(client, RUN)).mode == "running"
    assert_sound(client, loop)
    stopped = empty_redis()
    live(tmp_path, stopped, off, until=ASKED + 2)
    assert live(tmp_path, stopped, off, resume=True).digest == loop.digest, "a resumed host continues draining"


@pytest.mark.parametrize(
    ("control", "decides"),
    [
        (SetLimit("day.run.jobs", 100_000), True),
        (SetCadence("reflect", 1000), True),
        (SetCadence("reflect", None, True), True),
        (SetMode("running"), False),
        (SetLimit("day.run.jobs", -1), False),
    ],
)
def test_the_digest_covers_settings_that_have_not_yet_changed_a_decision(
    tmp_path: Path, control: Control, decides: bool
) -> None:
    without = live(tmp_path, empty_redis(), {}, until=12).digest
    assert (live(tmp_path, empty_redis(), {10: [control]}, until=12).digest != without) is decides


def test_a_lifted_limit_stays_lifted_after_a_resume(tmp_path: Path) -> None:
    client = empty_redis()
    live(tmp_path, client, {5: [SetLimit("day.run.jobs", 0)], 8: [SetLimit("day.run.jobs", None)]}, until=20)
    loop = live(tmp_path, client, {}, resume=True)
    assert loop.state.view.table.of("day", "run", "jobs") is None
    assert [change.tick for change in limits_of(RunStore.open(client, RUN)).changes] == [6, 9]
    assert summarise_run(client, RUN).refused == {}
    assert_sound(client, loop)
