"""Live figures of a run: its budget with a forecast, and its open jobs.

Reads the run's state, its windows, its open jobs and the newest lines of its journal, so it can be polled every second
or two however long the run is; `cogitate.scheduler.inspection.summary` reads the whole journal instead and returns the
same budget lines. No text of a memory and no prompt is read.
"""

from __future__ import annotations

from collections import Counter

import msgspec
from redis import Redis

from cogitate.memory import typed_json
from cogitate.scheduler.budget.budget_lines import BudgetLine, budget_lines
from cogitate.scheduler.budget.forecast import Forecast, forecast
from cogitate.scheduler.config.kept_settings import kept_settings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.recent import Recent, recent_ticks
from cogitate.scheduler.inspection.steering_vitals import SteeringVitals, steering_of
from cogitate.scheduler.inspection.summary import limits_of
from cogitate.scheduler.ledger.errors import NewerSchema, OlderSchema, RunMissing, RunUnreadable
from cogitate.scheduler.ledger.presence import HELD, format_state, host_of
from cogitate.scheduler.ledger.run_store import RunStore, run_names
from cogitate.tasks.job import JobKey

RECENT = 240  # ticks
UNREADABLE = "unreadable"


class RunHead(msgspec.Struct, frozen=True):
    """A run with its status, and whether a host holds it."""

    run: str
    status: str  # running, paused, finished, stopped, cancelled; unreadable: its data in the ledger is malformed
    held: bool  # whether a host appears to be running it

    @property
    def state(self) -> str:
        """Return the status for display, marked if the host vanished without leaving the run."""
        return format_state(self.status, self.held)


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of the accounts, with a forecast if it has a limit."""

    line: BudgetLine
    forecast: Forecast | None


class BudgetVitals(msgspec.Struct, frozen=True, kw_only=True):
    """The limits, the spending and the refusals of a run."""

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
    staged: int = 0  # done; the result is applied when due
    dead: int = 0  # abandoned; the heuristic is applied when due
    held: int = 0  # refused by the budget; the heuristic is applied when due
    oldest: str = ""  # id of the job that has been waiting or running longest
    age: int = 0  # ticks since that job was enqueued


class WorkerBeat(msgspec.Struct, frozen=True, kw_only=True):
    """A worker process as seen in the run's ledger."""

    worker: str
    beats: int  # heartbeats so far; a worker sends them only while it runs a job
    running: int  # attempts in progress


class CadenceVitals(msgspec.Struct, frozen=True, kw_only=True):
    """The open jobs of a run, and the ends of its latest ones."""

    run: str
    status: str
    tick: int
    minute: int  # game time, total minutes
    open: dict[str, OpenKind]
    workers: list[WorkerBeat]
    steering: SteeringVitals
    recent: Recent


def run_heads(client: Redis) -> list[RunHead]:
    """Return the runs of this data folder or server, running ones first."""
    heads = []
    for run in run_names(client):
        try:
            store = RunStore.open(client, run)
            status = store.field("state", "status")
            held = host_of(store) is not None
        except (RunMissing, NewerSchema, OlderSchema):
            continue  # deleted since, or written by another version
        except (RunUnreadable, ValueError, RecursionError):
            status, held = UNREADABLE.encode(), False
        heads.append(RunHead(run, (status or b"").decode(), held))
    return sorted(heads, key=lambda head: (not head.held, head.status not in HELD, head.status == UNREADABLE, head.run))


def budget_vitals(client: Redis, run: str) -> BudgetVitals:
    store = RunStore.open(client, run)
    status, tick, settings = _state(store)
    limits = limits_of(store)
    recent = recent_ticks(store, run, limits.ever, RECENT)
    start = recent.minute - settings.game_clock().minutes(recent.last)

    windows = [
        Window(line=line, forecast=forecast(line, minute=recent.minute, start=start))
        for line in budget_lines(store, limits.last_of)
    ]
    return BudgetVitals(run=run, status=status, tick=tick, minute=recent.minute, windows=windows, recent=recent)


def cadence_vitals(client: Redis, run: str) -> CadenceVitals:
    store = RunStore.open(client, run)
    status, tick, _ = _state(store)
    recent = recent_ticks(store, run, limits_of(store).ever, RECENT)
    return CadenceVitals(
        run=run,
        status=status,
        tick=tick,
        minute=recent.minute,
        open=open_kinds(store, run, tick),
        workers=_workers(store),
        steering=steering_of(store),
        recent=recent,
    )


def _state(store: RunStore) -> tuple[str, int, Settings]:
    status, tick, settings = store.kept_state("status", "tick", "settings")
    return status.decode(), int(tick), kept_settings(settings)


def open_kinds(store: RunStore, run: str, tick: int) -> dict[str, OpenKind]:
    members = store.members("jobs")
    texts = sorted(raw.decode() for raw in members)
    pipeline = store.pipeline()
    for text in texts:
        pipeline.hmget(store.job_key(text), "state", "token")
    kinds: dict[str, OpenKind] = {}
    for text, (state, token) in zip(texts, pipeline.execute(), strict=True):
        if state is None:  # it ended after the set was read
            continue
        key = JobKey.parse(text)
        kind = kinds.setdefault(key.kind, OpenKind())
        name = ("running" if token else "waiting") if state == b"open" else state.decode()
        setattr(kind, name, getattr(kind, name) + 1)
        if state == b"open" and (not kind.oldest or tick - key.tick > kind.age):
            kind.oldest, kind.age = f"{run}/{text}", max(0, tick - key.tick)
    return dict(sorted(kinds.items()))


def _workers(store: RunStore) -> list[WorkerBeat]:
    beats = store.mapping("beats")
    attempts = store.values("attempts")
    running = Counter(typed_json.decode(raw)["worker"] for raw in attempts)
    return [
        WorkerBeat(worker=name, beats=count, running=running[name])
        for name, count in sorted((raw.decode(), int(count)) for raw, count in beats.items())
    ]
