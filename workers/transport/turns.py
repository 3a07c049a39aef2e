"""Turns of runs at the queue of a kind, so that a run with many jobs does not delay the jobs of other runs.

The queue itself, on which workers block, holds identical tickets, one per hint. The hints are in separate lists, one
per run. A worker that draws a ticket takes the next hint of the run whose turn it is; a run with share 3 gets three
hints for each hint of a run with share 1. A ticket without a hint, or a hint without a ticket, is harmless: hints are
repeated while their job is open.

A kind's queue has two lists of tickets, using kombu's list per priority: one for jobs that ask a model, and one for the
others, so that a worker without free places for a model can leave the former to other workers.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any

from kombu.transport.redis import Channel

from cogitate.workers import lua

QUICK, ASKING = 0, 9  # kombu's priorities, used only to name the lists: a worker takes from both in turn
TICKETS = {QUICK: '"~"', ASKING: '"~9"'}  # JSON, like everything in a queue
DRAWN = {"~": QUICK, "~9": ASKING}  # the tickets as read
KEPT = 86_400  # seconds after which unclaimed hints expire


def tickets_key(queue: str, priority: int) -> str:
    """Return the key of a list of tickets of a queue, as kombu names it."""
    return f"{queue}{Channel.sep}{priority}" if priority else queue


def hints_key(tickets: str, run: str, share: int) -> str:
    """Return the key of a run's hints for a list of tickets."""
    return f"{tickets}:of:{share}/{run}"


def runs_key(tickets: str) -> str:
    """Return the key of the runs that have hints for a list of tickets."""
    return f"{tickets}:runs"


def queue_hints(pipe: Any, queue: str, priority: int, run: str, share: int, hints: list[str]) -> None:
    """Queue hints of a run with a ticket for each; hints go first, so that no ticket is drawn without a hint."""
    tickets = tickets_key(queue, priority)
    pipe.lpush(hints_key(tickets, run, share), *hints)
    pipe.expire(hints_key(tickets, run, share), KEPT)
    pipe.zadd(runs_key(tickets), {f"{share}/{run}": 0}, nx=True)
    pipe.expire(runs_key(tickets), KEPT)
    pipe.lpush(tickets, *[TICKETS[priority]] * len(hints))


def next_hints(client: Any, queue: str, priority: int, most: int = 1) -> list[str]:
    """Remove and return the next hints: one for the ticket already drawn, and others together with their tickets.

    There are at most `most`, plus one if tickets were lost, and none if no hint is waiting.
    """
    found = _script(client)(keys=[tickets_key(queue, priority)], args=[most])
    return [hint.decode() if isinstance(hint, bytes) else hint for hint in found]


@lru_cache(maxsize=8)  # a process has one or two clients; the hash of the script is computed once for each
def _script(client: Any) -> Any:
    return client.register_script((resources.files(lua) / "turn.lua").read_text(encoding="utf-8"))
