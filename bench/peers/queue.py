"""What another system's queue is to `python -m bench`: jobs that do nothing, published, done by a worker, polled.

Each system has a module here, which both the bench and the system's own worker load. Those that the extra `bench`
installs are left out where they are not there.
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

AT_ONCE = 16  # jobs that a worker does at the same time, as the product's
URL, RESULTS = "PEER_URL", "PEER_RESULTS"  # tell a worker its server, and whether it keeps results


class Queue(Protocol):
    """One system's queue on one server, as a host uses it."""

    @property
    def worker(self) -> Sequence[str]:
        """The arguments with which Python starts its worker."""

    def publish(self, ids: Sequence[str]) -> object:
        """Publish a job for each id, as in one tick."""

    def mark(self, key: str) -> object:
        """Publish a job that sets a key on the server: those before it have been taken."""

    def results(self) -> int:
        """Poll for the results of all jobs that were published last, and return how many are there."""

    def close(self) -> None:
        """Leave the server."""


class Peer(NamedTuple):
    """A system that the extra `bench` installs: name, way to publish, package, and the module for it here."""

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
    """Yield the queues of the peers that are installed, on the Redis at this URL, and say which are not."""
    with ExitStack() as stack:
        found: dict[Peer, Queue] = {}
        for peer in PEERS:
            if find_spec(peer.package) is None:
                print(f"{peer.name} is left out: pip install '.[bench]' installs it.", file=sys.stderr)
                continue
            module = import_module(f"{__package__}.{peer.module}")
            found[peer] = stack.enter_context(closing(module.open_queue(url, results=results)))
        yield found


def queue_environment(url: str, *, results: bool = False) -> dict[str, str]:
    """Return the environment of a worker that takes its jobs from the Redis at this URL."""
    return os.environ | {URL: url, RESULTS: "1" if results else ""}


def asked_queue() -> tuple[str, bool]:
    """Return what a worker's environment tells it: the URL of its server, and whether it keeps results."""
    return os.environ[URL], bool(os.environ[RESULTS])


def set_mark(key: str) -> None:
    """Set a key on the worker's server."""
    with Redis.from_url(os.environ[URL]) as client:
        client.set(key, "1")
