"""A limit per real day, in UTC, for all runs of a server together: the last limit on spending.

A worker reserves the whole cost of an attempt from the day before it calls a model, and gives the unused part back
afterwards. A call without room is not made: the job falls to its heuristic, as after any other failed call. What a dead
worker reserved and never settled stays taken until the day is over. An answer that costs more than was reserved is
booked as an overrun, and the next calls find so much less. While Redis cannot be reached, no model is called, and what
a call had reserved stays taken.

An experiment starts its own server, and its limit counts all that its runs spend there, whatever the date.

No decision of a run depends on it: to the run it is a failed call. A worker without such a limit neither counts nor
refuses, so all workers of a server need the same one. The date is that of the worker's clock when it reserves; the call
is charged to that date, whenever it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal, NamedTuple

import msgspec
import structlog
from redis import Redis
from redis.exceptions import RedisError

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.connect import read_hash
from cogitate.scheduler.ledger.keys import new_nonce, real_day_key, script
from cogitate.tasks.job import Cost

log = structlog.get_logger()

KEPT_SECONDS = 40 * 86_400  # how long the figures of a day are kept
EXPERIMENT = "experiment"  # in place of a date


class Held(NamedTuple):
    """The reservation of one call from a day."""

    date: str
    token: str


UNLIMITED = Held("", "")  # by a process without such a limit: it counts nothing

Refused = Literal["real_day_spent", "real_day_away", "real_day_unpriced", "experiment_spent"]


class DaySpending(msgspec.Struct, frozen=True, kw_only=True):
    """A real day in figures. Limits that are None are not set."""

    date: str  # "2026-03-01", UTC, or "experiment"
    limit_tokens: int | None
    limit_usd_micros: int | None
    reserved: Cost
    spent: Cost
    overrun: Cost  # part of what was spent
    refused: int  # calls that were not made

    @property
    def limited(self) -> bool:
        return self.limit_tokens is not None or self.limit_usd_micros is not None


def utc_date() -> str:
    """Return the date now, as "2026-03-01"."""
    return datetime.now(UTC).date().isoformat()


class RealDay:
    """The limits of a process's settings, held against what all processes have spent. Thread-safe."""

    def __init__(self, client: Redis, settings: Settings, today: Callable[[], str] | None = None) -> None:
        self._client = client
        self._tokens = settings.real_day_tokens
        self._usd_micros = None if settings.real_day_usd is None else round(settings.real_day_usd * 1_000_000)
        self._experiment = settings.tuning.experiment != ""
        self._today = today or ((lambda: EXPERIMENT) if self._experiment else utc_date)
        self._logged = ""  # the date on which the log said that the day is spent
        self._script = script(client, "real_day")

    @property
    def limits(self) -> bool:
        """Return whether these settings limit the spending of a day."""
        return self._tokens is not None or self._usd_micros is not None

    def reserve(self, cost: Cost, *, priced: bool = True) -> Held | Refused:
        """Take the most that a call may cost, or say why the call must not be made.

        Args:
            priced: whether the run knows the price of the model; otherwise the cost in money would count as 0.
        """
        if not self.limits:
            return UNLIMITED
        if self._usd_micros is not None and not priced:
            return "real_day_unpriced"
        held = Held(self._today(), new_nonce())
        limits = ["" if limit is None else limit for limit in (self._tokens, self._usd_micros)]
        seconds = "" if self._experiment else KEPT_SECONDS
        if (answer := self._call(held, "reserve", cost, *limits, seconds)) == "reserved":
            return held
        if answer == "refused" and self._experiment:
            return "experiment_spent"
        if answer == "refused" and self._logged != held.date:
            self._logged = held.date
            log.warning("real_day.spent", date=held.date, tokens=self._tokens, usd_micros=self._usd_micros)
        return "real_day_spent" if answer == "refused" else "real_day_away"

    def settle(self, held: Held, used: Cost) -> None:
        """Book the true cost of a call in place of its reservation."""
        if held != UNLIMITED:
            self._call(held, "settle", used)

    def spending(self) -> DaySpending:
        date = self._today()
        fields = read_hash(self._client, real_day_key(date))
        found = {field.decode(): int(value) for field, value in fields.items() if not field.startswith(b"call:")}

        def account(name: str) -> Cost:
            return Cost(tokens=found.get(f"{name}:tokens", 0), usd_micros=found.get(f"{name}:usd_micros", 0))

        return DaySpending(
            date=date,
            limit_tokens=self._tokens,
            limit_usd_micros=self._usd_micros,
            reserved=account("reserved"),
            spent=account("spent"),
            overrun=account("overrun"),
            refused=found.get("refused", 0),
        )

    def in_flight(self) -> set[str]:
        """Return the calls that have reserved and not settled, those of dead workers included."""
        fields = read_hash(self._client, real_day_key(self._today()))
        return {field.decode() for field in fields if field.startswith(b"call:")}

    def _call(self, held: Held, verb: Literal["reserve", "settle"], cost: Cost, *more: str | int) -> str:
        args = [verb, held.token, cost.tokens, cost.usd_micros, *more]
        try:
            answer = self._script(keys=[real_day_key(held.date)], args=args)
        except RedisError as error:
            log.warning("real_day.away", step=verb, error=type(error).__name__)
            return "away"
        return str(answer, "ascii")
