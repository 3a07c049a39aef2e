"""A limit on spending per real day, in UTC, for all runs of a server together: the last line of defence.

Before a worker calls a model, it reserves the whole cost of the attempt from the day; afterwards it gives the unused
part back. Without room, the worker makes no call, and the job falls to its heuristic, as after any failed call. A dead
worker's unsettled reservation stays until the day ends. An answer that costs more than its reservation is booked as an
overrun, which leaves less for the next calls. While Redis cannot be reached, workers call no model, and reservations
stay.

An experiment starts its own server, and its limit counts everything that its runs spend there, whatever the date.

No decision of a run depends on this limit: to the run, a refusal is a failed call. A worker without such a limit
neither counts nor refuses, so all workers of a server need the same limit. A call is charged to the date of the
worker's clock at the reservation, whenever it ends.
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

KEPT_SECONDS = 40 * 86_400  # for which the figures of a day are stored
EXPERIMENT = "experiment"  # in place of a date


class Held(NamedTuple):
    """The reservation of one call from a day."""

    date: str
    token: str


UNLIMITED = Held("", "")  # of a process without such a limit; it counts nothing

Refused = Literal["real_day_spent", "real_day_away", "real_day_unpriced", "experiment_spent"]


class DaySpending(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a real day. A limit of None is not set."""

    date: str  # "2026-03-01", UTC, or "experiment"
    limit_tokens: int | None
    limit_usd_micros: int | None
    reserved: Cost
    spent: Cost
    overrun: Cost  # part of `spent`
    refused: int  # calls that the limit refused

    @property
    def limited(self) -> bool:
        return self.limit_tokens is not None or self.limit_usd_micros is not None


def utc_date() -> str:
    """Return the date now, as "2026-03-01"."""
    return datetime.now(UTC).date().isoformat()


class RealDay:
    """Enforces the limits of a process's settings on the spending of all processes. Thread-safe."""

    def __init__(self, client: Redis, settings: Settings, today: Callable[[], str] | None = None) -> None:
        self._client = client
        self._tokens = settings.real_day_tokens
        self._usd_micros = None if settings.real_day_usd is None else round(settings.real_day_usd * 1_000_000)
        self._experiment = settings.tuning.experiment != ""
        self._today = today or ((lambda: EXPERIMENT) if self._experiment else utc_date)
        self._logged = ""  # the date for which the log says that the day is spent
        self._script = script(client, "real_day")

    @property
    def limits(self) -> bool:
        """Return whether these settings limit the spending of a day."""
        return self._tokens is not None or self._usd_micros is not None

    def reserve(self, cost: Cost, *, priced: bool = True) -> Held | Refused:
        """Reserve the upper bound of a call's cost, or return why the call must not be made.

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
        """Replace a call's reservation with its true cost."""
        if held != UNLIMITED:
            self._call(held, "settle", used)

    def spending(self) -> DaySpending:
        date = self._today()
        fields = read_hash(self._client, real_day_key(date))
        amounts = {field.decode(): int(value) for field, value in fields.items() if not field.startswith(b"call:")}

        def account(name: str) -> Cost:
            return Cost(tokens=amounts.get(f"{name}:tokens", 0), usd_micros=amounts.get(f"{name}:usd_micros", 0))

        return DaySpending(
            date=date,
            limit_tokens=self._tokens,
            limit_usd_micros=self._usd_micros,
            reserved=account("reserved"),
            spent=account("spent"),
            overrun=account("overrun"),
            refused=amounts.get("refused", 0),
        )

    def in_flight(self) -> set[str]:
        """Return the calls with an unsettled reservation, including those of dead workers."""
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
