"""Cadence: nobody is asked at every tick, and nobody whose turn it is is forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scheduler.steering.cadence import Cadence
from tests.unit.scheduler.scheduler_case import ANN, BOB, Thinker


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
    return asked.owners, [(request.kind, request.owner) for request in requests]


def test_only_who_changed_is_asked() -> None:
    cadence = Cadence([Thinker("think", when=lambda moment: True)])
    cadence.touch(BOB)
    cadence.touch(ANN)
    assert due(cadence, 1) == ([ANN, BOB], [("think", ANN), ("think", BOB)])
    assert due(cadence, 2) == ([], [])


def test_a_kind_is_asked_at_the_tick_it_named() -> None:
    kinds = [Thinker("think", when=lambda moment: True, next=lambda moment: 9), Thinker("muse", 20)]
    cadence = Cadence(kinds)
    cadence.touch(ANN)
    due(cadence, 1)
    assert [due(cadence, tick)[1] for tick in range(2, 10)] == [[]] * 7 + [[("think", ANN)]]


def test_a_tick_that_is_over_means_the_next() -> None:
    cadence = Cadence([Thinker("think", when=lambda moment: True, next=lambda moment: 3)])
    cadence.touch(ANN)
    assert due(cadence, 5)[1] == [("think", ANN)]
    assert due(cadence, 6)[1] == [("think", ANN)]


def test_kinds_are_asked_in_their_order() -> None:
    wants = [Thinker("late", 30, when=lambda moment: True), Thinker("early", 10, when=lambda moment: True)]
    cadence = Cadence(wants)
    cadence.touch(ANN)
    assert due(cadence, 1)[1] == [("early", ANN), ("late", ANN)]


def test_a_busy_pair_is_not_asked_until_it_is_touched() -> None:
    cadence = Cadence([Thinker("think", when=lambda moment: True, next=lambda moment: 4)])
    cadence.touch(ANN)
    assert due(cadence, 1, lambda kind, owner: owner == ANN)[1] == []
    assert due(cadence, 4)[1] == [], "it named no tick, since it was not asked"
    cadence.touch(ANN)
    assert due(cadence, 5)[1] == [("think", ANN)]


def test_who_has_left_is_never_asked() -> None:
    cadence = Cadence([Thinker("think", when=lambda moment: True, next=lambda moment: 4)])
    cadence.touch(ANN)
    cadence.touch(BOB)
    due(cadence, 1)
    cadence.touch(ANN)
    cadence.forget(ANN)
    assert [due(cadence, tick)[0] for tick in (2, 3, 4)] == [[], [], [BOB]]


def test_a_resumed_host_asks_when_an_uninterrupted_one_would() -> None:
    def wants(moment: Any) -> bool:
        return True

    def every_tenth(moment: Any) -> int:
        return int(moment.tick) + 10 - moment.tick % 10

    cadence = Cadence([Thinker("think", when=wants, next=every_tenth)])
    cadence.rewake([Asked(14).moment(ANN), Asked(14).moment(BOB)], lambda kind, owner: owner == BOB)
    assert [due(cadence, tick)[1] for tick in range(15, 21)] == [[]] * 5 + [[("think", ANN)]]
