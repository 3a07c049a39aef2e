"""The broker: it keeps no promise. Messages may be lost, doubled, late and out of order."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from cogitate.tasks.job import Job
from tests.simulation.seeded.actors import NEVER, Actor, Schedule


class Broker:
    """Messages on their way, and who waits for them."""

    def __init__(self, schedule: Schedule, draw: Random) -> None:
        self.reordered = False  # hand out any message instead of the oldest
        self.waiting: list[tuple[float, str]] = []  # not before, job id
        self.sent: list[str] = []  # all ever
        self._schedule = schedule
        self._draw = draw
        self._idle: list[Actor] = []

    def publish(self, jobs: Sequence[Job]) -> int:
        """Take hints."""
        for job in jobs:
            self.send(job.id)
            self.sent.append(job.id)
        return len(jobs)

    def send(self, job_id: str, after: float = 0.0) -> None:
        """Put a message on its way."""
        self.waiting.append((self._schedule.now + after, job_id))
        for actor in self._idle:
            actor.wakes = min(actor.wakes, self._schedule.now + after)

    def take(self, actor: Actor) -> str:
        """Wait for a message; from here on it exists nowhere else."""
        while True:
            now = self._schedule.now
            here = [i for i, (at, _) in enumerate(self.waiting) if at <= now]
            if here:
                return self.waiting.pop(self._draw.choice(here) if self.reordered else here[0])[1]
            self._idle.append(actor)
            try:
                actor.pause(min((at for at, _ in self.waiting), default=NEVER))
            finally:
                self._idle.remove(actor)
