"""Commits on their way while their host goes on: the reply is read when the next tick needs it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Reply(Protocol[T_co]):
    """The reply to a commit that has been sent."""

    def result(self) -> T_co:
        """Wait for the reply and return it.

        Raises:
            Exception: whatever the commit raised.
        """


class SendCommit(Protocol):
    """A way to have a commit carried out."""

    def __call__(self, commit: Callable[[], T], /) -> Reply[T]:
        """Begin a commit. The host may not use its ledger until it has the reply."""


class Carried(Generic[T]):
    """A commit that is over when it has been sent: its host stands still for the reply."""

    def __init__(self, commit: Callable[[], T]) -> None:
        self._reply = commit()

    def result(self) -> T:
        """Return the reply."""
        return self._reply


class _Sent(Generic[T]):
    """A commit for the thread, with its reply."""

    def __init__(self, commit: Callable[[], T]) -> None:
        self._commit = commit
        self.reply: Future[T] = Future()

    def carry_out(self) -> None:
        try:
            self.reply.set_result(self._commit())
        except BaseException as error:  # it is raised where the reply is read
            self.reply.set_exception(error)


class CommitThread:
    """A thread that carries out the commits of one host, one after the other, while the host does other work.

    It is a daemon: a process that ends at once does not wait for a server that is away.
    """

    def __init__(self) -> None:
        self._steps: SimpleQueue[_Sent[object] | None] = SimpleQueue()
        Thread(target=self._live, name="commit", daemon=True).start()

    def __call__(self, commit: Callable[[], T], /) -> Reply[T]:
        """Begin a commit, and return while it is under way."""
        sent = _Sent(commit)
        self._steps.put(sent)  # type: ignore[arg-type]  # a queue of commits of all types
        return sent.reply

    def close(self) -> None:
        """End the thread after what it has to carry out."""
        self._steps.put(None)

    def _live(self) -> None:
        while (sent := self._steps.get()) is not None:
            sent.carry_out()
