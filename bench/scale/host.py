"""One host of a measured fleet, in a separate process: `python -m bench.scale.host`.

It reads a `HostTask` as JSON, prints "ready" once its owners have memories, begins when it receives a line, and answers
with a `HostFigures` as JSON.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec
from pydantic import SecretStr

from bench.crowd.host import IdleTime
from bench.worker.concurrency import KIND, PLACES, fill_memories
from cogitate import Observation, Profile, TickLoop
from cogitate.hosting import logs
from cogitate.memory import typed_json
from cogitate.ops.fake_llm.server import MODEL
from cogitate.scheduler.config.settings import PinnedSettings, Settings
from cogitate.scheduler.inspection.summary import summarise_run

OWNERS = 100
DUE_IN = 30  # ticks


class HostTask(msgspec.Struct, frozen=True, kw_only=True):
    """The task of one host."""

    run: str
    folder: str
    ledger: str  # URLs
    broker: str
    endpoint: str
    ticks: int
    tick_rate: float
    observations: int  # in each tick
    jobs: int
    slots: int


class HostFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one host."""

    ticks: int  # including those until its last job ended
    jobs: int
    answered: int  # by the model
    seconds: float
    cpu: float  # seconds, without the work of idle time


def settings_of(task: HostTask) -> Settings:
    """Return the settings of the host and of its workers."""
    return PinnedSettings.tuned(
        data_dir=Path(task.folder),
        redis_url=SecretStr(task.ledger),
        broker_url=SecretStr(task.broker),
        llm="openai",
        model=MODEL,
        base_url=task.endpoint,
        api_key=SecretStr("any"),
        concurrency=task.slots,
        workers=0,
        wait=0.0,
        tick_rate=task.tick_rate,
        limit_tokens=10**12,
        latency={KIND: DUE_IN},  # so that all jobs are answered in time, also on a busy machine
        limits={"tick.run.calls": 10**9, "day.run.calls": 10**9, f"day.kind:{KIND}.calls": 10**9},
        disable=("plan", "rate"),
        act_interval=0,
    )


def lived(task: HostTask) -> HostFigures:
    """Run the ticks, and wait for the remaining answers."""
    owners = {f"agent:resident {n:04}": Profile(name=f"Resident {n:04}") for n in range(OWNERS)}
    names = list(owners)
    with TickLoop(run=task.run, owners=owners, settings=settings_of(task), locations=PLACES) as loop:
        with loop.next_tick() as tick:
            fill_memories(loop, owners, tick.minute)
        with loop.next_tick():
            pass
        print("ready", flush=True)
        sys.stdin.readline()
        idle = IdleTime(loop)
        begun, cpu = time.monotonic(), time.process_time()
        for number in range(task.ticks):
            with loop.next_tick() as tick:
                for at in range(task.observations):
                    owner = names[(number * task.observations + at) % OWNERS]
                    text = f"{owner} carries sack {number} {at} to the mill."
                    loop.observe(owner, Observation(text=text, minute=tick.minute, importance=1 + at % 5))
                for at in range(task.jobs):
                    loop.request(KIND, names[(number * task.jobs + at) % OWNERS])
        lived_ticks = task.ticks
        while loop.state.open and lived_ticks < task.ticks + 2 * DUE_IN:
            with loop.next_tick():
                lived_ticks += 1
        seconds, used = time.monotonic() - begun, time.process_time() - cpu - idle.take()
        summary = summarise_run(loop.ledger.client, task.run)
    counts = summary.jobs.get(KIND, {})
    return HostFigures(
        ticks=lived_ticks,
        jobs=sum(counts.get("decision", {}).values()),
        answered=counts.get("source", {}).get("llm", 0),
        seconds=seconds,
        cpu=used,
    )


if __name__ == "__main__":
    logs.quiet()
    print(msgspec.json.encode(lived(typed_json.decode(sys.stdin.readline().encode(), HostTask))).decode())
