"""Which of a host's hints still wait in the broker.

A hint's delivery tag has a number that grows with each hint of the host. Workers take the hints of a line in their
order, so those before the oldest one that waits have been taken.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

import msgspec

from cogitate.memory import typed_json
from cogitate.workers.transport.hints import Line, hints_key, tickets_key

MOST = 10_000  # hints that are remembered without a look at which of them wait


class _Properties(msgspec.Struct):
    delivery_tag: str


class _Message(msgspec.Struct):
    properties: _Properties


_MESSAGE = typed_json.decoder(_Message)


class QueuedHints:
    """The hints of one host, by line. Use it from one thread at a time."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._origin = str(uuid4())[:-12]  # a UUID for each hint would dominate the cost of publishing
        self._count = 0
        self._lines: defaultdict[Line, dict[str, int]] = defaultdict(dict)  # job id -> number, in their order
        self._line_of: dict[str, Line] = {}

    def tag(self, line: Line, job_id: str) -> str:
        """Return the delivery tag of the job's next hint, a UUID, which joins the end of its line."""
        self._count += 1
        self._lines[line].pop(job_id, None)
        self._lines[line][job_id] = self._count
        self._line_of[job_id] = line
        return f"{self._origin}{self._count:012x}"

    def waiting(self, job_ids: Iterable[str]) -> set[str]:
        """Return the jobs whose newest hint still waits, of those given. It asks the broker only if one may.

        Raises:
            RedisError: if the broker is away.
        """
        known = [job_id for job_id in job_ids if job_id in self._line_of]
        if known or len(self._line_of) > MOST:
            self._forget_taken()
        return {job_id for job_id in known if job_id in self._line_of}

    def _forget_taken(self) -> None:
        lines = [line for line, numbers in self._lines.items() if numbers]
        with self._client.pipeline(transaction=False) as pipe:
            for line in lines:
                tickets = tickets_key(line.queue, line.priority)
                pipe.lindex(hints_key(tickets, line.run, line.share), -1)
                pipe.llen(tickets)
            found = iter(pipe.execute())
        for line, oldest, tickets in zip(lines, found, found, strict=True):
            first = self._number(oldest) if oldest is not None and tickets else self._count + 1
            numbers = self._lines[line]
            for job_id in [job_id for job_id, number in numbers.items() if number < first]:
                del numbers[job_id], self._line_of[job_id]

    def _number(self, hint: bytes) -> int:
        """Return the number of a hint of this host; 0 for any other, which was there before."""
        try:
            tag = _MESSAGE.decode(hint).properties.delivery_tag
            return int(tag.removeprefix(self._origin), 16) if tag.startswith(self._origin) else 0
        except ValueError:
            return 0
