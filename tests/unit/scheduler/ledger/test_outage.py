"""What a host does while its ledger is away: how often it asks, how long, and what it keeps meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as Disconnected
from redis.exceptions import TimeoutError as Slow
from structlog.testing import capture_logs

from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.ledger import outage as module
from cogitate.scheduler.ledger.errors import Fenced, LedgerUnavailable
from cogitate.scheduler.ledger.outage import FIRST_PAUSE, LONGEST_PAUSE, CarryOn, Pause, is_outage, outage_of


class Clock:
    """Time that passes only in sleeps."""

    def __init__(self) -> None:
        self.now, self.slept = 0.0, list[float]()

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Server:
    """A server that answers each call with the next of these, and goes on with the last."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.calls = list(answers), 0

    def __call__(self) -> Any:
        self.calls += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


AWAY, SLOW, ODD = Disconnected("refused"), Slow("no reply"), ResponseError("ERR wrong number of arguments")


@pytest.mark.parametrize(
    ("error", "away"),
    [
        (AWAY, True),
        (SLOW, True),
        (BusyLoadingError("loading"), True),
        (OutOfMemoryError("maxmemory"), True),
        (ReadOnlyError("replica"), True),
        (ClusterDownError("down"), True),
        (ResponseError("MISCONF Redis is configured to save"), True),
        (ResponseError("NOREPLICAS Not enough"), True),
        (ResponseError("MASTERDOWN Link"), True),
        (TryAgainError("later"), True),
        (ODD, False),
        (ResponseError("it is MISCONF"), False),
        (NoScriptError("unknown"), False),
        (RedisError("x"), False),
        (AuthenticationError("wrong"), True),
    ],
)
def test_an_error_that_may_pass_is_an_outage(error: RedisError, away: bool) -> None:
    assert is_outage(error) is away


def test_settings_say_how_a_host_bears_it() -> None:
    settings = PinnedSettings.tuned(outage_wait=7.0, outage_buffer=10)
    waits = outage_of(settings, "town", Server(1))
    assert isinstance(waits, Pause)
    goes_on = outage_of(settings.model_copy(update={"on_outage": "carry_on"}), "town", Server(1))
    assert isinstance(goes_on, CarryOn)
    assert [(one.lost, one.back()) for one in (waits, goes_on)] == [(0.0, True)] * 2


# -- waiting -----------------------------------------------------------------------------------------


def pause(wait: float = 60.0) -> tuple[Pause, Clock]:
    clock = Clock()
    return Pause("town", wait, clock=clock, sleep=clock.sleep), clock


def test_a_closed_connection_is_retried_once_without_a_log() -> None:
    waits, clock = pause()
    server = Server(AWAY, [b"ok"])
    with capture_logs() as logs:
        assert waits.send(server, 10) == [b"ok"]
    assert (server.calls, clock.slept, waits.lost, logs) == (2, [], 0.0, [])


def test_an_outage_is_logged_after_a_second_failure() -> None:
    waits, clock = pause()
    with capture_logs() as logs:
        assert waits.read(Server(AWAY, AWAY, "there")) == "there"
    assert [entry["event"] for entry in logs] == ["ledger.away", "ledger.back"]
    assert clock.slept == [0.05]


def test_a_wait_ends_at_the_first_failure_after_its_stop() -> None:
    clock, asked = Clock(), [False, True]
    waits = Pause("town", 60.0, stop=lambda: asked.pop(0), clock=clock, sleep=clock.sleep)
    server = Server(AWAY, AWAY, b"ok")
    with pytest.raises(LedgerUnavailable, match="run 'town' was stopped while Redis did not answer"):
        waits.send(server, 10)
    assert (server.calls, clock.slept) == (2, [])


@pytest.mark.parametrize("on_outage", ["pause", "carry_on"])
def test_nobody_waits_for_a_server_that_is_no_longer_restarted(on_outage: str) -> None:
    settings = PinnedSettings.tuned(outage_wait=1e9, on_outage=on_outage)
    asked = [False, True]
    outage = outage_of(settings, "town", Server(*[AWAY] * 9), lambda: asked.pop(0) if len(asked) > 1 else asked[0])

    def end() -> None:
        outage.send(Server(*[AWAY] * 9), 10)
        outage.settle()

    with pytest.raises(LedgerUnavailable, match="run 'town': Redis stopped and could not be restarted"):
        end()


def test_pauses_double_up_to_a_second_and_the_wait_is_measured() -> None:
    waits, clock = pause()
    for _ in range(2):
        with capture_logs() as logs:
            assert waits.read(Server(*[AWAY] * 9, "there")) == "there"
        assert [entry["event"] for entry in logs] == ["ledger.away", "ledger.back"]
        assert [entry["run"] for entry in logs] == ["town"] * 2
    assert clock.slept == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0] * 2
    assert waits.lost == pytest.approx(sum(clock.slept))
    assert (FIRST_PAUSE, LONGEST_PAUSE) == (0.05, 1.0)


@pytest.mark.parametrize("wait", [0.12, 3.0])
def test_a_host_tries_once_more_at_its_deadline(wait: float) -> None:
    waits, clock = pause(wait)
    server = Server(AWAY)
    with pytest.raises(
        LedgerUnavailable, match=rf"run 'town': .* within {wait:g} s \(outage_wait\): .*refused"
    ) as over:
        waits.read(server)
    assert over.value.__cause__ is AWAY
    assert sum(clock.slept) == pytest.approx(wait)
    assert server.calls == len(clock.slept) + 2


def test_without_a_wait_an_outage_is_raised_at_once() -> None:
    waits, clock = pause(0.0)
    server = Server(AWAY)
    with pytest.raises(LedgerUnavailable):
        waits.read(server)
    assert (server.calls, clock.slept) == (1, [])


def test_an_error_that_waiting_cannot_cure_is_raised() -> None:
    for outage in (pause()[0], CarryOn("town", 60.0, 100, Server(1))):
        server = Server(ODD)
        with pytest.raises(ResponseError, match="wrong number"):
            outage.read(server)
        with pytest.raises(ResponseError, match="wrong number"):
            outage.send(server, 1)
        assert server.calls == 2
    waits = pause()[0]
    waits.missed(ODD)
    waits.settle()
    assert waits.back()


# -- carrying on -------------------------------------------------------------------------------------


class Probes:
    """The threads that a host would start to look for its server."""

    def __init__(self) -> None:
        self.started: list[Callable[[], None]] = []
        self.daemons: list[bool] = []

    def __call__(self, *, target: Callable[[], None], name: str, daemon: bool) -> Any:
        self.daemons.append(daemon)
        return SimpleNamespace(start=lambda: self.started.append(target))


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Probes]:
    found = Probes()
    monkeypatch.setattr(module, "threading", SimpleNamespace(Thread=found, Event=threading.Event))
    yield found
    assert all(found.daemons), "a process may end although its server is away"


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=clock.sleep, monotonic=clock))
    return clock


def steps(*answers: Any) -> list[Server]:
    return [Server(answer) for answer in answers]


def test_a_closed_connection_is_tried_once_more_and_a_stalled_server_is_not(probes: Probes) -> None:
    goes_on = CarryOn("town", 60.0, 100, Server(1))
    server = Server(AWAY, [b"ok"])
    assert goes_on.send(server, 50) == [b"ok"]
    assert (server.calls, probes.started) == (2, [])
    slow = Server(SLOW)
    assert goes_on.read(slow) is None
    assert slow.calls == 1
    assert len(probes.started) == 1


def test_failed_and_later_writes_are_buffered_and_written_in_order(probes: Probes, time: Clock) -> None:
    written: list[int] = []
    goes_on, server = CarryOn("town", 60.0, 100, Server(AWAY, AWAY, "PONG")), {"away": True}

    def step(number: int) -> Callable[[], Any]:
        def take() -> Any:
            if server["away"]:
                raise SLOW
            written.append(number)
            return [number]

        return take

    with capture_logs() as logs:
        assert [goes_on.send(step(number), 30) for number in (1, 2)] == [None, None]
        assert not goes_on.back()
        assert goes_on.read(step(9)) is None, "no call is made before the server is found"
        assert len(probes.started) == 1, "one looks for it"
        probes.started[0]()
        assert time.slept == [0.05, 0.1, 0.2]
        assert goes_on.send(step(3), 30) is None, "the server is there, and does not answer"
        assert len(probes.started) == 2
        server["away"] = False
        probes.started[1]()
        assert goes_on.send(step(4), 100) == [4]
    assert written == [1, 2, 3, 4]
    assert [(entry["event"], entry.get("steps")) for entry in logs] == [("ledger.away", None), ("ledger.back", 3)]
    server["away"] = True
    with capture_logs() as logs:
        assert goes_on.send(step(5), 100) is None, "written steps free their room"
    assert [entry["event"] for entry in logs] == ["ledger.away"], "each time is told"


def test_the_buffer_is_bounded(probes: Probes) -> None:
    goes_on = CarryOn("town", 60.0, 100, Server(1))
    assert [goes_on.send(Server(SLOW), size) for size in (60, 40)] == [None, None]
    with pytest.raises(
        LedgerUnavailable, match=r"run 'town': .* more than 100 bytes \(outage_buffer\); 3 steps are not"
    ):
        goes_on.send(Server(SLOW), 1)


def test_a_server_that_goes_away_while_it_is_written_keeps_the_rest(probes: Probes) -> None:
    goes_on = CarryOn("town", 60.0, 100, Server(1))
    first, second = Server(SLOW, "taken"), Server(SLOW, "taken")
    assert [goes_on.send(step, 50) for step in (first, second)] == [None, None]
    assert (first.calls, second.calls) == (1, 0)
    probes.started[0]()
    assert not goes_on.back()
    assert len(probes.started) == 2
    probes.started[1]()
    assert goes_on.back()
    assert (first.calls, second.calls) == (2, 2)


def test_a_fenced_host_learns_how_much_it_discards(probes: Probes) -> None:
    goes_on = CarryOn("town", 60.0, 100, Server(1))
    for step in (Server(SLOW, Fenced("another host")), Server(1)):
        goes_on.send(step, 10)
    probes.started[0]()
    with pytest.raises(Fenced, match="another host") as fenced:
        goes_on.back()
    assert fenced.value.__notes__ == ["the 2 buffered steps are discarded"]


def test_an_outage_is_logged_once(probes: Probes) -> None:
    goes_on = CarryOn("town", 60.0, 100, Server(1))
    with capture_logs() as logs:
        for _ in range(3):
            goes_on.missed(SLOW)
    assert [(entry["event"], entry["policy"], entry["error"]) for entry in logs] == [
        ("ledger.away", "carry_on", "TimeoutError: no reply")
    ]
    assert len(probes.started) == 1
    with pytest.raises(ResponseError):
        goes_on.missed(ODD)
    with capture_logs() as logs:
        CarryOn("town", 60.0, 100, Server(1)).missed(Slow("x" * 300))
    assert logs[0]["error"] == "TimeoutError: " + "x" * (200 - len("TimeoutError: "))


def test_a_closing_host_waits_until_everything_is_written(probes: Probes, time: Clock) -> None:
    goes_on = CarryOn("town", 5.0, 100, Server("PONG"))
    goes_on.send(step := Server(SLOW, "taken"), 10)
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        time.now += seconds
        if len(waited) == 3:
            probes.started[0]()

    goes_on._answers.wait = wait  # type: ignore[assignment]
    goes_on.settle()
    assert (waited, step.calls) == ([1.0] * 3, 2)
    goes_on.settle()
    assert len(waited) == 3, "nothing is kept any more"


def test_a_closing_host_waits_no_longer_than_allowed(probes: Probes, time: Clock) -> None:
    goes_on = CarryOn("town", 2.5, 100, Server("PONG"))
    goes_on.send(Server(SLOW), 10)
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        time.now += seconds

    goes_on._answers.wait = wait  # type: ignore[assignment]
    with pytest.raises(LedgerUnavailable, match=r"within 2.5 s of the end \(outage_wait\); 1 steps are not written"):
        goes_on.settle()
    assert waited == [1.0, 1.0, 0.5]
