"""A run's vital signs while it goes on: its budget with a forecast, and its open jobs.

Reads the run's state, its windows, its open jobs and the newest lines of its journal, so that it may be asked every
second or two whatever the run's length; `scheduler.inspection.summary` reads the whole journal instead. The budget's
lines are the same as there. No memory's text and no prompt is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec
from redis import Redis

from scheduler.budget.budget_lines import BudgetLine, budget_lines
from scheduler.budget.forecast import Forecast, forecast
from scheduler.config.kept_settings import kept_settings
from scheduler.config.settings import Settings
from scheduler.inspection.recent import Recent, recent_ticks
from scheduler.inspection.steering_vitals import SteeringVitals, steering_of
from scheduler.inspection.summary import limits_of
from scheduler.ledger.errors import NewerSchema, RunMissing, RunUnreadable
from scheduler.ledger.presence import HELD, format_state, host_of
from scheduler.ledger.run_names import prefix_of, run_names
from tasks.job import JobKey

RECENT = 240  # ticks
UNREADABLE = "unreadable"


class RunHead(msgspec.Struct, frozen=True):
    """A run and how its host left it, or that a host holds it."""

    run: str
    status: str  # running, paused, finished, stopped, cancelled; unreadable: the ledger holds what no version writes
    held: bool  # a host is at work on it, as far as can be seen from here

    @property
    def state(self) -> str:
        """The status in words: also that a host which has not left its run is gone."""
        return format_state(self.status, self.held)


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of the accounts, and what becomes of its limit if there is one."""

    line: BudgetLine
    forecast: Forecast | None


class BudgetVitals(msgspec.Struct, frozen=True, kw_only=True):
    """What a run may spend, has spent and was refused."""

    run: str
    status: str
    tick: int
    minute: int  # game time, total minutes
    windows: list[Window]
    recent: Recent


class OpenKind(msgspec.Struct, kw_only=True):
    """The open jobs of one kind, by state."""

    waiting: int = 0  # for a worker
    running: int = 0
    staged: int = 0  # done, and applied when due
    dead: int = 0  # given up; the heuristic applies when due
    held: int = 0  # refused by the budget; likewise
    oldest: str = ""  # id of the job that has been waiting or running longest
    age: int = 0  # ticks since that job was enqueued


class WorkerBeat(msgspec.Struct, frozen=True, kw_only=True):
    """A worker process as the run's ledger knows it."""

    worker: str
    beats: int  # heartbeats so far; it beats only while it has a job
    running: int  # attempts


class CadenceVitals(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is waiting for, and how its latest jobs ended."""

    run: str
    status: str
    tick: int
    minute: int  # game time, total minutes
    open: dict[str, OpenKind]
    workers: list[WorkerBeat]
    steering: SteeringVitals
    recent: Recent


def run_heads(client: Redis) -> list[RunHead]:
    """The runs of this data folder or server, those that are running first."""
    heads = []
    for run in run_names(client):
        try:
            prefix = prefix_of(client, run)
            status: Any = client.hget(prefix + "state", "status")
            held = host_of(client, prefix) is not None
        except (RunMissing, NewerSchema):
            continue  # deleted since, or not for this version to show
        except (RunUnreadable, ValueError, RecursionError):
            status, held = UNREADABLE.encode(), False
        heads.append(RunHead(run, (status or b"").decode(), held))
    return sorted(heads, key=lambda head: (not head.held, head.status not in HELD, head.status == UNREADABLE, head.run))


def budget_vitals(client: Redis, run: str) -> BudgetVitals:
    """The budget of a run as it is now.

    Raises:
        RunMissing: when there is no such run.
    """
    prefix = prefix_of(client, run)
    status, tick, settings = _state(client, prefix)
    limits = limits_of(client, prefix)
    recent = recent_ticks(client, prefix, run, limits.ever, RECENT)
    start = recent.minute - recent.last * settings.minutes_per_tick

    windows = [
        Window(line=line, forecast=forecast(line, minute=recent.minute, start=start))
        for line in budget_lines(client, prefix, limits.now)
    ]
    return BudgetVitals(run=run, status=status, tick=tick, minute=recent.minute, windows=windows, recent=recent)


def cadence_vitals(client: Redis, run: str) -> CadenceVitals:
    """The open jobs of a run as they are now.

    Raises:
        RunMissing: when there is no such run.
    """
    prefix = prefix_of(client, run)
    status, tick, _ = _state(client, prefix)
    recent = recent_ticks(client, prefix, run, limits_of(client, prefix).ever, RECENT)
    return CadenceVitals(
        run=run,
        status=status,
        tick=tick,
        minute=recent.minute,
        open=open_kinds(client, prefix, run, tick),
        workers=_workers(client, prefix),
        steering=steering_of(client, prefix),
        recent=recent,
    )


def _state(client: Redis, prefix: str) -> tuple[str, int, Settings]:
    state: Any = client.hmget(prefix + "state", "status", "tick", "settings")
    if state[1] is None:
        raise RunMissing("the run was deleted meanwhile")
    return (state[0] or b"").decode(), int(state[1]), kept_settings(state[2])


def open_kinds(client: Redis, prefix: str, run: str, tick: int) -> dict[str, OpenKind]:
    """The open jobs of each kind at a tick."""
    members: Any = client.smembers(prefix + "jobs")
    texts = sorted(raw.decode() for raw in members)
    pipeline = client.pipeline(transaction=False)
    for text in texts:
        pipeline.hmget(f"{prefix}job:{text}", "state", "token")
    kinds: dict[str, OpenKind] = {}
    for text, (state, token) in zip(texts, pipeline.execute(), strict=True):
        if state is None:  # ended since the set was read
            continue
        key = JobKey.parse(text)
        kind = kinds.setdefault(key.kind, OpenKind())
        name = ("running" if token else "waiting") if state == b"open" else state.decode()
        setattr(kind, name, getattr(kind, name) + 1)
        if state == b"open" and (not kind.oldest or tick - key.tick > kind.age):
            kind.oldest, kind.age = f"{run}/{text}", max(0, tick - key.tick)
    return dict(sorted(kinds.items()))


def _workers(client: Redis, prefix: str) -> list[WorkerBeat]:
    beats: Any = client.hgetall(prefix + "beats")
    attempts: Any = client.hvals(prefix + "attempts")
    running = Counter(_workers_of(attempts))
    return [
        WorkerBeat(worker=name, beats=count, running=running[name])
        for name, count in sorted((raw.decode(), int(count)) for raw, count in beats.items())
    ]


class _Attempt(msgspec.Struct):
    worker: str


def _workers_of(attempts: Iterable[bytes]) -> Iterable[str]:
    return (msgspec.json.decode(raw, type=_Attempt).worker for raw in attempts)
