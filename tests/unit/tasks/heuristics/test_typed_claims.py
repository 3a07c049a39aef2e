"""Claims of a reflection about promises and appointments agree with the world's own log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from cogitate.memory.clock import DAY, day_of
from cogitate.memory.language.quotations import without_marks
from cogitate.memory.language.text import stems
from cogitate.memory.language.times import anchor_days, days_named, find_times
from cogitate.simulation.town.perception import Seen
from cogitate.simulation.town.town import Town
from cogitate.tasks.heuristics.findings import promises_of, typed_findings
from cogitate.tasks.heuristics.recalled import Recalled
from tests.unit.tasks.heuristics.lived_days import lived


class LoggedTown(Town):
    """A town whose promises and dates are logged."""

    def __init__(self, agents: int, seed: int) -> None:
        super().__init__(agents=agents, seed=seed)
        self.given: set[tuple[str, str, str]] = set()  # giver, taker and deed of promises
        self.open: set[tuple[str, str, str]] = set()
        self.dates: set[int] = set()  # of appointments and of what was announced

    def step(self, tick: int, minute: int) -> list[Seen]:
        """Live until a game time, and log the state then."""
        seen = super().step(tick, minute)
        state: dict[str, Any] = json.loads(self.dump())
        self.open = {(p["giver"], p["taker"], p["thing"]) for p in state["promises"]}
        self.given |= self.open
        self.dates |= {dated["minute"] for kind in ("appointments", "news") for dated in state[kind].values()}
        return seen


def _logged(town: LoggedTown, giver: str, taker: str, deed: str) -> Sequence[tuple[str, str, str]]:
    words = set(stems(deed))
    return [
        one
        for one in town.given
        if one[0] == giver and taker in ("", one[1]) and 2 * len(words & set(stems(one[2]))) >= len(words)
    ]


def test_promises_and_appointments_are_claimed_as_the_town_logged_them() -> None:
    town = LoggedTown(agents=12, seed=5)
    given = settled = coming = 0
    recalled: Recalled
    for recalled in lived(town, 3 * DAY):
        promises = promises_of(recalled)
        for promise in promises:
            logged = _logged(town, promise.giver, promise.taker, promise.deed)
            assert logged, promise
            given += 1
            if promise.settled:
                settled += 1
                assert not set(logged) <= town.open, promise
        for finding in typed_findings(recalled, promises):
            if finding.evidence not in {promise.evidence for promise in promises}:
                coming += 1
                minute = recalled.by_number[finding.evidence[0]].minute
                said = anchor_days(without_marks(finding.text), minute)
                day = (days_named(said) or [day_of(minute)])[-1]
                assert {day * DAY + time.minute for time in find_times(said)} & town.dates, finding.text
    assert min(given, settled, coming) > 5
