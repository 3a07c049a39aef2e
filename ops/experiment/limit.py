"""The one limit of an experiment: what is spent of it, and whether nothing more can be asked within it."""

from __future__ import annotations

import math
import time

from redis import Redis

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.outage import Pause
from cogitate.scheduler.ledger.real_day import DaySpending, RealDay

LOOKS = 2  # in a row that must find the limit reached: a worker takes up to a quarter of a second to find new room
LOOK_EVERY = 0.6  # seconds
MARGIN = 10.0  # seconds beyond the deadline of a job after which its call is that of a dead worker


class ExperimentLimit:
    """The limit as the workers hold it, on the server of the experiment.

    Args:
        outage: waits for a server that is away.
    """

    def __init__(self, client: Redis, settings: Settings, outage: Pause) -> None:
        """Read which calls are left from workers that were killed: they stay charged, and end no more."""
        self._day, self._outage = RealDay(client, settings), outage
        self._longest = settings.job_deadline + MARGIN
        self._since = dict.fromkeys(outage.read(self._day.in_flight), -math.inf)  # call -> when it was first seen
        self._refused = self.spending().refused
        self._reached = 0  # looks in a row
        self._next_look = 0.0

    def spending(self) -> DaySpending:
        """Return what all runs have spent and reserved."""
        return self._outage.read(self._day.spending)

    def reached(self) -> bool:
        """Return whether workers wait for room that no call in flight can leave any more."""
        now = time.monotonic()
        if now < self._next_look:
            return False
        self._next_look = now + LOOK_EVERY
        calls, refused = self._outage.read(self._day.in_flight), self.spending().refused
        self._since = {call: self._since.get(call, now) for call in calls}
        alive = any(now - since < self._longest for since in self._since.values())
        self._reached = self._reached + 1 if refused > self._refused and not alive else 0
        self._refused = refused
        return self._reached >= LOOKS
