"""The run that nobody disturbs, in which the jobs that a journal shows as dead, failed or late are made to end so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec
from redis import Redis

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory import typed_json
from cogitate.scheduler.journal.ends import Change
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.scheduler.ledger.answer_times import Overdue, Timed
from cogitate.scheduler.ledger.claims import Claim, Claims, Reason, Result, split_failure
from cogitate.scheduler.ledger.step_replies import BoundaryInput
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.workers.jobs.judging import HALVED
from tests.simulation.seeded.model import Outcome, SimulatedModel
from tests.simulation.seeded.operators import Asked, send
from tests.simulation.seeded.scene import RUN, Scene
from tests.simulation.seeded.world import world_of

FORCED: frozenset[Reason] = frozenset({"dead", "failed", "late"})


class Forced(NamedTuple):
    """The forced end of a job, and the cost of its attempt."""

    reason: Reason
    usage: Cost
    halved: bool = False  # it failed in such a way that its kind went on with half of what it had
    answer: bytes = b""  # that came after its end, JSON
    answered: int = 0  # the tick at whose boundary it was taken
    came_to: Cost | None = None  # that admission counts it as in the end
    corrected: int = 0  # the tick at whose boundary it was known


Ends = frozenset[tuple[JobKey, Forced]]


def forced_ends(lines: Iterable[ReadLine], *, all_usage: bool) -> Ends:
    """What an undisturbed run must be made to repeat; of other jobs only what they cost, and that if asked for."""
    found: dict[JobKey, Forced] = {}
    for line in lines:
        for ended, note in zip(line.core.ended, line.notes.ended, strict=True):
            if ended.reason in FORCED:
                failed = ended.reason == "failed"
                usage = note.usage if failed else Cost()
                found[ended.key] = Forced(ended.reason, usage, failed and split_failure(note.failure)[0] in HALVED)
            elif all_usage and note.source == "llm":
                found[ended.key] = Forced("none", note.usage)
            elif ended.reason == "cancelled":
                found[ended.key] = Forced("cancelled", Cost())
        for ended, note in zip(line.core.late, line.notes.late, strict=True):
            answer = msgspec.json.encode(Result(effects=ended.effects, source=note.source))
            found[ended.key] = found[ended.key]._replace(answer=answer, answered=line.core.tick)
        for correction in line.notes.corrected:
            if not correction.kept:
                found[correction.key] = found[correction.key]._replace(
                    came_to=correction.usage, corrected=line.core.tick
                )
    return frozenset(found.items())


Times = tuple[tuple[int, Timed | Overdue], ...]


def times_of(lines: Iterable[ReadLine]) -> Times:
    """Return the latencies that a run has learned, with their ticks: inputs, like the answers."""
    found: list[tuple[int, Timed | Overdue]] = []
    for line in lines:
        found += [(line.core.tick, fact) for fact in line.notes.timed]
        found += [(line.core.tick, fact) for fact in line.notes.overdue]
    return tuple(found)


def undisturbed_digest(
    scene: Scene, client: Redis, ends: Ends, times: Times = (), asked: tuple[Asked, ...] = ()
) -> str:
    """Return the digest of that run. `client` is of an empty database."""
    world = world_of(scene)
    settings = scene.settings.changed(wait=0.0, lease=1e9, tick_rate=None)
    loop = TickLoop(
        run=RUN,
        owners=world.owners(),
        settings=settings,
        locations=world.locations,
        brief=world.brief,
        ticks=scene.ticks,
        start_minute=scene.start,
        event_types=world.event_types,
        inline=True,
        client=client,
    )
    loop.state.rules = replace(loop.state.rules, waits=scene.settings.wait_seconds() > 0)
    steered = Steered(client, loop, dict(ends), times, last=scene.ticks)
    for tick in loop:
        steered.answer(before=tick.number + 1)
        for one in asked:
            if one.tick == tick.number + 1:
                send(client, loop.ledger.store, one.request)
        world.live(loop, tick)
    SimulatedModel.fate = None
    return loop.digest


class Steered:
    """Runs each job at once, to the end that it is to have.

    One that is to be late or cancelled, or is due after the last tick, is not tried: nobody uses its result, and what
    its attempts take from a retry pool could cost another job its end.
    """

    def __init__(self, client: Redis, loop: TickLoop, ends: dict[JobKey, Forced], times: Times, last: int) -> None:
        self._client = client
        self._claims = Claims(client, worker="steered")
        self._ledger = loop.ledger
        self._publish = loop._loop.collector._publish
        loop._loop.collector._publish = self.publish
        self._begin = loop._loop.engine.begin
        loop._loop.engine.begin = self.begin  # type: ignore[method-assign]
        self._unreadable = loop.state.unreadable
        self._ends = ends
        self._times = times
        self._last = last  # tick
        self._owing: dict[JobKey, Claim] = {}  # attempts whose answers come after their jobs' ends
        self._now: Forced | None = None
        SimulatedModel.fate = self

    def publish(self, jobs: Sequence[Job]) -> int:
        """Run jobs in order."""
        for job in jobs:
            self._now = self._ends.get(job.key)
            reason = self._now.reason if self._now is not None else "none"
            if self._now is not None and self._now.answer:
                self._owe(job, reason)
            elif reason == "dead":
                self._fail(job)
            elif reason not in ("late", "cancelled") and job.due <= self._last:
                self._publish([job])
        return len(jobs)

    def begin(self, tick: int, boundary: BoundaryInput) -> list[Change]:
        """Begin a tick with the corrections and times that the journal has of it, whatever these jobs come to here."""
        known = [
            (key, {"usage": msgspec.structs.astuple(end.came_to), "saved": False, "at": tick})
            for key, end in self._ends.items()
            if end.came_to is not None and end.corrected == tick
        ]
        corrections = [raw for key, usage in known for raw in (key.text().encode(), msgspec.json.encode(usage))]
        shown = {**boundary.shown, "corrections": corrections, "retries": ()}
        facts = [fact for at, fact in self._times if at == tick]
        timed = [fact for fact in facts if isinstance(fact, Timed)]
        overdue = [fact for fact in facts if isinstance(fact, Overdue)]
        changes = self._begin(tick, boundary._replace(shown=shown, timed=timed, overdue=overdue))
        if self._unreadable:
            raise AssertionError(f"tick {tick}: the engine cannot read {self._unreadable}")
        return changes

    def answer(self, before: int) -> None:
        """Let the answers come that are taken at the next boundary."""
        for key, claim in self._owing.items():
            if self._ends[key].answered == before:
                self._claims.settle(claim, typed_json.decode(self._ends[key].answer, Result), Cost())

    def _owe(self, job: Job, reason: Reason) -> None:
        """Begin an attempt that goes on beyond the job's end; the host gives a dead job's up, the others fail.

        Only one is lost: what lost attempts take from a retry pool could cost another job its end.
        """
        claim = Claims(self._client, worker=f"steered {job.id}").claim(job.id)
        if not isinstance(claim, Claim):
            return
        self._owing[job.key] = claim
        if reason == "dead":
            self._ledger.collect(job.due, "due", [claim.token])
            self._fail(job)

    def _fail(self, job: Job) -> None:
        """Have every further attempt fail at no cost."""
        while isinstance(claim := self._claims.claim(job.id), Claim):
            self._claims.settle(claim, None, Cost())

    def asked(self, key: int, cases: int) -> Outcome:
        """A request of the present job."""
        if self._now is None:
            return Outcome()
        if self._now.reason != "failed":
            return Outcome(None, self._now.usage)
        # A failure of the same sort that ends the job at once.
        return Outcome("filtered" if self._now.halved else "bad_request", self._now.usage)
