"""A small run with records of every kind, written by this version to a file that later versions must read.

`python -m tests.integration.scheduler.ledger.written_run` writes `tests/fixtures/run-schema-<N>.json`; see the page
beside it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from redis import Redis

from cogitate import Event, Observation, Profile, Settings, TickLoop
from cogitate.hosting.inline import InlinePublisher
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.ledger.claims import Claim, Claims, Result
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, Job
from cogitate.tasks.registry import kind_of
from tests.live_redis import empty_redis
from tests.repository import ROOT

RUN = "written"
FOLDER = ROOT / "tests" / "fixtures"
TICKS = 180  # of ten minutes, up to 6 AM of the second day, when plans are requested
LATENCY = {"plan": 5, "act": 3, "reflect": 10, "integrate": 10, "recount": 10, "summarise": 20, "prune": 5}  # ticks
OWNERS = {
    "agent:ada": Profile(name="Ada Smith", occupation="smith"),
    "agent:ben": Profile(name="Ben Cole"),
    "npc:cy": Profile(name="Cy"),
    "location:inn": Profile(name="The Golden Inn"),
    "group:council": Profile(name="The council"),
    "world": Profile(name="The valley"),
}


class Careless(InlinePublisher):
    """A publisher that fails Ben's reflections; of four other jobs it runs two, settles one too late, and loses one."""

    def __init__(self, client: Redis, settings: Settings) -> None:
        super().__init__(client, settings)
        self._client = client
        CLAIMED.clear()

    def publish(self, jobs: Sequence[Job]) -> int:
        """Run, fail, claim or lose each job."""
        for job in jobs:
            answer_late_plan(self._client, "agent:ada", job.key.tick)
            if job.key[1:3] == ("reflect", "agent:ben"):
                fail_every_attempt(self._client, job)
                continue
            match (job.key.tick + len(job.key.owner)) % 4:
                case 0:
                    pass
                case 1:
                    claim = self._runner._claims.claim(job.id)
                    if isinstance(claim, Claim):
                        CLAIMED.append(claim)
                case _:
                    self._runner.run(job.id)
        return len(jobs)


CLAIMED: list[Claim] = []  # claims of the current run


def answer_late_plan(client: Redis, owner: str, tick: int) -> None:
    """Settle an owner's claimed plans that are late at a tick, with a result as from a model."""
    for claim in [one for one in CLAIMED if one.job.key[1:3] == ("plan", owner) and one.job.due < tick]:
        CLAIMED.remove(claim)
        used = Cost(calls=1, tokens=300)
        effects = kind_of(claim.job.key.kind).heuristic(claim.case)
        result = Result(effects=effects, source="llm", usage=used, model=claim.job.model)
        Claims(client, worker="late").settle(claim, result, used)


def fail_every_attempt(client: Redis, job: Job) -> None:
    """Claim a job and settle it without a result until it is dead."""
    claims = Claims(client, worker="failing")
    while isinstance(claim := claims.claim(job.id), Claim):
        claims.settle(claim, None, Cost(calls=1, tokens=100))


def settings_for(data_dir: Path, base_url: str) -> Settings:
    """Return settings with binding limits, jobs that stay open for ticks, leases that expire at once, every memory
    policy, and a model at `base_url`."""
    return Settings.tuned(
        llm="openai",
        base_url=base_url,
        api_key=SecretStr("any"),
        limit_tokens=1_000_000,
        data_dir=data_dir,
        seconds_per_tick=600,
        latency=LATENCY,
        wait=0,
        lease=1e-9,
        hint_interval=1e9,
        claim_cap=2,
        limits={
            "tick.run.calls": 4,
            "day.run.calls": 24,
            "day.kind:recount.calls": 1,
            "day.kind:summarise.calls": 4,  # too few to keep any for retries
            "run.run.calls": 200,
        },
        policies={"npc": "cells", "agent:ben": "tokens"},
        token_limit=150,
        cells=2,
        rate_share=0.5,
    )


def live(loop: TickLoop, ticks: int) -> None:
    """Run the world until the run has this number of ticks."""
    for tick in loop:
        minute = tick.minute
        for owner in ("agent:ada", "agent:ben", "npc:cy"):
            if tick.number % 3 == len(owner) % 3 and tick.number % 7 < 4:
                text = f"The mill's wheel broke for the {tick.number}th time, and the miller blames {owner}."
                loop.observe(owner, Observation(text=text, minute=minute, importance=tick.number % 11))
        if tick.number % 9 == 0:  # counted as a repeat after the first time
            loop.observe("agent:ada", Observation(text="The miller sings.", minute=minute, importance=3))
        if tick.number % 10 == 0:
            said = {"type": "message", "text": "Cy promised us his boat.", "location": "inn", "minute": minute}
            loop.observe("world", said)
            vow = Event(kind="discussion_statement", speaker="agent:ben", text=f"Vow {tick.number}: the bridge first.")
            for owner in ("agent:ada", "group:council"):
                loop.event(owner, vow)
            loop.left_location("inn", present=["npc:cy"])
            loop.story_event("quest_completed", related={"quest_id": "q7"})
        if tick.number == 20:
            loop.join("agent:dot", Profile(name="Dot"))
        if tick.number == 60:
            loop.request("reflect", "agent:dot")
        if tick.number == 61:
            loop.leave("agent:dot")
        if tick.number in (ticks - 2, ticks - 1):  # one will be staged, one stays unclaimed
            loop.request("reflect", "agent:ada")
        if tick.number == ticks - 2:  # it will be dead
            loop.request("reflect", "agent:ben")
        loop.checkpoint(b'{"tick": %d}' % tick.number)
        if tick.number == ticks:
            loop.stop()


def dump(client: Redis, run: str) -> dict[str, Any]:
    """Return a run's keys with their types and values, and its head."""
    kept: dict[str, Any] = {}
    names: Any = client.keys("*")
    for key in sorted(raw.decode() for raw in names):
        kind: Any = client.type(key)
        match kind:
            case b"string":
                value: Any = _text(client.get(key))
            case b"hash":
                value = {_text(field): _text(found) for field, found in sorted(client.hgetall(key).items())}
            case b"set":
                value = sorted(map(_text, client.smembers(key)))
            case b"list":
                value = list(map(_text, client.lrange(key, 0, -1)))
            case _:
                scored: Any = client.zrange(key, 0, -1, withscores=True)
                value = {_text(member): int(score) for member, score in scored}
        kept[key] = [kind.decode(), value]
    state: Any = client.hmget(RunStore.open(client, run).key("state"), "tick", "digest")
    return {"schema": SCHEMA, "run": run, "tick": int(state[0]), "digest": _text(state[1]), "keys": kept}


def load(client: Redis, written: dict[str, Any]) -> None:
    """Put the keys of a file into an empty database."""
    for key, (kind, value) in written["keys"].items():
        match kind:
            case "string":
                client.set(key, as_bytes(value))
            case "hash":
                client.hset(key, mapping={field: as_bytes(found) for field, found in value.items()})
            case "set":
                client.sadd(key, *map(as_bytes, value))
            case "list":
                client.rpush(key, *map(as_bytes, value))
            case "zset":
                client.zadd(key, value)


def as_bytes(text: str) -> bytes:
    """Decode a file's text, in which lone surrogates stand for bytes that are not UTF-8."""
    return text.encode(errors="surrogateescape")


def _text(raw: Any) -> str:
    found: str = raw.decode(errors="surrogateescape")
    return found


def write(path: Path) -> None:
    """Make the run, and write it with one key per line."""
    client = empty_redis()
    with tempfile.TemporaryDirectory() as folder, FakeEndpoint() as endpoint, pytest.MonkeyPatch.context() as patch:
        patch.setattr("cogitate.hosting.inline.InlinePublisher", Careless)
        settings = settings_for(Path(folder), endpoint.url)
        with TickLoop(run=RUN, owners=OWNERS, settings=settings, inline=True, client=client, ticks=TICKS + 1) as loop:
            live(loop, TICKS)
    answer_late_plan(client, "agent:ben", TICKS)
    found = dump(client, RUN)
    keys = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.pop("keys").items())
    head = json.dumps(found)[:-1]
    path.write_text(f'{head}, "keys": {{\n{keys}\n}}}}\n')
    print(f"{path}: {path.stat().st_size:,} bytes, {summarise_run(client, RUN).jobs}")


if __name__ == "__main__":
    write(FOLDER / f"run-schema-{SCHEMA}.json")
