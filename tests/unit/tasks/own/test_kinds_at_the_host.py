"""A host's own kind at the host: each fault is reported by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from fakeredis import FakeRedis
from structlog.testing import capture_logs

from cogitate import Profile, TickLoop
from cogitate.errors import InputError
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.tasks.job import Reads, Request
from cogitate.tasks.registry import register
from tests.unit.tasks.own.declared_case import ADA, Whim, but
from tests.unit.tasks.own_kind_case import Own, asked_every_tick

# -- what a kind does at the host ---------------------------------------------------------------------


def fail(moment: Any) -> Any:
    raise KeyError("tune")


def fail_later(moment: Any) -> Any:
    yield Request(kind="hum", owner=moment.owner)
    raise ZeroDivisionError


def unending(moment: Any) -> Any:
    while True:
        yield Request(kind="hum", owner=moment.owner)


def asking(**fields: Any) -> Callable[[Any], Any]:
    return lambda moment: [Request(**{"kind": "hum", "owner": moment.owner} | fields)]


class Exploding(Exception):
    """An error that cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("not now")


class Strange(str):
    """A string that cannot be compared."""

    def __ne__(self, other: object) -> bool:
        raise RuntimeError("not now")

    __hash__ = None  # type: ignore[assignment]


def raising(error: BaseException) -> Callable[[Any], Any]:
    def ask(moment: Any) -> Any:
        raise error

    return ask


def no_request(moment: Any) -> tuple[()]:
    """Ask for nothing: a kind whose request becomes a job is not asked for its next tick."""
    return ()


AT_THE_HOST: dict[str, tuple[dict[str, Any], str]] = {
    "due raises": ({"asks": fail}, r"due raised KeyError in test_kinds_at_the_host.py, line \d+$"),
    "due raises later": ({"asks": fail_later}, "due raised ZeroDivisionError"),
    "due is closed": ({"asks": raising(GeneratorExit())}, "due raised GeneratorExit in "),
    "due explodes": ({"asks": raising(Exploding())}, "due raised Exploding in "),
    "due returns none": ({"asks": lambda moment: None}, r"due returned None: return Requests, or \(\)"),
    "due returns one": ({"asks": lambda moment: asked_every_tick(moment)[0]}, "due returned a Request: return"),  # type: ignore[index]
    "due returns a word": ({"asks": lambda moment: "hum"}, "due returned a str"),
    "due says a word": ({"asks": lambda moment: ["hum"]}, "due returned a str: return Requests"),
    "due says none": ({"asks": lambda moment: [None]}, "due returned None: return Requests"),
    "due has no end": ({"asks": unending}, "due returned more than 1000 Requests"),
    "another's kind": ({"asks": asking(kind="plan")}, "due requested the kind 'plan'"),
    "no kind": ({"asks": asking(kind=None)}, "due requested the kind None"),
    "another owner": ({"asks": asking(owner="agent:ben")}, "due requested the owner 'agent:ben'"),
    "params a list": ({"asks": asking(params=[1])}, "give a JSON object"),
    "params an object": ({"asks": asking(params={"x": object()})}, "params must be JSON values"),
    "params too large": ({"asks": asking(params={"x": "y" * 300_000})}, "params have 300,009 bytes"),
    "numbers one": ({"asks": asking(numbers=3)}, "numbers are 3"),
    "numbers below one": ({"asks": asking(numbers=(0,))}, "numbers is 0"),
    "priority a word": ({"asks": asking(priority="high")}, "priority is 'high'"),
    "trial five": ({"asks": asking(trial=5)}, "trial is 5: give an integer from 0 to 0"),
    "trial below": ({"asks": asking(trial=-1)}, "trial is -1: give an integer from 0 to 0"),
    "trial a word": ({"asks": asking(trial="2")}, "trial is '2'"),
    "owner that raises": ({"asks": asking(owner=Strange("agent:ada"))}, "due raised RuntimeError in "),
    "reads a word": ({"asks": asking(reads=("agent:ben",))}, "due returned an invalid request: hum for 'agent:ada'"),
    "reads half": ({"asks": asking(reads=(Reads("agent:ben", None),))}, "due returned an invalid request"),  # type: ignore[arg-type]
    "wake raises": (
        {"asks": no_request, "wakes": fail},
        r"wake raised KeyError in test_kinds_at_the_host.py, line \d+$",
    ),
    "wake explodes": ({"wakes": raising(Exploding())}, "wake raised Exploding in "),
    "wake a float": (
        {"asks": no_request, "wakes": lambda moment: moment.tick + 0.5},
        "wake returned a float: return the number of a tick",
    ),
    "wake a word": ({"wakes": lambda moment: "tomorrow"}, "wake returned a str"),
    "wake true": ({"wakes": lambda moment: True}, "wake returned a bool"),
}


@pytest.mark.parametrize(("does", "why"), AT_THE_HOST.values(), ids=AT_THE_HOST)
def test_a_failing_due_method_skips_one_owner_at_one_tick(
    cogitate_loop: Callable[..., TickLoop], does: dict[str, Any], why: str
) -> None:
    good, broken = Own(), Own(**{"asks": no_request, **does})

    def at(moment: Any) -> Own:
        return broken if moment.owner == "agent:ada" and moment.tick in (3, 4) else good

    register(Own(asks=lambda moment: at(moment).due(moment), wakes=lambda moment: at(moment).wake(moment)))
    client, owners = FakeRedis(), ADA | {"agent:ben": Profile(name="Ben Cole")}
    loop = cogitate_loop(owners=owners, ticks=8, client=client)
    with capture_logs() as logs:
        thought = [(tick.number, change.owner) for tick in loop for change in tick.applied if change.kind == "hum"]
    left_out = {(4, "agent:ada"), (5, "agent:ada")}
    assert thought == [(n, owner) for n in range(2, 9) for owner in sorted(owners) if (n, owner) not in left_out]
    told = [(log["kind"], log["owner"], log["tick"]) for log in logs if log["event"] == "kind.failed"]
    assert told == [("hum", "agent:ada", 3)], "once"
    assert re.search(why, next(log["why"] for log in logs if log["event"] == "kind.failed"))
    assert summarise_run(client, "test").warnings == {"kind.failed": 2}
    assert audit(client, "test") == []
    assert replay(client, "test", FakeRedis()).digest == loop.digest


def test_a_run_resumed_while_a_kind_fails_matches_an_uninterrupted_one(
    cogitate_loop: Callable[..., TickLoop],
) -> None:
    def broken(moment: Any) -> Any:
        if 2 <= moment.tick <= 6:
            raise LookupError("no tune")
        return moment.tick + 2

    register(Own(asks=lambda moment: broken(moment) and asked_every_tick(moment), wakes=broken))

    def lived(*ends: int) -> str:
        client = FakeRedis()
        for at, end in enumerate(ends):
            resumed = {"owners": {}, "exist": "resume"} if at else {"owners": ADA}
            loop = cogitate_loop(ticks=end, client=client, **resumed)
            for _ in loop:
                pass
        return loop.digest

    assert lived(12) == lived(4, 12) == lived(2, 5, 7, 12)


@pytest.mark.parametrize("method", ["asks", "wakes", "heeds", "makes"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_a_process_ending_exception_is_no_fault_of_a_kind(
    cogitate_loop: Callable[..., TickLoop], method: str, error: type[BaseException]
) -> None:
    def leave(*_: Any) -> Any:
        raise error

    given = {"asks": no_request, "wakes": lambda moment: None} if method in ("wakes", "heeds") else {}
    kind = Own(**given) if method == "heeds" else Own(**{**given, method: leave})
    if method == "heeds":
        kind.heeds = leave  # type: ignore[attr-defined]
    register(kind)
    loop = cogitate_loop(owners=ADA, ticks=4)

    def live() -> None:
        for tick in loop:
            loop.observe("agent:ada", {"text": "A tune was played.", "minute": tick.minute})

    with pytest.raises(error):
        live()


def test_a_wake_tick_in_the_past_means_the_next_tick(cogitate_loop: Callable[..., TickLoop]) -> None:
    asked: list[int] = []

    def ask(moment: Any) -> Any:
        asked.append(moment.tick)
        return ()

    register(Own(asks=ask, wakes=lambda moment: 0))
    for _ in cogitate_loop(owners=ADA, ticks=4):
        pass
    assert asked == [1, 2, 3, 4]


def test_a_request_whose_params_a_class_cannot_take_is_refused(cogitate_loop: Callable[..., TickLoop]) -> None:
    register(but(params=Whim))
    loop = cogitate_loop(owners=ADA, ticks=2)
    for tick in loop:
        with pytest.raises(InputError, match=r"^hum for 'agent:ada': params .*'mood'.*; hum takes mood$"):
            loop.request("hum", "agent:ada", params={"mood": "glad"})
        assert tick.number


@pytest.mark.parametrize("error", [GeneratorExit(), Exploding()])
def test_a_brief_that_ends_is_a_failure_of_the_brief(
    cogitate_loop: Callable[..., TickLoop], error: BaseException
) -> None:
    register(Own())
    with pytest.raises(InputError, match=rf"brief\('agent:ada'\) failed: {type(error).__name__}: "):
        for _ in cogitate_loop(owners=ADA, ticks=2, brief=raising(error)):
            pass
