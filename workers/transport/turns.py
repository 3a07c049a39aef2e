"""Turns of runs at the queue of a kind, so that a run with many jobs does not keep another one's waiting.

In the queue itself, which workers block on, lie tickets: all alike, one for each hint. The hints wait in a list for
each run beside it. Whoever draws a ticket takes the hint of the run whose turn it is: runs take turns, and one whose
share is 3 takes three for each turn of a run whose share is 1. A ticket without a hint, and a hint without a ticket, do
no harm: hints are repeated while their job is open.

A kind's queue has two lists of tickets, as kombu has one for each priority: one for jobs that ask a model, and one for
the others, so that a worker whose places for a model are all taken can leave the former to other workers.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any

from kombu.transport.redis import Channel

from cogitate.workers import lua

QUICK, ASKING = 0, 9  # kombu's priorities, here only names of lists: a worker takes from both in turn
TICKETS = {QUICK: '"~"', ASKING: '"~9"'}  # JSON, as everything in a queue
DRAWN = {"~": QUICK, "~9": ASKING}  # what is read of them
KEPT = 86_400  # seconds after which hints that nobody wants are forgotten


def tickets_key(queue: str, priority: int) -> str:
    """Return the key of a list of tickets of a queue, as kombu names it."""
    return f"{queue}{Channel.sep}{priority}" if priority else queue


def hints_key(tickets: str, run: str, share: int) -> str:
    """Return the key of a run's hints beside a list of tickets."""
    return f"{tickets}:of:{share}/{run}"


def runs_key(tickets: str) -> str:
    """Return the key of the runs that wait beside a list of tickets."""
    return f"{tickets}:runs"


def queue_hints(pipe: Any, queue: str, priority: int, run: str, share: int, hints: list[str]) -> None:
    """Put hints of a run in a queue, with a ticket for each; the hints first, so that no ticket is drawn in vain."""
    tickets = tickets_key(queue, priority)
    pipe.lpush(hints_key(tickets, run, share), *hints)
    pipe.expire(hints_key(tickets, run, share), KEPT)
    pipe.zadd(runs_key(tickets), {f"{share}/{run}": 0}, nx=True)
    pipe.expire(runs_key(tickets), KEPT)
    pipe.lpush(tickets, *[TICKETS[priority]] * len(hints))


def next_hints(client: Any, queue: str, priority: int, most: int = 1) -> list[str]:
    """Return the hints whose turn it is, and remove them: one for the ticket that was drawn, the others with theirs.

    There are none where none waits, at most `most` otherwise, and one more where tickets were lost.
    """
    found = _script(client)(keys=[tickets_key(queue, priority)], args=[most])
    return [hint.decode() if isinstance(hint, bytes) else hint for hint in found]


@lru_cache(maxsize=8)  # a process has one or two clients; the hash of the script is computed once for each
def _script(client: Any) -> Any:
    return client.register_script((resources.files(lua) / "turn.lua").read_text(encoding="utf-8"))
