"""A limit per real day, in UTC, above all runs of a server: the last guard of a purse.

A worker takes the whole of an attempt's reservation from the day before it asks a model, and gives back afterwards what
was not used. What has no room is not asked: the job falls to its heuristic, as after any other failed call. What a
worker took and never settled, because it died, stays taken until the day is over. An answer that costs more than was
reserved is booked as an overrun, and the next calls find so much less.

Nothing that a run decides by looks at this: to the run it is a call that failed. A worker without such a limit neither
counts nor refuses, so all workers of a server are given the same one. The date is that of the worker's own clock when
it reserves; the call is charged to that date, whenever it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import msgspec
from redis import Redis

from scheduler.keys import new_nonce, real_day_key
from scheduler.scripts import script
from scheduler.settings import Settings
from tasks.job import Cost

KEPT_SECONDS = 40 * 86_400  # how long the figures of a day can be looked at


class Held(NamedTuple):
    """What one call has taken from a day."""

    date: str
    token: str


class DaySpending(msgspec.Struct, frozen=True, kw_only=True):
    """A real day in figures. Limits that are None are not set."""

    date: str  # "2026-03-01", UTC
    limit_tokens: int | None
    limit_usd_micros: int | None
    reserved: Cost = Cost()
    spent: Cost = Cost()
    overrun: Cost = Cost()  # part of what was spent
    refused: int = 0  # calls that were not made


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


class RealDay:
    """The limits of a process's settings, held against what all processes have spent. Thread-safe.

    Args:
        today: the date, as "2026-03-01".
    """

    def __init__(self, client: Redis, settings: Settings, today: Callable[[], str] = _today) -> None:
        self._client = client
        self._tokens = settings.real_day_tokens
        self._usd_micros = None if settings.real_day_usd is None else round(settings.real_day_usd * 1_000_000)
        self._today = today
        self._script = script(client, "real_day")

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self._tokens is not None or self._usd_micros is not None

    def reserve(self, cost: Cost) -> Held | None:
        """Take the most that a call may cost; None when the day has no room for it.

        Raises:
            RedisError: when the server cannot be reached; what it may have booked stays taken.
        """
        held = Held(self._today(), new_nonce())
        limits = ["" if limit is None else limit for limit in (self._tokens, self._usd_micros)]
        answer = self._call(held, "reserve", cost, *limits, KEPT_SECONDS)
        return held if answer == "reserved" else None

    def settle(self, held: Held, used: Cost) -> None:
        """Book what the call really cost in place of what it took.

        Raises:
            RedisError: when the server cannot be reached; the call stays booked as what it took.
        """
        self._call(held, "settle", used)

    def spending(self) -> DaySpending:
        """Today in figures."""
        date = self._today()
        fields: Any = self._client.hgetall(real_day_key(date))
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

    def _call(self, held: Held, verb: Literal["reserve", "settle"], cost: Cost, *more: str | int) -> str:
        args = [verb, held.token, cost.tokens, cost.usd_micros, *more]
        answer: Any = self._script(keys=[real_day_key(held.date)], args=args)
        return str(answer, "ascii")
