"""Live figures of a run: its budget with a forecast, its open jobs, and its steering.

They come from the run's state, its windows, its open jobs and the newest lines of its journal, so a screen may poll
them every second or two however long the run is. `cogitate.scheduler.inspection.summary` reads the whole journal and
returns the same budget lines. Neither texts of memories nor prompts are read.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec
from redis import Redis

from cogitate.memory import typed_json
from cogitate.memory.clock import DAY, Clock
from cogitate.scheduler.budget.budget_lines import BudgetLine, budget_lines
from cogitate.scheduler.budget.forecast import Forecast, forecast
from cogitate.scheduler.budget.rules import throttle_rules
from cogitate.scheduler.config.controls import FULL, Control, ControlAnswer, read_asked
from cogitate.scheduler.config.facts import kept_settings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.recent import Recent, recent_ticks
from cogitate.scheduler.inspection.stored_run import limits_of
from cogitate.scheduler.ledger.errors import NewerSchema, OlderSchema, RunMissing, RunUnreadable
from cogitate.scheduler.ledger.presence import HELD, format_state, host_of
from cogitate.scheduler.ledger.run_store import RunStore, run_names
from cogitate.scheduler.steering.postponing import Postponing
from cogitate.scheduler.steering.steering import SteeringState
from cogitate.tasks.job import JobKey


class SteeringVitals(msgspec.Struct, frozen=True, kw_only=True):
    """The steering of a run. The cadence is that of reflections, the only jobs that are throttled."""

    mode: str  # running, paused, draining, drained or cancelled, as operators requested
    asked: int  # operators' requests that wait for a tick
    cadence: float  # share of the usual one
    interval: int | None  # game minutes between two reflections of an agent; None: reflection is stopped
    usual: int  # the same without throttling
    by: str  # what sets the cadence: controller, pinned (by an operator), or settings (the controller is off)
    causes: dict[str, int]  # pressure in the controller's last interval, in percent: late, failed, budget
    pressing: tuple[str, ...]  # the causes that slow the cadence
    waiting: int  # owners that are due but may not reflect yet
    postponed: int  # postponements in the run so far
    lag: int  # ticks by which a paced host is behind its schedule
    host_ms: float | None  # host's time for the last tick without waiting and the world's turn; None: not recorded


def steering_of(store: RunStore) -> SteeringVitals:
    kept, steering, postponed, lag, host_us = store.state("settings", "steering", "postponed", "lag", "host_us")
    if kept is None:
        raise RunMissing("the run was deleted meanwhile")
    asked = store.length("controls")
    settings = kept_settings(kept)
    state = SteeringState() if steering is None else typed_json.decode(steering, SteeringState)
    held = Postponing() if postponed is None else typed_json.decode(postponed, Postponing)
    throttle = state.throttle
    by = "pinned" if throttle.pinned else "controller" if throttle_rules(settings).auto else "settings"
    return SteeringVitals(
        mode=state.mode,
        asked=asked,
        cadence=throttle.factor / FULL,
        interval=_interval(settings.reflection_interval, throttle.factor, by == "controller"),
        usual=settings.reflection_interval,
        by=by,
        causes=throttle.causes,
        pressing=throttle.pressing,
        waiting=len(held.waiting),
        postponed=throttle.postponed,
        lag=int(lag or 0),
        host_ms=None if host_us is None else int(host_us) / 1000,
    )


def _interval(usual: int, factor: int, bounded: bool) -> int | None:
    stretched = usual * FULL // factor if factor else None
    if bounded and factor < FULL:
        longest = usual + DAY  # no owner waits past the end of a day
        return longest if stretched is None else min(stretched, longest)
    return stretched


_ANSWER = typed_json.decoder(ControlAnswer)


class SteeringStep(msgspec.Struct, frozen=True, kw_only=True):
    """An operator's request and its outcome."""

    id: str
    control: Control
    by: str  # the operator; "": unknown
    reason: str = ""  # the operator's reason
    state: Literal["waits", "applied", "refused"]
    tick: int = 0  # at which the host applied or refused it
    minute: int = 0  # game time of that tick, total minutes
    refused: str = ""  # why the host refused it
    job: str = ""  # for a retry: the key of the new job
    called_off: str = ""  # for a request to cancel jobs: the outcome


def steering_history(store: RunStore, tick: int, minute: int) -> list[SteeringStep]:
    """Return operators' requests, newest first; the run stores the newest 200 answers."""
    kept = store.field("state", "settings")
    clock = kept_settings(kept).game_clock() if kept is not None else Clock()
    steps = []
    for raw in store.items("answers"):
        try:
            answer = _ANSWER.decode(raw)
        except msgspec.DecodeError:
            continue
        steps.append(
            SteeringStep(
                id=answer.id,
                control=answer.control,
                by=answer.by,
                reason=answer.reason,
                state="refused" if answer.refused else "applied",
                tick=answer.tick,
                minute=minute - clock.minutes(tick - answer.tick),
                refused=answer.refused,
                job=answer.job,
                called_off=answer.called_off.text() if answer.called_off is not None else "",
            )
        )
    for item in read_asked(store.items("controls")):
        if item is not None:
            steps.append(SteeringStep(id=item.id, control=item.control, by=item.by, reason=item.reason, state="waits"))
    return steps[::-1]


RECENT = 240  # ticks
UNREADABLE = "unreadable"


class RunHead(msgspec.Struct, frozen=True):
    """A run with its status, and whether a host holds it."""

    run: str
    status: str  # running, paused, finished, stopped, cancelled; unreadable: the ledger has malformed data
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
    batched: int = 0  # in a batch file, or waiting for one
    staged: int = 0  # done; the result applies at the due tick
    dead: int = 0  # given up; the heuristic applies at the due tick
    held: int = 0  # without a model; the heuristic applies at the due tick
    oldest: str = ""  # id of the job that has been waiting or running longest
    age: int = 0  # ticks since that job was enqueued


class WorkerBeat(msgspec.Struct, frozen=True, kw_only=True):
    """A worker process, as the run's ledger shows it."""

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
            continue  # just deleted, or written by another version
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
    jobs, batched = store.open_jobs("state", "token"), set(store.fields("batched"))
    kinds: dict[str, OpenKind] = {}
    for text, (state, token) in jobs.items():
        if state is None:  # the job ended between the reads
            continue
        key = JobKey.parse(text)
        kind = kinds.setdefault(key.kind, OpenKind())
        running = "batched" if token in batched else "running" if token else "waiting"
        name = running if state == b"open" else state.decode()
        setattr(kind, name, getattr(kind, name) + 1)
        if state == b"open" and (not kind.oldest or tick - key.tick > kind.age):
            kind.oldest, kind.age = f"{run}/{text}", max(0, tick - key.tick)
    return dict(sorted(kinds.items()))


def _workers(store: RunStore) -> list[WorkerBeat]:
    beats = store.mapping("beats")
    attempts = store.values("attempts")
    running = Counter(attempt["worker"] for raw in attempts if not (attempt := typed_json.decode(raw)).get("batched"))
    return [
        WorkerBeat(worker=name, beats=count, running=running[name])
        for name, count in sorted((raw.decode(), int(count)) for raw, count in beats.items())
    ]
