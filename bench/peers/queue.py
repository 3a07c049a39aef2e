"""The interface of other systems' queues for `python -m bench`: publish jobs that do nothing, and poll their results.

Each system has a module here, loaded by both the bench and the system's worker. Systems that are not installed (extra
`bench`) are skipped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple, Protocol

from redis import Redis

AT_ONCE = 16  # concurrent jobs of a worker, as in the product
URL, RESULTS = "PEER_URL", "PEER_RESULTS"  # tell a worker its server, and whether to store results


class Queue(Protocol):
    """One system's queue on one server, as a host uses it."""

    @property
    def worker(self) -> Sequence[str]:
        """Return Python's arguments that start its worker."""

    def publish(self, ids: Sequence[str]) -> object:
        """Publish a job for each id, as for one tick."""

    def mark(self, key: str) -> object:
        """Publish a job that sets a key on the server, which shows that the jobs before it were taken."""

    def results(self) -> int:
        """Poll the results of the jobs published last, and return how many are available."""

    def close(self) -> None:
        """Disconnect from the server."""


class Peer(NamedTuple):
    """A system that the extra `bench` installs: name, publishing method, package, and its module here."""

    name: str
    way: str
    package: str
    module: str


PEERS = (
    Peer("Dramatiq", "send", "dramatiq", "dramatiq_queue"),
    Peer("taskiq", "kiq", "taskiq_redis", "taskiq_queue"),
    Peer("BullMQ", "addBulk", "bullmq", "bullmq_queue"),
)


@contextmanager
def open_queues(url: str, *, results: bool = False) -> Iterator[dict[Peer, Queue]]:
    """Yield the queues of the installed peers on the Redis at this URL, and report which are missing."""
    with ExitStack() as stack:
        found: dict[Peer, Queue] = {}
        for peer in PEERS:
            if find_spec(peer.package) is None:
                print(f"{peer.name} is not installed, so it is skipped: pip install '.[bench]'", file=sys.stderr)
                continue
            module = import_module(f"{__package__}.{peer.module}")
            found[peer] = stack.enter_context(closing(module.open_queue(url, results=results)))
        yield found


def queue_environment(url: str, *, results: bool = False) -> dict[str, str]:
    """Return the environment for a worker of the Redis at this URL."""
    return os.environ | {URL: url, RESULTS: "1" if results else ""}


def asked_queue() -> tuple[str, bool]:
    """Read a worker's environment: return the URL of its server, and whether to store results."""
    return os.environ[URL], bool(os.environ[RESULTS])


def set_mark(key: str) -> None:
    """Set a key on the worker's server."""
    with Redis.from_url(os.environ[URL]) as client:
        client.set(key, "1")
