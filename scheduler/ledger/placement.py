"""Several ledgers behind the interface of one: each run is on one of them, and what belongs to no run on the first.

A new run goes to the ledger that rendezvous hashing of its name and the ledgers' places prefers, so a ledger that is
added takes its share of new runs. A run that exists is looked for and found where it is, whatever the hash prefers by
now. `cogitate.scheduler.ledger.moving` moves one; until its old ledger has removed it, both have it, and the one that
it leaves says so.

The listing of a run is on its own ledger, and lists are joined. Nothing spans two ledgers.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from redis import Redis
from redis.client import Pipeline
from redis.commands.core import Script
from redis.exceptions import RedisError, TryAgainError

from cogitate.scheduler.ledger.cluster import ClusterRedis, ScriptOfServers, key_of
from cogitate.scheduler.ledger.keys import RUNS, incarnation_key, moving_key

KNOWN_FOR = 2.0  # seconds for which a process asks the same ledger for a run without looking for it again

_OF_RUN = re.compile(rb"cogitate:\{([^}]*)\}:")


class _Known(NamedTuple):
    place: str
    until: float  # monotonic seconds


def by_preference(places: Sequence[str], run: str) -> list[str]:
    """Return the places in the order in which a run's name prefers them."""
    return sorted(places, key=lambda place: hashlib.blake2b(f"{run}\0{place}".encode(), digest_size=8).digest())


class PlacedRedis(Redis):
    """A client of several ledgers. Thread-safe.

    Args:
        ledgers: their clients by place, a text that stays the same when a password changes; the first is the home of
            what belongs to no run.
    """

    def __init__(self, ledgers: Mapping[str, Redis], *, clock: Callable[[], float] = time.monotonic) -> None:
        self.ledgers = dict(ledgers)
        self._home = next(iter(self.ledgers.values()))
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
        found = _OF_RUN.match(key if isinstance(key, bytes) else key.encode())
        return self.ledgers[self.place_of(found[1].decode())] if found else self._home

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

    def register_script(self, script: Any) -> Script:
        """Return a script that any server loads when it is called."""
        return ScriptOfServers(self, script)

    def pipeline(self, transaction: bool = True, shard_hint: object = None) -> Pipeline:
        """Return a pipeline, in a transaction if all its keys are of one run."""
        return _Pipeline(self, transaction)

    def execute_at_once(self, commands: Sequence[Any], scripts: set[Script], *, transaction: bool) -> list[Any]:
        """Return the answers to a pipeline's commands, in their order; errors of the servers are among them.

        Raises:
            RedisError: when a ledger cannot be reached.
        """
        places: defaultdict[int, list[int]] = defaultdict(list)  # by the identity of a ledger's client
        ledgers: dict[int, Redis] = {}
        for place, (words, _) in enumerate(commands):
            ledger = self.ledger_of(key_of(words))
            ledgers[id(ledger)] = ledger
            places[id(ledger)].append(place)
        answers: list[Any] = [None] * len(commands)
        for which, of_ledger in places.items():
            with ledgers[which].pipeline(transaction=transaction) as pipeline:
                pipeline.command_stack, pipeline.scripts = [commands[place] for place in of_ledger], set(scripts)
                for place, answer in zip(of_ledger, pipeline.execute(raise_on_error=False), strict=True):
                    answers[place] = answer
        for place, (words, options) in enumerate(commands):
            if isinstance(answers[place], TryAgainError):
                try:
                    answers[place] = self.execute_command(*words, **options)
                except RedisError as error:
                    answers[place] = error
        return answers

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
        found = _OF_RUN.match(key if isinstance(key, bytes) else key.encode())
        if found:
            self._known.pop(found[1].decode(), None)

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


class _Pipeline(Pipeline):
    def __init__(self, placed: PlacedRedis, transaction: bool) -> None:
        super().__init__(placed.connection_pool, placed.response_callbacks, transaction, None)
        self._placed = placed

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        """Send the commands, and return the answers."""
        commands, scripts = self.command_stack, self.scripts
        self.reset()
        answers = self._placed.execute_at_once(commands, scripts, transaction=bool(self.transaction))
        if raise_on_error:
            self.raise_first_error(commands, answers)  # type: ignore[no-untyped-call]
        return answers


def _servers(ledger: Redis) -> list[Redis]:
    return ledger.servers() if isinstance(ledger, ClusterRedis) else [ledger]
