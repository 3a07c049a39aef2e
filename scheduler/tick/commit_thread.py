"""Commits under way while their host continues: the reply is read when the next tick needs it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class SendCommit(Protocol):
    """A way to have a commit carried out. The host may not use its ledger until it has the reply."""

    def __call__(self, commit: Callable[[], T], /) -> Future[T]:
        """Begin a commit, and return its reply, which raises whatever the commit raised."""


def commit_at_once(commit: Callable[[], T], /) -> Future[T]:
    """Commit while the host stands still; an error is raised here."""
    reply: Future[T] = Future()
    reply.set_result(commit())
    return reply


class CommitThread:
    """A thread that carries out the commits of one host, one after the other, while the host does other work.

    It is a daemon, unlike those of an executor: a process that ends does not wait for a server that is away.
    """

    def __init__(self) -> None:
        self._sent: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        Thread(target=self._live, name="commit", daemon=True).start()

    def __call__(self, commit: Callable[[], T], /) -> Future[T]:
        """Begin a commit, and return while it is under way."""
        reply: Future[T] = Future()
        self._sent.put((commit, reply))
        return reply

    def close(self) -> None:
        """End the thread after what it has to carry out."""
        self._sent.put(None)

    def _live(self) -> None:
        while (sent := self._sent.get()) is not None:
            commit, reply = sent
            try:
                reply.set_result(commit())
            except BaseException as error:  # it is raised where the reply is read
                reply.set_exception(error)
