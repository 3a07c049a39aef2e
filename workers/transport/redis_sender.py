"""Sends a tick's hints to Redis in one round trip.

It does not queue a hint again that still waits: in a long queue, most of the run's turns would go to finished jobs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import uuid4

import msgspec
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from cogitate.memory import typed_json
from cogitate.tasks.job import Job
from cogitate.workers.transport.hints import ASKING, QUICK, Line, Render, hints_key, queue_hints, tickets_key
from cogitate.workers.transport.outage_log import OutageLog

CHUNK = 500  # messages in one LPUSH; some 0.5 MB, far below the server's limits
MOST_REMEMBERED = 10_000  # hints to remember before asking the broker which of them still wait


class _Properties(msgspec.Struct):
    delivery_tag: str


class _Message(msgspec.Struct):
    properties: _Properties


_MESSAGE = typed_json.decoder(_Message)


class QueuedHints:
    """One host's hints that may still wait in the broker, by line. Use it from one thread at a time.

    A hint's delivery tag contains a number that grows with each hint of the host. Workers take the hints of a line in
    order, so they have taken all hints before the oldest waiting one.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._origin = str(uuid4())[:-12]  # a UUID for each hint would dominate the cost of publishing
        self._count = 0
        self._lines: defaultdict[Line, dict[str, int]] = defaultdict(dict)  # job id -> number, in ascending order
        self._line_of: dict[str, Line] = {}

    def tag(self, line: Line, job_id: str) -> str:
        """Return the delivery tag, a UUID, of a job's next hint, and put the hint at the end of its line."""
        self._count += 1
        self._lines[line].pop(job_id, None)
        self._lines[line][job_id] = self._count
        self._line_of[job_id] = line
        return f"{self._origin}{self._count:012x}"

    def waiting(self, job_ids: Iterable[str]) -> set[str]:
        """Return those of the given jobs whose newest hint still waits. Asks the broker only if one may.

        Raises:
            RedisError: if the broker is away.
        """
        known = [job_id for job_id in job_ids if job_id in self._line_of]
        if known or len(self._line_of) > MOST_REMEMBERED:
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
        """Return the number of a hint of this host; 0 for another host's hint, which is older."""
        try:
            tag = _MESSAGE.decode(hint).properties.delivery_tag
            return int(tag.removeprefix(self._origin), 16) if tag.startswith(self._origin) else 0
        except ValueError:
            return 0


class RedisSender:
    """A sender to a Redis server.

    Args:
        prefix: the prefix of all queues' keys.
        share: the run's `worker_share`.
        timeout: seconds for each command.
    """

    def __init__(self, url: str, *, prefix: str, share: int, timeout: float) -> None:
        self._prefix = prefix
        self._share = share
        self._client: Redis = Redis.from_url(
            url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 0),  # the next tick is the retry
        )
        self._queued = QueuedHints(self._client)
        self._outage = OutageLog()

    def send(self, jobs: Sequence[Job], render: Render) -> int:
        """Queue a hint for every job of one run, unless one waits; return the number of jobs that have one.

        Returns 0 if the server is away.
        """
        try:
            self._queue(jobs, render)
        except (RedisError, OSError) as error:
            self._outage.failed(len(jobs), type(error).__name__)
            return 0
        self._outage.taken(len(jobs))
        return len(jobs)

    def _queue(self, jobs: Sequence[Job], render: Render) -> None:
        waiting = self._queued.waiting(job.id for job in jobs)
        messages: defaultdict[Line, list[str]] = defaultdict(list)
        for job in jobs:
            if job.id not in waiting:
                line = Line(self._prefix + job.key.kind, ASKING if job.model else QUICK, job.run, self._share)
                messages[line].append(render(job, self._queued.tag(line, job.id)))
        with self._client.pipeline(transaction=False) as pipe:
            for line, texts in messages.items():
                for start in range(0, len(texts), CHUNK):
                    queue_hints(pipe, *line, texts[start : start + CHUNK])
            pipe.execute()

    def await_confirms(self, timeout: float) -> bool:
        """Return whether the latest `send` reached Redis; no hint is ever on its way after `send`."""
        return not self._outage.away

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
