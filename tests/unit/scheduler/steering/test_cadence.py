"""Cadence: kinds are not asked about every owner at every tick, and no due owner is forgotten."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from cogitate.memory.entry import Entry
from cogitate.memory.errors import CogitateError
from cogitate.memory.stream import Stream
from cogitate.scheduler.intake.checks import MAX_INTEGER
from cogitate.scheduler.steering.cadence import MAX_PARAMS, MOST, Cadence, KindFault
from cogitate.tasks.job import Request
from tests.unit.scheduler.scheduler_case import ANN, BOB, Thinker, seen


class Asked:
    """Moments of one tick that record who was asked."""

    def __init__(self, tick: int) -> None:
        self.tick = tick
        self.owners: list[str] = []

    def moment(self, owner: str) -> Any:
        self.owners.append(owner)
        return type("Moment", (), {"owner": owner, "tick": self.tick})()


def free(kind: str, owner: str) -> bool:
    return False


def due(
    cadence: Cadence, tick: int, busy: Callable[[str, str], bool] = free
) -> tuple[list[str], list[tuple[str, str]]]:
    """Who was asked at a tick, and what was wanted."""
    asked = Asked(tick)
    requests = cadence.due(tick, asked.moment, busy)
    cadence.decided(busy)
    return asked.owners, [(request.kind, request.owner) for request in requests]


def test_only_changed_owners_are_evaluated() -> None:
    cadence = Cadence([Thinker("think", when=lambda moment: True)])
    cadence.touch(BOB)
    cadence.touch(ANN)
    assert due(cadence, 1) == ([ANN, BOB], [("think", ANN), ("think", BOB)])
    assert due(cadence, 2) == ([], [])


def test_a_kind_is_evaluated_at_its_named_tick() -> None:
    kinds = [Thinker("think", when=lambda moment: True, next=lambda moment: 9), Thinker("muse", 20)]
    cadence = Cadence(kinds)
    cadence.touch(ANN)
    due(cadence, 1)
    assert [due(cadence, tick)[1] for tick in range(2, 10)] == [[]] * 7 + [[("think", ANN)]]


def test_a_past_tick_means_the_next_one() -> None:
    cadence = Cadence([Thinker("think", when=lambda moment: True, next=lambda moment: 3)])
    cadence.touch(ANN)
    assert due(cadence, 5)[1] == [("think", ANN)]
    assert due(cadence, 6)[1] == [("think", ANN)]


def test_kinds_are_evaluated_in_order() -> None:
    wants = [Thinker("late", 30, when=lambda moment: True), Thinker("early", 10, when=lambda moment: True)]
    cadence = Cadence(wants)
    cadence.touch(ANN)
    assert due(cadence, 1)[1] == [("early", ANN), ("late", ANN)]


def test_a_busy_pair_is_not_evaluated_until_touched() -> None:
    cadence = Cadence([Thinker("think", when=lambda moment: True, next=lambda moment: 4)])
    cadence.touch(ANN)
    assert due(cadence, 1, lambda kind, owner: owner == ANN)[1] == []
    assert due(cadence, 4)[1] == [], "it named no tick, since it was not asked"
    cadence.touch(ANN)
    assert due(cadence, 5)[1] == [("think", ANN)]


def test_a_kind_whose_request_became_a_job_names_no_tick() -> None:
    cadence = Cadence([Thinker("think", when=lambda moment: True, next=lambda moment: pytest.fail("the job's end"))])
    cadence.touch(ANN)
    assert cadence.due(1, Asked(1).moment, free)
    cadence.decided(lambda kind, owner: True)
    assert due(cadence, 2) == ([], [])


def test_former_owners_are_never_evaluated() -> None:
    cadence = Cadence([Thinker("think", when=lambda moment: True, next=lambda moment: 4)])
    cadence.touch(ANN)
    cadence.touch(BOB)
    due(cadence, 1)
    cadence.touch(ANN)
    cadence.forget(ANN)
    assert [due(cadence, tick)[0] for tick in (2, 3, 4)] == [[], [], [BOB]]


def test_a_resumed_host_evaluates_when_an_uninterrupted_one_would() -> None:
    def wants(moment: Any) -> bool:
        return True

    def every_tenth(moment: Any) -> int:
        return int(moment.tick) + 10 - moment.tick % 10

    cadence = Cadence([Thinker("think", when=wants, next=every_tenth)])
    cadence.rewake([Asked(14).moment(ANN), Asked(14).moment(BOB)], lambda kind, owner: owner == BOB)
    assert [due(cadence, tick)[1] for tick in range(15, 21)] == [[]] * 5 + [[("think", ANN)]]


def test_owners_are_evaluated_in_order_of_name() -> None:
    owners = [f"agent:{number:03}" for number in range(100)]
    cadence = Cadence([Thinker("think", when=lambda moment: True)])
    for owner in reversed(owners):
        cadence.touch(owner)
    assert due(cadence, 1) == (owners, [("think", owner) for owner in owners])


# -- kinds that say what cannot be -------------------------------------------------------------------


class Saying(Thinker):
    """A kind that says whatever a test has it say."""

    def __init__(self, says: Callable[[], Any] = list, looks: Callable[[], Any] = lambda: None) -> None:
        super().__init__("think")
        self.says, self.looks = says, looks

    def due(self, moment: Any) -> Any:
        return self.says()

    def wake(self, moment: Any) -> Any:
        return self.looks()


def asked(kind: Thinker) -> tuple[list[Request], tuple[KindFault, ...]]:
    cadence = Cadence([kind])
    cadence.touch(ANN)
    requests = cadence.due(7, Asked(7).moment, free)
    cadence.decided(free)
    return requests, cadence.take_faults()


def fails(error: BaseException) -> Callable[[], Any]:
    def says() -> Any:
        raise error

    return says


def after_one(error: BaseException) -> Callable[[], Any]:
    def says() -> Any:
        yield Request(kind="think", owner=ANN)
        raise error

    return says


class Number(int):
    """A number of a custom class."""


class Unspeakable(Request):  # type: ignore[misc]
    """A request that cannot be asked for anything."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("not now")


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: None, "due returned None: return Requests"),
    (lambda: 5, "due returned a int: return Requests"),
    (lambda: "think", "due returned a str: return Requests"),
    (lambda: "", "due returned a str: return Requests"),
    (lambda: [None], "due returned None: return Requests"),
    (lambda: ["think"], "due returned a str: return Requests"),
    (lambda: [Request(kind="hum", owner=ANN)], "due requested the kind 'hum'"),
    (lambda: [Request(kind="think", owner=BOB)], "due requested the owner 'agent:bob'"),
    (lambda: [Request(kind="think", owner=ANN, at=-1)], "due returned an invalid request: .*at is -1"),
    (
        lambda: [Request(kind="think", owner=ANN, params={"x": "y" * MAX_PARAMS})],
        "due returned an invalid request: .*at most 200,000 fit",
    ),
    (
        lambda: [Unspeakable(kind="think", owner=ANN)],
        r"kind 'think': due raised RuntimeError in test_cadence.py, line \d+$",
    ),
    (lambda: [Request(kind="think", owner=ANN)] * (MOST + 1), "due returned more than 1000 Requests"),
    (fails(ValueError("what Ada remembers")), r"kind 'think': due raised ValueError in test_cadence.py, line \d+$"),
    (after_one(CogitateError("what Ada")), r"kind 'think': due raised CogitateError in test_cadence.py, line \d+$"),
    (after_one(GeneratorExit()), "kind 'think': due raised GeneratorExit in test_cadence.py, line"),
]


@pytest.mark.parametrize(("says", "why"), WRONG, ids=[row[1][:40] for row in WRONG])
def test_a_kind_with_an_invalid_request_is_named_and_requests_nothing(says: Callable[[], Any], why: str) -> None:
    requests, [fault] = asked(Saying(says))
    assert requests == []
    assert fault[:2] == ("think", ANN)
    assert re.match(why, fault.why)
    assert len(fault.why) <= 300


@pytest.mark.parametrize(
    ("looks", "why"),
    [
        (lambda: True, "wake returned a bool: return the number of a tick, or None"),
        (lambda: 8.0, "wake returned a float: return the number of a tick, or None"),
        (lambda: "8", "wake returned a str"),
        (fails(LookupError("no sleep")), r"kind 'think': wake raised LookupError in test_cadence.py, line \d+$"),
        (fails(GeneratorExit()), "kind 'think': wake raised GeneratorExit in test_cadence.py"),
    ],
)
def test_a_kind_without_a_next_tick_is_evaluated_at_the_next(looks: Callable[[], Any], why: str) -> None:
    cadence = Cadence([Saying(lambda: [Request(kind="think", owner=ANN)], looks=looks)])
    cadence.touch(ANN)
    assert [due(cadence, tick)[1] for tick in (7, 8)] == [[("think", ANN)]] * 2
    faults = cadence.take_faults()
    assert [fault[:2] for fault in faults] == [("think", ANN)] * 2
    assert all(re.match(why, fault.why) for fault in faults)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_process_ending_exceptions_pass(error: BaseException) -> None:
    for kind in (Saying(fails(error)), Saying(after_one(error)), Saying(looks=fails(error))):
        with pytest.raises(type(error)) as raised:
            asked(kind)
        assert raised.value is error


def test_a_kind_may_request_up_to_the_bounds() -> None:
    fitting = Request(kind="think", owner=ANN, at=MAX_INTEGER, params={"x": "y" * (MAX_PARAMS - len('{"x": ""}'))})
    assert asked(Saying(lambda: [fitting])) == ([fitting], ())
    assert len(asked(Saying(lambda: iter([Request(kind="think", owner=ANN)] * MOST)))[0]) == MOST


def test_a_number_of_another_class_names_a_tick() -> None:
    cadence = Cadence([Saying(lambda: [Request(kind="think", owner=ANN)], looks=lambda: Number(9))])
    cadence.touch(ANN)
    assert [due(cadence, tick)[1] for tick in (7, 8, 9)] == [[("think", ANN)], [], [("think", ANN)]]


class Choosy(Thinker):
    """A kind that heeds what is yet to come."""

    def heeds(self, entry: Entry, stream: Stream, world: Any, minute: int) -> bool:
        return entry.minute > minute


def test_an_observation_evaluates_heeding_kinds_and_other_changes_all() -> None:
    def wants(moment: Any) -> bool:
        return True

    cadence = Cadence([Choosy("choose", 10, when=wants), Thinker("think", 20, when=wants)])
    streams: Any = {ANN: Stream(ANN), BOB: Stream(BOB)}
    cadence.observed([(ANN, seen("Rain.", 4)), (BOB, seen("Fire!", 6))], streams, None, 5)
    assert due(cadence, 1)[1] == [("think", ANN), ("choose", BOB), ("think", BOB)]
    assert due(cadence, 2)[1] == []
    cadence.touch(ANN)
    assert due(cadence, 3)[1] == [("choose", ANN), ("think", ANN)]


def test_a_kind_whose_heeds_raises_is_evaluated_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> bool:
        raise KeyError("what Ann remembers")

    monkeypatch.setattr(Choosy, "heeds", fail)
    cadence = Cadence([Choosy("choose", when=lambda moment: True)])
    cadence.observed([(ANN, seen("Rain."))], {ANN: Stream(ANN)}, None, 0)  # type: ignore[arg-type]
    [fault] = cadence.take_faults()
    assert fault[:2] == ("choose", ANN)
    assert re.fullmatch(r"kind 'choose': heeds raised KeyError in test_cadence.py, line \d+", fault.why)
    assert due(cadence, 1)[1] == [("choose", ANN)]
