"""A small run in which every kind that calls a model calls it once, each at its own endpoint.

The endpoints are separate because all callers of an endpoint share its state (breaker, Retry-After) after a failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from redis import Redis
from structlog.testing import capture_logs

from cogitate import Profile, Settings, TickLoop
from cogitate.hosting import logs
from cogitate.hosting.inline import InlinePublisher
from cogitate.memory.routing.scopes import WORLD
from cogitate.scheduler.budget.budget_lines import budget_lines
from cogitate.scheduler.config.endpoints import Endpoint, ModelSettings
from cogitate.scheduler.config.limits import UNITS
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.stored_run import limits_of
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import EndNote
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, Job
from cogitate.tasks.registry import kinds
from tests.live_redis import empty_redis

KINDS = tuple(kind.name for kind in kinds() if kind.name != "prune")
ANN, BEN, INN = "agent:ann", "agent:ben", "location:inn"
OWNERS = {
    ANN: Profile(name="Ann"),
    BEN: Profile(name="Ben"),
    INN: Profile(name="The Goose"),
    WORLD: Profile(name="The Realm"),
}
TALK = ("Ben asked whether the mill grinds on Sundays.", "Ann said that it does after church.", "Ben was glad of it.")
ROOM = 10_000_000
CLAIMS = 3  # attempts that a job may have


def publish_at_once(publisher: InlinePublisher, jobs: Sequence[Job]) -> int:
    """Replace `InlinePublisher.publish`, so that a job waiting for its next attempt delays no other."""
    with ThreadPoolExecutor(len(KINDS)) as pool:
        return sum(pool.map(lambda job: _publish_one(publisher, [job]), jobs))


_publish_one = InlinePublisher.publish


class Outcome(NamedTuple):
    """The end of the one job of a kind."""

    note: EndNote
    end: str
    spent: Cost  # of all its attempts, from the ledger's accounts
    reserved: Cost  # upper bound of one attempt
    failures: dict[str, int]  # from its endpoint's counters
    events: set[str]  # log events of its calls and of its job


def think(tmp_path: Path, client: Redis, url: str, *, deadline: float = 60.0) -> dict[str, Outcome]:
    """Run it, check that audit and replay agree, and return the outcomes by kind."""
    settings = Settings.tuned(
        data_dir=tmp_path,
        llm="openai",
        limits=_limits(),
        limit_tokens=ROOM,
        retry_share=0.5,
        act_interval=0,
        reflection_interval=100_000,
        repair_from=1440,
        latency=dict.fromkeys(KINDS, 2),
        job_deadline=deadline,
        claim_cap=CLAIMS,
        api_key="any",
        endpoints={kind: Endpoint(base_url=url) for kind in KINDS},
        models={kind: ModelSettings(endpoint=kind, model=kind, input_price=0, output_price=0) for kind in KINDS},
        kind_tiers={kind: {"routine": kind} for kind in KINDS},
    )
    logs.configure(1)  # failed calls are logged with -v
    loop = TickLoop(run="town", owners=OWNERS, settings=settings, ticks=6, inline=True, client=client)
    with capture_logs() as told, loop:
        for tick in loop:
            _happen(loop, tick.number)
    assert audit(client, "town") == []
    assert replay(client, "town", empty_redis()).digest == loop.digest
    assert summarise_run(client, "town").status == "finished"
    return _outcomes(client, loop.tick, told)


def _limits() -> dict[str, int]:
    """Return limits that never bind; the accounts count only what has a limit."""
    return {f"run.kind:{kind}.{unit}": ROOM for kind in KINDS for unit in ("calls", "tokens", "usd_micros")}


def _happen(loop: TickLoop, tick: int) -> None:
    """Make each kind due once."""
    if tick == 1:
        for text in TALK:
            talk = {"type": "message", "text": text, "minute": 1, "importance": 6, "source_id": "t1"}
            loop.observe(ANN, talk | {"subjects": (BEN, ANN), "source": "dialogue"})
        loop.observe(WORLD, {"type": "message", "text": "The ford is flooded.", "minute": 1, "location": "inn"})
    if tick == 2:
        loop.event(BEN, {"kind": "final_results", "text": "The council will mend the bridge."})
        loop.left_location("inn")
        for kind in ("plan", "reflect", "act"):
            loop.request(kind, ANN)
        loop.request("summarise", ANN, numbers=(1, 2, 3))
        loop.request("rate", ANN, numbers=(1,))


def _outcomes(client: Redis, ticks: int, told: Sequence[Mapping[str, Any]]) -> dict[str, Outcome]:
    store = RunStore.open(client, "town")
    spent = {(line.scope, line.unit): line.spent for line in budget_lines(store, limits_of(store).limit_of)}
    failures = {one.endpoint: one.failures for one in endpoint_vitals(client)}
    lines = list(read_journal(store, 1, ticks))
    reserved = {note.key.kind: note.reserved for line in lines for note in line.notes.opened}
    events: dict[str, set[str]] = {kind: set() for kind in KINDS}
    for entry in told:
        kind = entry.get("endpoint") or entry.get("model") or "".join(entry.get("job", "").split("/")[2:3])
        if kind in KINDS and entry["event"] not in ("job.settled", "endpoint.waiting"):  # the latter for a Retry-After
            events[kind].add(entry["event"])
    found = {}
    for line in lines:
        for ended, note in zip(line.core.ended, line.notes.ended, strict=True):
            kind = ended.key.kind
            assert kind not in found, f"a second job of kind {kind}"
            cost = Cost(*(spent.get((f"kind:{kind}", unit), 0) for unit in UNITS))
            found[kind] = Outcome(note, ended.end, cost, reserved[kind], failures.get(kind, {}), events[kind])
    assert set(found) == set(KINDS)
    return found
