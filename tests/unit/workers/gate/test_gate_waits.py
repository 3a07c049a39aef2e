"""How long a call waits before its endpoint, what it tells the scripts meanwhile, and who probes an open breaker."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from fakeredis import FakeRedis
from redis.exceptions import ConnectionError as Away
from structlog.testing import capture_logs

from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.keys import endpoint_keys
from cogitate.workers.gate import gate as module
from cogitate.workers.gate.endpoint_reports import Entered, Spacing
from cogitate.workers.gate.gate import Gate, Refused
from cogitate.workers.llm.replies.failures import Failure
from cogitate.workers.llm.requests.address import OPENAI

GO = [b"go", b"1000", 0, b"0", b"0", b"0"]


class Clock:
    """A clock that goes on only while somebody sleeps or waits."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.now += seconds


class Stopping(threading.Event):
    """An event that notes how long it is waited for, and is set after so many waits."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        self.after: int | None = None
        self.waits: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.waits.append(round(timeout, 6))
        self.clock.now += timeout
        return len(self.waits) == self.after


class Script:
    """A script that gives the answers of a test, in their order, and notes what it is told."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.told: list[list[Any]] = []
        self.keys: list[str] = []

    def __call__(self, keys: list[str], args: list[Any]) -> Any:
        self.keys = keys
        self.told.append(args)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Waiting:
    """A gate whose scripts and clock belong to a test."""

    def __init__(self, clock: Clock, endpoint: Endpoint) -> None:
        self.clock, self.stopping = clock, Stopping(clock)
        self.client = FakeRedis()
        self.gate = Gate(self.client, Settings.tuned(endpoints={"ours": endpoint}, breaker_failures=7), self.stopping)
        self.gate.close()
        self.script = Script()
        scripts: Any = self.script
        self.gate._enter = self.gate._probe = scripts

    def enter(self, *answers: Any, within: float = 10.0, tokens: int = 500) -> Entered | Refused:
        self.script.answers = list(answers)
        return self.gate.enter("ours", model="m", tokens=tokens, deadline=self.clock.now + within)

    def probe(self, *answers: Any, within: float = 10.0, failure: Failure | None = None) -> list[float]:
        """Return the deadlines that the endpoint was looked for within."""
        asked: list[float] = []

        def find(deadline: float) -> Failure | None:
            asked.append(deadline)
            return failure

        self.script.answers = list(answers)
        self.gate.probe("ours", find, self.clock.now + within)
        return asked


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Waiting]:
    clock = Clock()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock.monotonic, sleep=clock.sleep))
    return lambda endpoint=None: Waiting(clock, endpoint or Endpoint())


# -- who calls ---------------------------------------------------------------------------------------


def test_the_script_receives_the_calls_room_and_wait(waiting: Any) -> None:
    limits = Endpoint(requests_per_minute=60, tokens_per_minute=60_000, burst=4, concurrency=3)
    ours = waiting(limits)
    ours.enter(GO, within=2.5)
    ((token, patience, *rest),) = ours.script.told
    assert token
    assert patience == 2_500_000
    assert rest == [Spacing.of(limits).pace, 500_000.0, 3, "", "", 0, 1, "m", Spacing.of(limits).ahead, 0, 0, 0, OPENAI]
    assert ours.script.keys == endpoint_keys("ours")


def test_an_endpoint_without_a_cap_on_calls_has_none(waiting: Any) -> None:
    ours = waiting()
    ours.enter(GO)
    assert ours.script.told[0][4] == 0


def test_a_deadline_that_is_over_leaves_no_time_to_wait(waiting: Any) -> None:
    ours = waiting()
    ours.enter(GO, within=-1.0)
    assert ours.script.told[0][1] == 0


def test_only_the_first_call_of_a_process_is_marked(waiting: Any) -> None:
    ours = waiting()
    first, second = ours.enter(GO), ours.enter(GO)
    assert (first.first, second.first) == (True, False)
    assert [(told[8], told[-1]) for told in ours.script.told] == [(1, OPENAI), (0, "")]
    assert ours.client.smembers("cogitate:endpoints") == {b"ours"}


def test_an_admitted_call_states_its_departure_and_probe(waiting: Any) -> None:
    ours = waiting()
    came = ours.enter([b"go", b"1234", 0, b"1", b"0", b"0"])
    assert (came.endpoint, came.model, came.tokens, came.left) == ("ours", "m", 500, 1_234.0)
    assert (came.began, came.tries_aside, came.probes) == (100.0, True, False)
    assert came.token == ours.script.told[0][0]
    assert (ours.clock.slept, ours.stopping.waits) == ([], [])
    again = ours.enter([b"go", b"1234", 0, b"0", b"1", b"0"])
    assert (again.tries_aside, again.probes) == (False, True)


def test_a_slightly_early_call_leaves_on_time(waiting: Any) -> None:
    ours = waiting()
    came = ours.enter([b"go", b"1234", 2_000, b"0", b"0", b"0"])
    assert ours.clock.slept == [0.002]
    assert came.began == pytest.approx(100.002)


@pytest.mark.parametrize(
    ("answer", "refused"),
    [
        ([b"open", 1_500_000, b"auth"], Refused(why="breaker_open", wait=1.5, because="auth")),
        ([b"aside", 1_500_000, b"server"], Refused("breaker_open", wait=1.5, because="server", of_model=True)),
        ([b"late", 2_000_000, b"slot", b"0"], Refused(why="no_slot", wait=2.0)),
        ([b"late", 2_500_000, b"requests", b"1"], Refused(why="rate_limited_here", wait=2.5, of_model=True)),
        (Away("away"), Refused(why="gate_away")),
    ],
)
def test_a_refusal_states_its_cause_and_the_wait(waiting: Any, answer: Any, refused: Refused) -> None:
    ours = waiting()
    assert ours.enter(answer) == refused
    assert ours.stopping.waits == []


def test_a_waiting_call_keeps_its_places_and_states_its_wait(waiting: Any) -> None:
    ours = waiting(Endpoint(requests_per_minute=60))
    with capture_logs() as logs:
        came = ours.enter([b"wait", 40_000, b"11", b"22"], [b"wait", 20_000, b"11", b"22"], GO)
    assert isinstance(came, Entered)
    assert ours.stopping.waits == [0.037, 0.017], "it asks again a little before its time"
    tokens, patience, _, _, _, *places, waited, _, _, _, _, _, _, _ = zip(*ours.script.told, strict=True)
    assert patience == pytest.approx((10_000_000, 9_963_000, 9_946_000), abs=2)
    assert [*zip(*places, strict=True)] == [("", ""), ("11", "22"), ("11", "22")]
    assert waited == pytest.approx((0, 37_000, 54_000), abs=2)
    assert len(set(tokens)) == 1
    assert [(log["event"], log["endpoint"], log["seconds"]) for log in logs] == [("endpoint.waiting", "ours", 0.04)]


def test_a_wait_for_tokens_is_slept_by_halves_since_others_return_some(waiting: Any) -> None:
    ours = waiting(Endpoint(tokens_per_minute=60_000))
    ours.enter(*([b"wait", wait, b"", b"5"] for wait in (100_000, 30_000, 20_000, 10_000)), GO)
    assert ours.stopping.waits == [0.05, 0.02, 0.017, 0.007]


def test_a_tiny_wait_still_yields(waiting: Any) -> None:
    ours = waiting()
    ours.enter([b"wait", 1_000, b"", b""], GO)
    assert ours.stopping.waits == [0.0005]
    assert ours.script.told[1][7] == pytest.approx(500, abs=2)


def test_a_wait_of_no_time_counts_as_a_wait(waiting: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = waiting()
    monkeypatch.setattr(ours.stopping, "wait", lambda timeout: False)
    ours.enter([b"wait", 1_000, b"", b""], GO)
    assert [told[7] for told in ours.script.told] == [0, 1]


def test_a_process_that_ends_waits_no_longer(waiting: Any) -> None:
    ours = waiting()
    ours.stopping.after = 2
    assert ours.enter([b"wait", 9_000, b"", b""], [b"wait", 9_000, b"", b""], GO) == Refused(why="stopping")
    assert len(ours.stopping.waits) == 2


# -- who probes --------------------------------------------------------------------------------------


def test_a_probe_states_its_pace_and_duration(waiting: Any) -> None:
    limits = Endpoint(requests_per_minute=60)
    ours = waiting(limits)
    with capture_logs() as logs:
        assert ours.probe([b"go"], [b"closed", 2_500_000], within=3.0) == [103.0]
    begin, end = ours.script.told
    assert begin == ["begin", end[1], 4_000_000, Spacing.of(limits).pace, 0, OPENAI]
    assert end == ["end", end[1], "fine", "", 7]
    assert ours.script.keys == endpoint_keys("ours")
    assert [(log["event"], log["endpoint"], log["seconds"]) for log in logs] == [("endpoint.closed", "ours", 2.5)]


def test_a_failed_probe_states_its_failure(waiting: Any) -> None:
    ours = waiting()
    with capture_logs() as logs:
        ours.probe([b"go"], [b"open", b"connection"], failure=Failure(kind="connection"))
    assert ours.script.told[1][2:] == ["failing", "connection", 7]
    assert [(log["event"], log["failure"]) for log in logs] == [("endpoint.probed", "connection")]


def test_a_request_for_models_that_timed_out_speaks_against_the_endpoint(waiting: Any) -> None:
    ours = waiting()
    ours.probe([b"go"], [b"open", b"timeout"], failure=Failure(kind="timeout"))
    assert ours.script.told[1][2] == "failing", "a request was sent"


def test_a_probe_past_its_deadline_holds_for_a_second(waiting: Any) -> None:
    ours = waiting()
    ours.probe([b"go"], [b"tries"], within=-5.0)
    assert ours.script.told[0][2] == 1_000_000


def test_callers_waiting_for_a_probe_share_its_outcome(waiting: Any) -> None:
    ours = waiting()
    assert ours.probe([b"busy", 70_000], [b"busy", 20_000], [b"done"]) == []
    assert ours.stopping.waits == [0.05, 0.02]
    assert [told[4] for told in ours.script.told] == [0, 1, 1]


def test_a_paced_caller_waits_and_probes(waiting: Any) -> None:
    ours = waiting()
    assert ours.probe([b"paced", 30_000], [b"go"], [b"tries"]) == [110.0]
    assert [told[4] for told in ours.script.told[:2]] == [0, 0]
    assert ours.stopping.waits == [0.03]


def test_waiting_for_a_probe_and_then_a_turn_counts_as_waiting_for_the_probe(waiting: Any) -> None:
    ours = waiting()
    ours.probe([b"busy", 30_000], [b"paced", 30_000], [b"done"])
    assert [told[4] for told in ours.script.told] == [0, 1, 1]


def test_no_wait_exceeds_the_deadline(waiting: Any) -> None:
    ours = waiting()
    ours.probe([b"busy", 70_000], [b"busy", 70_000], within=0.03)
    assert ours.stopping.waits == [0.03]
    over = waiting()
    over.probe([b"busy", 70_000], within=0.0)
    assert over.stopping.waits == []


def test_without_a_probe_there_is_no_wait(waiting: Any) -> None:
    ours = waiting()
    assert ours.probe([b"done"]) == []
    assert (ours.stopping.waits, len(ours.script.told)) == ([], 1)


def test_a_process_that_ends_probes_nothing(waiting: Any) -> None:
    ours = waiting()
    ours.stopping.after = 1
    assert ours.probe([b"busy", 30_000], [b"go"]) == []
    assert len(ours.script.told) == 1


def test_while_redis_is_away_nothing_is_probed(waiting: Any) -> None:
    ours = waiting()
    with capture_logs() as logs:
        assert ours.probe(Away("away")) == []
    assert [(log["event"], log["endpoint"], log["error"]) for log in logs] == [
        ("endpoint.gate_away", "ours", "ConnectionError")
    ]


# -- what is counted ---------------------------------------------------------------------------------


def test_unusable_answers_are_counted_one_by_one(waiting: Any) -> None:
    ours = waiting()
    for _ in range(2):
        ours.gate.count_unusable("ours")
    assert ours.client.hget(endpoint_keys("ours")[2], "failures:unusable") == b"2"
