"""The one limit of an experiment: its spending, and whether it leaves no room for any further call."""

from __future__ import annotations

import math
import time

from redis import Redis

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.outage import Pause
from cogitate.scheduler.ledger.real_day import DaySpending, RealDay

LOOKS = 2  # consecutive looks that must find the limit reached: a worker finds new room within a quarter of a second
LOOK_EVERY = 0.6  # seconds
MARGIN = 10.0  # seconds after a job's deadline at which its worker counts as dead


class ExperimentLimit:
    """The limit that the workers keep on the experiment's server.

    Args:
        outage: waits for a server that is away.
    """

    def __init__(self, client: Redis, settings: Settings, outage: Pause) -> None:
        """Read the calls in flight: they belong to killed workers, stay charged and never end."""
        self._day, self._outage = RealDay(client, settings), outage
        self._longest = settings.job_deadline + MARGIN
        self._since = dict.fromkeys(outage.read(self._day.in_flight), -math.inf)  # call -> when it was first seen
        self._refused = self.spending().refused
        self._reached = 0  # consecutive looks that found the limit reached
        self._next_look = 0.0

    def spending(self) -> DaySpending:
        """Return the amounts that all runs have spent and reserved."""
        return self._outage.read(self._day.spending)

    def reached(self) -> bool:
        """Return whether workers were refused room, and no call in flight can still free any."""
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
