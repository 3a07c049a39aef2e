"""Memories with wall-clock times, converted to game time once the whole file is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from math import floor
from typing import NamedTuple

import msgspec

from cogitate.memory.clock import DAY
from cogitate.memory.entry import MAX_TEXT, Entry
from cogitate.memory.errors import InputError, quoted
from cogitate.ops.exchange import incoming
from cogitate.ops.exchange.incoming import Incoming, TooMany

_DAY = 60 * DAY  # seconds
_WAKING = (6 * 3600, 20 * 3600)  # the seconds of day 0 over which memories without times are spread
_LATEST = datetime.max.replace(tzinfo=UTC).timestamp()


class _Pending(NamedTuple):
    at: float | None  # seconds
    where: str
    owner: str
    entry: Entry
    key: str  # its name in the file; "": none
    rests_on: tuple[str, ...]  # the keys of its evidence


class Timeline:
    """Memories in the order of a file; `finish` adds them in the order of their times.

    Midnight UTC before the first time is minute 0. A memory without a time gets the time of its owner's previous one;
    if no memory in the file has a time, each owner's memories are spread evenly over day 0, from 06:00 to 20:00.
    """

    def __init__(self, content: Incoming) -> None:
        self.content = content
        self._pending: list[_Pending] = []

    def add(
        self, where: str, owner: str, entry: Entry, at: float | None, key: str = "", rests_on: tuple[str, ...] = ()
    ) -> None:
        """Add a memory; a text that is too long for one memory becomes several.

        Args:
            where: its place in the file, for the report.
            at: seconds since 1970.
            key: the memory's name in the file.
            rests_on: the keys of its evidence.

        Raises:
            TooMany: beyond the limit of a file.
        """
        texts = list(_parts(entry.text))
        for text in texts:
            if len(self._pending) >= incoming.MAX_MEMORIES:
                raise TooMany.of(self.content.source)
            part = msgspec.structs.replace(entry, text=text)
            self._pending.append(_Pending(at, where, owner, part, key, rests_on))
        if len(texts) > 1:
            self.content.repaired["text in several parts"] += 1

    def finish(self) -> None:
        """Add all memories to the file's content, in order of time; skip and report invalid ones.

        Raises:
            InputError: if the file has no valid memory.
        """
        content, numbers = self.content, dict[tuple[str, str], int]()
        times = self._times()
        day_0 = floor(min(times, default=0) / _DAY) * _DAY
        for at, pending in sorted(zip(times, self._pending, strict=True), key=lambda pair: pair[0]):
            _, where, owner, entry, key, rests_on = pending
            evidence = tuple(sorted({numbers[owner, one] for one in rests_on if (owner, one) in numbers}))
            with content.reporting("memory", where):
                minute = floor((at - day_0) / 60)
                content.add(owner, msgspec.structs.replace(entry, minute=minute, evidence=evidence))
                numbers[owner, key] = len(content.memories[owner])
        content.check_usable()

    def _times(self) -> list[float]:
        known = [pending.at for pending in self._pending if pending.at is not None]
        times: list[float] = []
        if known:
            last = dict.fromkeys(self.content.profiles, min(known))  # owner -> time of its previous memory
            for pending in self._pending:
                last[pending.owner] = last[pending.owner] if pending.at is None else pending.at
                times.append(last[pending.owner])
            return times
        begun, ended = _WAKING
        counts = Counter(pending.owner for pending in self._pending)
        added: Counter[str] = Counter()
        for pending in self._pending:
            step = (ended - begun) / max(1, counts[pending.owner] - 1)
            times.append(begun + step * added[pending.owner])
            added[pending.owner] += 1
        return times


def seconds(value: object, what: str) -> float | None:
    """Convert a time in JSON to seconds since 1970: milliseconds, or text such as 2023-02-13T08:30Z; None for null.

    Raises:
        InputError: naming `what`, the value and a remedy.
    """
    if value is None:
        return None
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value)
            return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value / 1000 <= _LATEST:
            return value / 1000
    except (ValueError, OverflowError):
        pass
    raise InputError(f"{what} is {quoted(value)}: give milliseconds since 1970, or a time such as 2023-02-13T08:30Z")


def _parts(text: str) -> Iterator[str]:
    """Yield a text in parts that fit one memory, cut after a line, a sentence or a word if possible."""
    start = 0
    while len(text) - start > MAX_TEXT:
        end = start + MAX_TEXT
        cuts = (text.rfind(mark, start + 1, end) + len(mark) for mark in ("\n", ". ", "。", " "))
        cut = next((cut for cut in cuts if cut > start + MAX_TEXT // 2), end)
        yield text[start:cut].strip()
        start = cut
    yield text[start:].strip()
