"""A client of several ledgers that looks like a client of one: each run is on one ledger, other keys are on the first.

Rendezvous hashing of a new run's name and the ledgers' places chooses its ledger, so an added ledger gets its share of
new runs. An existing run is searched on all ledgers, because the hash may now prefer another one.
`cogitate.scheduler.ledger.moving` moves a run; until its old ledger has removed it, both have it, and the old one marks
it as leaving.

The list of runs is the union of the ledgers' lists; each run is listed on its own ledger. No command spans two ledgers.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from redis import Redis
from redis.commands.core import Script
from redis.exceptions import RedisError, TryAgainError

from cogitate.scheduler.ledger.keys import RUNS, incarnation_key, moving_key
from cogitate.scheduler.ledger.servers.cluster import ClusterRedis
from cogitate.scheduler.ledger.servers.routing import SeveralServers, key_of, sent_to

KNOWN_FOR = 2.0  # seconds for which a process remembers the ledger of a run before it searches again


class _Known(NamedTuple):
    place: str
    until: float  # monotonic seconds


def by_preference(places: Sequence[str], run: str) -> list[str]:
    """Return the places in the order of preference for a run's name."""
    return sorted(places, key=lambda place: hashlib.blake2b(f"{run}\0{place}".encode(), digest_size=8).digest())


class PlacedRedis(SeveralServers):
    """A client of several ledgers. Thread-safe.

    Args:
        ledgers: clients by place, a text that stays the same when a password changes; the first ledger has the keys
            that belong to no run.
    """

    MOVED = (TryAgainError,)  # the run leaves that ledger, or a slot of a cluster moves

    def __init__(self, ledgers: Mapping[str, Redis], *, clock: Callable[[], float] = time.monotonic) -> None:
        self.ledgers = dict(ledgers)
        self._first = next(iter(self.ledgers))
        self._home = self.ledgers[self._first]
        self._known: dict[str, _Known] = {}
        self._clock = clock
        super().__init__(connection_pool=self._home.connection_pool)

    def place_of(self, run: str) -> str:
        """Return the place of the ledger that has a run, or that would get a new run of this name.

        Raises:
            RedisError: if no answering ledger has it, and a ledger does not answer.
        """
        known = self._known.get(run)
        if known is not None and self._clock() < known.until:
            return known.place
        return self._look_for(run, known.place if known is not None else "")

    def ledger_of(self, key: str | bytes) -> Redis:
        """Return the client of the ledger that has a key.

        Raises:
            RedisError: as `place_of`.
        """
        return self.ledgers[self.place_of_key(key)]

    def servers(self) -> list[Redis]:
        """Return a client of each server of each ledger.

        Raises:
            RedisError: if a cluster among them does not answer.
        """
        return [*chain.from_iterable(_servers(ledger) for ledger in self.ledgers.values())]

    def server_of(self, key: str) -> Redis:
        """Return a client of the server that has a key.

        Raises:
            RedisError: as `ledger_of`.
        """
        ledger = self.ledger_of(key)
        return ledger.server_of(key) if isinstance(ledger, ClusterRedis) else ledger

    def execute_command(self, *words: Any, **options: Any) -> Any:
        """Run a command and return its answer.

        Raises:
            RedisError: from a server or the connection.
        """
        if len(words) > 1 and words[1] == RUNS:
            return self._on_lists(*words, **options)
        key = key_of(words) if len(words) > 1 else ""
        if not isinstance(key, str | bytes):
            return self._home.execute_command(*words, **options)  # type: ignore[no-untyped-call]
        ledger = self.ledger_of(key)
        try:
            return ledger.execute_command(*words, **options)  # type: ignore[no-untyped-call]
        except TryAgainError:  # the run leaves this ledger, or a slot of a cluster moves
            self._forget(key)
            if (there := self.ledger_of(key)) is ledger:
                raise
            return there.execute_command(*words, **options)  # type: ignore[no-untyped-call]

    def place_of_key(self, key: Any) -> str:
        """Return the place of the ledger that has a key."""
        run = _run_of(key)
        return self._first if run is None else self.place_of(run)

    def execute_together(self, commands: Sequence[Any], scripts: set[Script], *, transaction: bool) -> list[Any]:
        """Return the answers to commands whose keys are on one ledger."""
        return sent_to(self.ledger_of(key_of(commands[0][0])), commands, scripts, transaction=transaction)

    def close(self) -> None:
        """Close the connections."""
        for ledger in self.ledgers.values():
            ledger.close()

    def _on_lists(self, command: str, key: str, *names: Any, **options: Any) -> Any:
        """Run a command on the list of runs: on the ledger of the named run, or on all ledgers."""
        if names:
            run = names[0].decode() if isinstance(names[0], bytes) else str(names[0])
            ledger = self.ledgers[self.place_of(run)]
            return ledger.execute_command(command, key, *names, **options)  # type: ignore[no-untyped-call]
        lists = [ledger.execute_command(command, key, **options) for ledger in self.ledgers.values()]  # type: ignore[no-untyped-call]
        return set().union(*lists)

    def _forget(self, key: str | bytes) -> None:
        run = _run_of(key)
        if run is not None:
            self._known.pop(run, None)

    def _look_for(self, run: str, first: str) -> str:
        """Search a run on all ledgers, first where it was, and remember its place."""
        preferred = by_preference([*self.ledgers], run)
        leaving: list[str] = []
        unfinished: list[str] = []  # places from which a deletion or a move has not removed all of it
        free: list[str] = []
        away: RedisError | None = None
        for place in sorted(preferred, key=lambda place: place != first):  # stable
            try:
                with self.ledgers[place].pipeline(transaction=False) as pipe:
                    pipe.exists(incarnation_key(run))
                    pipe.exists(moving_key(run))
                    pipe.sismember(RUNS, run)
                    exists, leaves, listed = pipe.execute()
            except RedisError as error:
                away = away or error
                continue
            if exists and not leaves:
                self._known[run] = _Known(place, self._clock() + KNOWN_FOR)
                return place
            if exists:
                leaving.append(place)
            elif listed:
                unfinished.append(place)
            elif not leaves:
                free.append(place)
        if leaving:
            return leaving[0]
        if away is not None:
            raise away
        return next(iter([*unfinished, *free]), preferred[0])


def _run_of(key: str | bytes) -> str | None:
    """Return the run to which a key belongs; None if it belongs to none. See `run_base`."""
    text = key.decode() if isinstance(key, bytes) else key
    before, tagged, rest = text.partition("{")
    run, closed, _ = rest.partition("}:")
    return run if before == "cogitate:" and tagged and closed else None


def _servers(ledger: Redis) -> list[Redis]:
    return ledger.servers() if isinstance(ledger, ClusterRedis) else [ledger]
