"""Several ledgers behind the interface of one: each run is on one of them, and what belongs to no run on the first.

A new run goes to the ledger that rendezvous hashing of its name and the ledgers' places prefers, so a ledger that is
added takes its share of new runs. A run that exists is looked for and found where it is, whatever the hash prefers by
now. `cogitate.scheduler.ledger.moving` moves one; until its old ledger has removed it, both have it, and the one that
it leaves says so.

The listing of a run is on its own ledger, and lists are joined. Nothing spans two ledgers.
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

KNOWN_FOR = 2.0  # seconds for which a process asks the same ledger for a run without looking for it again


class _Known(NamedTuple):
    place: str
    until: float  # monotonic seconds


def by_preference(places: Sequence[str], run: str) -> list[str]:
    """Return the places in the order in which a run's name prefers them."""
    return sorted(places, key=lambda place: hashlib.blake2b(f"{run}\0{place}".encode(), digest_size=8).digest())


class PlacedRedis(SeveralServers):
    """A client of several ledgers. Thread-safe.

    Args:
        ledgers: their clients by place, a text that stays the same when a password changes; the first is the home of
            what belongs to no run.
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
        """Return the place of the ledger that has a run, or that a new run of this name goes to.

        Raises:
            RedisError: when it is on no ledger that answers, and one does not.
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
            RedisError: when a cluster among them does not answer.
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
        """Run a command on the list of runs: on that of each run's ledger, or on all."""
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
        """Look on the ledgers in turn, first where the run was; remember where it is."""
        preferred = by_preference([*self.ledgers], run)
        leaving: list[str] = []
        unfinished: list[str] = []  # a deletion or a move has not removed all of it
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
    """Return the run that a key belongs to; None if it belongs to none. See `run_base`."""
    text = key.decode() if isinstance(key, bytes) else key
    before, tagged, rest = text.partition("{")
    run, closed, _ = rest.partition("}:")
    return run if before == "cogitate:" and tagged and closed else None


def _servers(ledger: Redis) -> list[Redis]:
    return ledger.servers() if isinstance(ledger, ClusterRedis) else [ledger]
