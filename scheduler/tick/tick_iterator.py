"""The iterators of a loop: one at a time has its tick, so that no body loses its own to another one."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Generator, Iterator
from typing import Generic, TypeVar

from cogitate.memory.errors import UsageError

Item = TypeVar("Item")


class OneDriver(Generic[Item]):
    """The rule that hands out a loop's items to one iterator at a time; another one goes on once that is gone.

    Args:
        open_item: returns how to name the item whose body has not ended; "" when there is none.
    """

    def __init__(self, items: Generator[Item, None, None], open_item: Callable[[], str]) -> None:
        self._items = items
        self._open_item = open_item
        self._driver: weakref.ref[_Iterator[Item]] | None = None

    def __iter__(self) -> Iterator[Item]:
        return _Iterator(self)

    def next_for(self, iterator: _Iterator[Item]) -> Item:
        """Return the next item.

        Raises:
            UsageError: while another iterator's item is open, or the loop itself is at work.
        """
        if inspect.getgeneratorstate(self._items) == inspect.GEN_RUNNING:
            raise UsageError("the loop is in the midst of a step: ask for its next tick after that, in one thread")
        driver = self._driver() if self._driver is not None else None
        if driver is not None and driver is not iterator and (name := self._open_item()):
            raise UsageError(
                f"{name} is open, and another iterator of this loop handed it out: asking for the next tick here would "
                "end its body and skip a tick. Ask in one place only: on that iterator, or after its body"
            )
        self._driver = weakref.ref(iterator)
        return next(self._items)


class _Iterator(Generic[Item]):
    """One iterator of a loop."""

    def __init__(self, driver: OneDriver[Item]) -> None:
        self._driver = driver

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        return self._driver.next_for(self)
