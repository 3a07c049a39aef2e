"""A host and workers that tests drive step by step, on the product's own tick loop, ledger and claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from redis import Redis

from cogitate.memory.clock import Clock
from cogitate.memory.effects import Append, Effect
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.memory.routing.routing import Routing
from cogitate.scheduler.budget.rules import Rules, view_of
from cogitate.scheduler.config.facts import Facts, keep_settings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.tiers import ModelOption
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.latency.due_ticks import Bounds
from cogitate.scheduler.ledger.claims import Claim, Claims, Result, Settled
from cogitate.scheduler.ledger.ledger import Apply, HostLedger
from cogitate.scheduler.tick.loop import RunLoop
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.tasks.job import Cost, Job, JobKey, Latency, Request, ticks_of
from cogitate.tasks.kind import Case, Kind, Moment, OnDenied, Prompt

OWNER, OTHER = "agent:ann", "agent:bob/the ünlucky|one"
FREE: dict[str, int] = {}  # no limits
CALL = Cost(calls=1)
HOURLY = Facts(minutes_per_tick=60)


@dataclass(frozen=True, kw_only=True)
class Think(Kind):
    """A kind whose heuristic appends what it read; due only on request."""

    name: str
    order: int = 10
    latency: Latency = 3
    on_denied: OnDenied = "heuristic"
    prompt_cap: int = 100
    output_cap: int = 10

    def due(self, moment: Moment) -> Iterable[Request]:
        return ()

    def wake(self, moment: Moment) -> int | None:
        return None

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        raise AssertionError("no test asks a model for this kind")

    def effects(self, case: Case, answer: BaseModel, used: tuple[int, ...]) -> tuple[Effect, ...]:
        raise AssertionError("no test asks a model for this kind")

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        return (thought(case.job, f"read {[e.number for e in case.entries]}"),)


THINK = Think(name="think")
KINDS: tuple[Kind, ...] = (
    THINK,
    Think(name="muse", order=20, on_denied="defer"),
    Think(name="doze", order=30, on_denied="drop", latency=2),
)


def thought(job: Job, text: str) -> Append:
    """Return the effect of a job that appends a reflection."""
    return Append(owner=job.key.owner, entry=Entry(type="reflection", text=text, minute=job.minute))


def settings_of(limits: Mapping[str, int], retry_share: float = 0.2) -> Settings:
    """Return settings with these limits and no guarantees."""
    return Settings.tuned(limits=dict(limits), retry_share=retry_share, guarantees={}, last_call={})


def observe_again(loop: RunLoop, tick: Tick) -> None:
    """Repeat the world's observations of a tick from the journal."""
    (line,) = read_journal(loop.ledger.store, tick.number, tick.number)
    for owner, entry in line.core.observed:
        loop.calls.observe(owner, entry)


class Host:
    """A host of a run, always in the world's turn of a tick.

    `turn` commits that tick and continues to the world's turn of the next.
    """

    def __init__(
        self,
        client: Redis,
        *,
        run: str = "r",
        resume: bool = False,
        limits: Mapping[str, int] = FREE,
        retry_share: float = 0.2,
        cost: Cost | Mapping[str, Cost] = CALL,  # the cost of every job, or of each kind
        kinds: Sequence[Kind] = KINDS,
        owners: Iterable[str] = (OWNER, OTHER),
        apply: Apply = "due",
        claim_cap: int = 4,
        ticks: int | None = None,
        model: str = "",  # the model that jobs call
        facts: Facts = HOURLY,
        waits: bool = False,  # only what the rules assume: this host never waits
        bounds: Bounds | None = None,  # bounds of due ticks that follow the model's latency
        again: Callable[[RunLoop, Tick], None] = observe_again,
    ) -> None:
        settings = settings_of(limits, retry_share)
        self.client = client
        if resume:
            ledger = HostLedger.resume(client, run)
        else:
            state: dict[str, Any] = {"settings": keep_settings(settings.changed(claim_cap=claim_cap))}
            ledger = HostLedger.create(client, run, state=state)
        self.ledger = ledger
        self.hints: list[Job] = []
        self.loop = RunLoop(
            ledger,
            owners={owner: Profile(name=owner) for owner in owners},
            facts=facts,
            rules=Rules(
                kinds=kinds,
                offers_of=lambda kind, tier: [
                    ModelOption(model, 0, cost if isinstance(cost, Cost) else cost[kind.name])
                ],
                latency_of=lambda kind: ticks_of(kind.latency, tick_rate=None, clock=Clock(seconds_per_tick=60)),
                bounds_of=lambda kind: bounds,
                brief=lambda owner: {},
                coalesce=False,
                waits=waits,
            ),
            view=view_of(settings),
            publish=self._publish,
            routing=Routing(),
            apply=apply,
            wait=0.0,
            lease=1e9,
            hint_interval=1e9,
            ticks=ticks,
        )
        self._ticks = iter(self.loop)
        self.tick: Tick = next(self._ticks)
        while self.tick.replayed:
            again(self.loop, self.tick)
            self.tick = next(self._ticks)

    def _publish(self, jobs: Sequence[Job]) -> int:
        self.hints += jobs
        return len(jobs)

    def turn(self, *requests: tuple[str, str], **more: Any) -> list[Job]:
        """Request jobs (kind, owner), commit the current tick and begin the next; return the admitted jobs."""
        for kind, owner in requests:
            self.loop.calls.request(kind, owner, **more)
        before = set(self.loop.state.open)
        self.tick = next(self._ticks)
        now = self.loop.state.open
        return [item.job for key, item in sorted(now.items()) if key not in before and item.admitted]

    def until(self, tick: int) -> None:
        """Continue to the world's turn of a tick."""
        while self.tick.number < tick:
            self.turn()

    def ended(self) -> dict[JobKey, tuple[str, str]]:
        """Return end and reason of every ended job, from the journal."""
        lines = read_journal(self.ledger.store, 1, self.loop.tick)
        return {end.key: (end.end, end.reason) for line in lines for end in line.core.ended}

    def window(self, window: str, scope: str = "run", unit: str = "calls") -> dict[str, int]:
        """Return the non-zero accounts of a cell."""
        fields: Any = self.client.hgetall(self.ledger.store.window_key(window))
        found = {}
        for field, value in fields.items():
            at, of, account = field.decode().rsplit("|", 2)
            if (at, of) == (scope, unit) and int(value):
                found[account] = int(value)
        return found


def worker(client: Redis, name: str = "w") -> Claims:
    """Return a worker's claims."""
    return Claims(client, worker=name)


def claimed(claims: Claims, job: Job) -> Claim:
    """Claim a job, check that the claim is granted, and return it."""
    claim = claims.claim(job.id)
    assert isinstance(claim, Claim), claim
    return claim


def settle(claims: Claims, claim: Claim, text: str | None = "a thought", used: Cost = CALL) -> Settled:
    """Settle a claim with a thought, or without a result if `text` is None."""
    effects = (thought(claim.job, text),) if text is not None else ()
    result = Result(effects=effects, source="llm", usage=used) if text is not None else None
    return claims.settle(claim, result, used)


def sound(client: Redis, run: str = "r") -> None:
    """Check that the audit has no findings."""
    assert audit(client, run) == []


def everything(client: Redis) -> dict[bytes, bytes]:
    """Return all keys with their values."""
    keys: Any = client.keys("*")
    return {key: client.dump(key) for key in keys}  # type: ignore[misc]


def observe(host: Host, count: int, owner: str = OWNER) -> None:
    for i in range(count):
        host.loop.calls.observe(
            owner, Entry(type="observation", text=f"saw {host.tick.number}.{i}", minute=host.tick.minute)
        )
