"""The run that nobody disturbs, in which the jobs that a journal shows as dead, failed or late are made to end so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from redis import Redis

from ops.host import TickLoop
from scheduler.claims import Claim, Claims, Reason
from scheduler.journal import ReadLine
from seeded.model import Outcome, SimulatedModel
from seeded.scene import RUN, START, TICKS, Scene
from seeded.world import PLACES, World
from tasks.job import Cost, Job, JobKey
from workers.attempt import HALVED

FORCED: frozenset[Reason] = frozenset({"dead", "failed", "late"})


class Forced(NamedTuple):
    """How a job is made to end, and what its attempt cost."""

    reason: Reason
    usage: Cost
    failure: str = ""  # class of the failure behind reason "failed"


Ends = frozenset[tuple[JobKey, Forced]]


def forced_ends(lines: Iterable[ReadLine], *, all_usage: bool) -> Ends:
    """What an undisturbed run must be made to repeat; of other jobs only what they cost, and that if asked for."""
    found = set()
    for line in lines:
        for ended, note in zip(line.core.ended, line.notes.ended, strict=True):
            if ended.reason in FORCED:
                usage = note.usage if ended.reason == "failed" else Cost()
                found.add((ended.key, Forced(ended.reason, usage, note.failure)))
            elif all_usage and note.source == "llm":
                found.add((ended.key, Forced("none", note.usage)))
    return frozenset(found)


def undisturbed_digest(scene: Scene, client: Redis, ends: Ends) -> str:
    """The digest of that run. `client` is of an empty database."""
    world = World(scene.number)
    loop = TickLoop(
        run=RUN, owners=world.owners(), settings=scene.settings.model_copy(update={"wait": 0.0}), locations=PLACES,
        brief=world.brief, ticks=TICKS, start_minute=START, inline=True, client=client,
    )  # fmt: skip
    loop._waiting._publish = Steered(client, loop._waiting._publish, dict(ends)).publish
    for tick in loop:
        world.live(loop, tick)
    SimulatedModel.fate = None
    return loop.digest


class Steered:
    """Runs each job at once, to the end that it is to have."""

    def __init__(self, client: Redis, publish: object, ends: dict[JobKey, Forced]) -> None:
        self._claims = Claims(client, worker="steered")
        self._publish = publish
        self._ends = ends
        self._now: Forced | None = None
        SimulatedModel.fate = self

    def publish(self, jobs: Sequence[Job]) -> int:
        """Run jobs in order."""
        for job in jobs:
            self._now = self._ends.get(job.key)
            reason = self._now.reason if self._now is not None else "none"
            if reason == "dead":
                while isinstance(claim := self._claims.claim(job.id), Claim):
                    self._claims.settle(claim, None, Cost())
            elif reason != "late":
                self._publish([job])  # type: ignore[operator]
        return len(jobs)

    def asked(self, key: int) -> Outcome:
        """A request of the present job."""
        if self._now is None:
            return Outcome()
        if self._now.reason != "failed":
            return Outcome(None, self._now.usage)
        # A failure of the same sort that ends the job at once.
        return Outcome("filtered" if self._now.failure in HALVED else "bad_request", self._now.usage)
