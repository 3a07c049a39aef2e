"""What the gate tells of a call's end, and when it tells it."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

import pytest
from fakeredis import FakeRedis
from redis.exceptions import ConnectionError as Away
from structlog.testing import capture_logs

from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.keys import endpoint_keys
from cogitate.tasks.job import Cost
from cogitate.workers.gate import endpoint_reports
from cogitate.workers.gate.endpoint_reports import Entered, Report, Reports, Spacing, arguments_of, batches_of
from cogitate.workers.gate.gate import Gate, Refused
from cogitate.workers.llm.replies.failures import Failure, ModelAnswer
from cogitate.workers.processes.failed_calls import CallsInTurn
from tests.patience import LONGEST

USED = Cost(calls=1, tokens=120)
GOOD = ModelAnswer(usage=USED)
LIMITED = Endpoint(requests_per_minute=60, tokens_per_minute=60_000, burst=4)
BREAKER = (3, 0.5, 20, 1, 2)
#: The arguments of `leave.lua`, in order.
ARGUMENTS = (
    *("token", "verdict", "failure", "calls", "requests", "tokens", "took", "give_back", "retry_after", "pace"),
    *("first", "model", "tries_aside", "in_row", "share", "latest", "pause", "longest_pause", "ahead"),
    *("estimated", "reasoning", "times", "prompt", "left", "slow", "service_tiers", "discount"),
)


def test_requests_leave_a_little_slower_than_the_limit_allows() -> None:
    assert Spacing.of(LIMITED) == pytest.approx((1_005_000, 2_010_000, 1_000))
    assert Spacing.of(Endpoint(requests_per_minute=120)).pace == pytest.approx(502_500)
    assert Spacing.of(Endpoint()) == (0.0, 0.0, 0.0)


# -- what is told ------------------------------------------------------------------------------------


class Told:
    """Takes reports in the place of the thread that sends them."""

    def __init__(self) -> None:
        self.later: list[Report] = []
        self.at_once: list[Report] = []

    def add(self, report: Report) -> None:
        self.later.append(report)

    def send(self, report: Report) -> None:
        self.at_once.append(report)


def entered(**changed: Any) -> Entered:
    values = {
        "endpoint": "ours",
        "model": "m",
        "token": "t",
        "began": time.monotonic(),
        "left": 0.0,
        "first": True,
        "tokens": 500,
        "tries_aside": False,
        "probes": False,
        "spacing": Spacing.of(LIMITED),
        "limited": True,
    }
    return Entered(**(values | changed))


def ended(answer: ModelAnswer | None, **changed: Any) -> Report:
    return Report(call=entered(**changed), answer=answer, took=1.0)


def told(*reports: Report) -> dict[str, Any]:
    """Return what the script is told of these ends, by the names of its arguments."""
    return dict(zip(ARGUMENTS, arguments_of([*reports], BREAKER), strict=True))


def failed(kind: Any, retry_after: float | None = None) -> ModelAnswer:
    return ModelAnswer(usage=USED, failure=Failure(kind=kind, retry_after=retry_after))


def test_an_answer_reports_its_usage_and_returns_unused_tokens() -> None:
    found = told(ended(ModelAnswer(usage=USED, reasoning=20)))
    assert (found["model"], found["token"], found["first"], found["calls"]) == ("m", "t", 1, 1)
    assert (found["verdict"], found["failure"], found["requests"], found["tokens"]) == ("fine", "", 1, 120)
    assert (found["estimated"], found["reasoning"], found["times"]) == (0, 20, "1")
    assert found["give_back"] == pytest.approx(380_000)
    assert (found["pace"], found["ahead"], found["retry_after"]) == (*Spacing.of(LIMITED)[:2], -1)


def test_unreported_usage_is_marked_as_estimated() -> None:
    assert told(ended(ModelAnswer(usage=USED, estimated=True)))["estimated"] == 120


def test_a_call_with_an_unknown_end_returns_nothing() -> None:
    found = told(ended(None))
    assert (found["verdict"], found["failure"], found["requests"], found["tokens"]) == ("silent", "", 0, 0)
    assert (found["estimated"], found["give_back"], found["retry_after"], found["times"]) == (0, 0.0, -1, "")


def test_a_requested_pause_is_rounded_up_to_microseconds() -> None:
    def pause(answer: ModelAnswer) -> int:
        return int(told(ended(answer))["retry_after"])

    assert pause(failed("rate_limited", 2.0)) == 2_000_000
    assert pause(failed("rate_limited", 0.000_000_1)) == 1
    assert pause(failed("rate_limited", 0.0)) == 0
    assert pause(failed("rate_limited")) == -1
    assert pause(failed("overloaded", 3.0)) == 3_000_000
    assert pause(failed("auth", 2.0)) == -1, "no pause mends it"


def test_a_refusal_of_flex_pauses_nothing_and_is_no_failure_of_the_endpoint() -> None:
    refused = ModelAnswer(usage=USED, failure=Failure(kind="rate_limited", retry_after=9.0, of_tier=True))
    found = told(ended(refused, slow=True))
    assert (found["verdict"], found["failure"], found["retry_after"]) == ("silent", "flex_refused", -1)


def test_an_answer_of_flex_tells_its_tier_and_not_how_long_it_took() -> None:
    limits = {"spacing": Spacing.of(Endpoint()), "limited": False, "slow": True}
    by_flex = ModelAnswer(usage=USED, service_tier="flex", discount=7)
    found = told(*(ended(answer, **limits) for answer in (by_flex, by_flex, ModelAnswer(usage=USED))))
    assert (found["slow"], found["times"], found["service_tiers"], found["discount"]) == (1, "", "flex=2", 14)


def test_neighbouring_successes_without_limits_are_told_together() -> None:
    good, limits = ModelAnswer(usage=USED, reasoning=20), {"spacing": Spacing.of(Endpoint()), "limited": False}
    plain = [
        Report(call=entered(token=token, first=token == "a", **limits), answer=good, took=took)
        for token, took in (("a", 1.0), ("b", 4.0), ("c", 5.5))
    ]
    others = [ended(failed("empty"), token="d", **limits), ended(good, token="e", model="other", **limits)]
    after = [ended(good, token="f", **limits), ended(good, token="g"), ended(good, token="h")]
    found = [told(*batch) for batch in batches_of([*plain, *others, *after])]
    assert [(one["token"], one["calls"], one["tokens"], one["took"]) for one in found] == [
        ("", 3, 360, 3.5),
        ("d", 1, 120, 1.0),
        ("e", 1, 120, 1.0),
        ("f", 1, 120, 1.0),
        ("g", 1, 120, 1.0),
        ("h", 1, 120, 1.0),
    ]
    assert (found[0]["first"], found[0]["reasoning"], found[0]["times"]) == (1, 60, "1,4,5")


@pytest.mark.parametrize(
    ("endpoint", "limited"),
    [
        (Endpoint(), False),
        (Endpoint(concurrency=3), True),
        (Endpoint(requests_per_minute=60), True),
        (Endpoint(tokens_per_minute=60), True),
    ],
)
def test_callers_waiting_for_returned_room_are_notified(endpoint: Endpoint, limited: bool) -> None:
    gate = gate_of(FakeRedis(), endpoints={"ours": endpoint})
    came = gate.enter("ours", model="m", tokens=1, deadline=time.monotonic() + LONGEST)
    gate.close()
    assert isinstance(came, Entered)
    assert came.limited is limited


@pytest.mark.parametrize(
    ("changed", "answer", "at_once"),
    [
        ({}, ModelAnswer(usage=USED), False),
        ({"probes": True}, ModelAnswer(usage=USED), True),
        ({"tries_aside": True}, ModelAnswer(usage=USED), True),
        ({}, failed("rate_limited", 2.0), True),
        ({}, failed("rate_limited"), False),
    ],
)
def test_reports_that_block_others_are_sent_before_the_caller_continues(
    changed: dict[str, bool], answer: ModelAnswer, at_once: bool
) -> None:
    gate = Gate(FakeRedis(), Settings(endpoints={"ours": LIMITED}), threading.Event())
    gate.close()
    reports: Any = Told()
    gate._reports = reports
    gate.leave(entered(**changed), answer)
    assert (len(reports.at_once), len(reports.later)) == ((1, 0) if at_once else (0, 1))


# -- when it is told ---------------------------------------------------------------------------------


PLAIN = {"spacing": Spacing.of(Endpoint()), "limited": False}


def report(token: str = "t", answer: ModelAnswer | None = GOOD, **changed: Any) -> Report:
    return ended(answer, **(PLAIN | {"token": token} | changed))


class Sender:
    """Reports whose batches a test can see."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(endpoint_reports, "EVERY", 3_600)
        script: Any = None
        self.lost: list[Entered] = []
        self.reports = Reports(FakeRedis(), script, Settings(), self.lost.extend)
        self.batches: list[list[str]] = []
        self._sent = threading.Semaphore(0)
        monkeypatch.setattr(self.reports, "_run_scripts", self._note)
        self.fails: list[Exception] = []

    def _note(self, batches: list[list[Report]]) -> None:
        self.batches.append([" ".join(one.call.token for one in batch) for batch in batches])
        self._sent.release()
        if self.fails:
            raise self.fails.pop()

    def wait(self) -> None:
        assert self._sent.acquire(timeout=LONGEST)


@pytest.mark.parametrize(
    "urgent", [{"answer": failed("server")}, {"limited": True}, {"tries_aside": True}, {"answer": None}]
)
def test_urgent_reports_flush_earlier_ones(monkeypatch: pytest.MonkeyPatch, urgent: dict[str, Any]) -> None:
    sender = Sender(monkeypatch)
    sender.reports.add(report("a"))
    sender.reports.add(report("b", endpoint="theirs"))
    sender.reports.add(report("c", **urgent))
    sender.wait()
    sender.reports.add(report("d", **urgent))
    sender.wait()
    assert [*itertools.chain(*sender.batches)] == ["a", "b", "c", "d"]
    sender.reports.close()


def test_other_reports_are_sent_together_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    sender = Sender(monkeypatch)
    for endpoint in ("ours", "ours", "theirs"):
        sender.reports.add(report("x", endpoint=endpoint))
    sender.reports.close()
    assert sender.batches == [["x x", "x"]]
    sender.reports.add(report("late", answer=failed("server")))
    assert sender.batches == [["x x", "x"]], "it is closed"


def test_a_report_that_is_sent_at_once_waits_for_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    sender = Sender(monkeypatch)
    sender.reports.send(report("now"))
    assert (sender.batches, sender.reports._thread._thread) == ([["now"]], None)


def test_the_first_report_after_the_end_starts_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    sender = Sender(monkeypatch)
    sender.reports.close()
    sender.reports.add(report("late", answer=failed("server")))
    assert sender.reports._thread._thread is None


def test_one_named_thread_sends_them_and_keeps_no_process_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    sender = Sender(monkeypatch)
    threads = set()
    for token in "ab":
        sender.reports.add(report(token, answer=failed("server")))
        sender.wait()
        threads.add(sender.reports._thread._thread)
    sender.reports.close()
    (thread,) = threads
    assert thread is not None
    assert (thread.name, thread.daemon) == ("endpoint-reports", True)


def test_while_redis_is_away_reports_are_lost_and_the_thread_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    sender = Sender(monkeypatch)
    sender.fails = [Away("away")]
    with capture_logs() as logs:
        for token in "ab":
            sender.reports.add(report(token, answer=failed("server")))
            sender.wait()
        sender.reports.close()
    assert sender.batches == [["a"], ["b"]]
    assert [call.token for call in sender.lost] == ["a"]
    assert [entry["event"] for entry in logs] == ["endpoint.gate_away"]


# -- through the scripts -----------------------------------------------------------------------------


def gate_of(client: FakeRedis, **settings: Any) -> Gate:
    chosen = Settings.tuned(**({"endpoints": {"ours": Endpoint()}} | settings))
    return Gate(client, chosen, threading.Event())


def call(gate: Gate, answer: ModelAnswer, prompt: str = "") -> Entered | Refused:
    came = gate.enter("ours", model="m", tokens=500, deadline=time.monotonic() + LONGEST)
    if isinstance(came, Entered):
        gate.leave(came, answer, prompt)
    gate.close()
    return came


def test_an_opening_breaker_is_logged_once() -> None:
    client = FakeRedis()
    with capture_logs() as logs:
        first = call(gate_of(client, breaker_failures=1), failed("connection"))
    assert isinstance(first, Entered)
    (entry,) = [one for one in logs if one["event"].startswith("endpoint.")]
    assert (entry["event"], entry["why"], entry["endpoint"]) == ("endpoint.opened", "connection", "ours")
    assert (entry["log_level"], "check" in entry) == ("warning", False)
    assert refused_later(client) == ("breaker_open", "connection")


@pytest.mark.parametrize("kind", ["auth", "quota_exhausted"])
def test_a_model_that_refuses_three_prompts_is_set_aside_with_advice(kind: Any) -> None:
    client = FakeRedis()
    client.hset(endpoint_keys("ours")[0], "usual", 1)  # microseconds that an answer takes
    with capture_logs() as logs:
        for prompt in "abc":
            answer = ModelAnswer(usage=USED, failure=Failure(kind=kind, status=403))
            assert isinstance(call(gate_of(client), answer, prompt), Entered)
    (entry,) = [one for one in logs if one["event"].startswith("endpoint.")]
    assert (entry["event"], entry["why"], entry["model"]) == ("endpoint.model_set_aside", kind, "m")
    assert (entry["log_level"], "check" in entry) == ("error", True)
    assert refused_later(client) == ("breaker_open", kind)


def refused_later(client: FakeRedis) -> tuple[str, str]:
    """Return why a worker that has called before is refused."""
    later = gate_of(client)
    later._called.add("ours")
    refused = call(later, failed("connection"))
    assert isinstance(refused, Refused)
    return refused.why, refused.because


def test_counters_add_up_over_processes() -> None:
    client = FakeRedis()
    for estimated in (False, True):
        call(gate_of(client), ModelAnswer(usage=USED, estimated=estimated))
    counters = client.hgetall(endpoint_keys("ours")[2])
    found = {name.decode(): int(value) for name, value in counters.items() if value.isdigit()}
    assert (found["requests"], found["tokens"], found["estimated"]) == (2, 240, 120)
    assert client.smembers("cogitate:endpoints") == {b"ours"}


def test_each_report_that_can_wait_is_sent_after_its_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one finds a thread that waits for whatever comes."""
    sender = Sender(monkeypatch)
    monkeypatch.setattr(endpoint_reports, "EVERY", 0.001)
    for token in ("one", "two"):
        sender.reports.add(report(token))
        sender.wait()
    assert sender.batches == [["one"], ["two"]]
    sender.reports.close()


def test_a_process_whose_calls_alone_fail_tells_its_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    client, theirs, ours = FakeRedis(), CallsInTurn(), CallsInTurn()
    for answer, of in ((failed("connection"), ours), (GOOD, theirs), (failed("not_json"), theirs)) * 3:
        monkeypatch.setattr(endpoint_reports, "CALLS", of)
        call(gate_of(client, breaker_failures=99), answer)
    assert theirs.told() == {}
    (told,) = ours.told().values()
    assert (told.failures, told.why) == (3, "connection")
