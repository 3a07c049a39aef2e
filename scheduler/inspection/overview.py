"""The figures of a run that an operator reads first: today's budget, its host and pace, and its last hour.

An hour is one of game time, as the journal has no other. Asked again and again, this reads the newest lines only.
"""

from __future__ import annotations

from collections import Counter

import msgspec
from redis import Redis

from cogitate.memory import typed_json
from cogitate.memory.clock import DAY
from cogitate.scheduler.budget.budget import window_of
from cogitate.scheduler.budget.budget_lines import budget_lines
from cogitate.scheduler.budget.forecast import forecast
from cogitate.scheduler.config.kept_settings import kept_settings
from cogitate.scheduler.inspection.recent import Recent, recent_ticks
from cogitate.scheduler.inspection.slow_kinds import SlowKind, slow_kinds
from cogitate.scheduler.inspection.steering_vitals import SteeringVitals, steering_of
from cogitate.scheduler.inspection.summary import limit_name, limits_of
from cogitate.scheduler.inspection.vitals import RECENT, OpenKind, Window, open_kinds
from cogitate.scheduler.ledger.errors import RunMissing
from cogitate.scheduler.ledger.presence import format_state, host_of
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost

HOUR = 60  # game minutes
RESUME = "resume"  # the command that goes on with a run, in what its host keeps of it
SHORT = ("denied", "too_slow", "late", "failed", "dead")  # why a job that was to ask a model had no answer of one


class RunOverview(msgspec.Struct, frozen=True, kw_only=True):
    """The newest figures of a run."""

    run: str
    status: str  # as its host left it
    held: bool  # a host is at work on it, as far as can be seen from here
    host: str  # the last that took it: machine and process id
    resume: str = ""  # the command that goes on with it; "" where a program of the user's hosts it
    tick: int
    minute: int  # game time, total minutes
    asks_model: bool
    endpoints: list[str]  # of its models
    held_under: dict[str, int] = {}  # limit, named as in the settings -> what is held of its present windows
    windows: list[Window]  # of the whole run's scope: today's first, then those of the whole run
    steering: SteeringVitals
    open: dict[str, OpenKind]
    hour: Recent
    slow_kinds: list[SlowKind] = []  # those of which jobs of the last hour were not asked, as their model is too slow

    @property
    def state(self) -> str:
        """Return the status as people read it; it says so when the host is gone without having left its run."""
        return format_state(self.status, self.held)

    @property
    def ended(self) -> int:
        """Return how many jobs ended in the last hour."""
        return sum(sum(kind.ends.values()) for kind in self.hour.kinds.values())

    @property
    def thought(self) -> int:
        """Return how many jobs of the last hour have the answer of a model."""
        return sum(kind.sources["llm"] + kind.sources["cached"] for kind in self.hour.kinds.values())

    @property
    def wanted(self) -> int:
        """Return how many were to have one."""
        return self.thought + sum(self.short(reason) for reason in SHORT)

    def short(self, reason: str) -> int:
        """Return how many jobs of the last hour got less than was asked for, for one of the reasons in `SHORT`."""
        return sum(kind.reasons[reason] for kind in self.hour.kinds.values())

    @property
    def late(self) -> int:
        """Return how many jobs of the last hour were late, or not asked as they would have been."""
        return self.short("late") + self.short("too_slow")

    @property
    def waiting(self) -> int:
        """Return how many jobs wait for a worker."""
        return sum(kind.waiting for kind in self.open.values())


class Spenders(msgspec.Struct, frozen=True, kw_only=True):
    """The owners that spent most today."""

    since: int  # game time from which what was spent is counted: the day's beginning, unless that is too long ago
    owners: dict[str, Cost]  # who spent most comes first


def spenders_today(store: RunStore, run: RunOverview) -> Spenders:
    """Return who spent most on the present day, answers that came late included, read from its newest lines.

    Raises:
        JournalError: when one of these cannot be read.
        RunMissing: when the run was deleted meanwhile.
    """
    (kept,) = store.state("settings")
    if kept is None:
        raise RunMissing("the run was deleted meanwhile")
    clock, start = kept_settings(kept).game_clock(), run.minute - run.minute % DAY
    newest = recent_ticks(store, run.run, limits_of(store).ever, min(RECENT, 1 + clock.ticks(run.minute - start)))
    return Spenders(since=max(start, newest.minute - clock.minutes(newest.last - newest.first)), owners=newest.owners)


def run_overview(client: Redis, run: str) -> RunOverview:
    """Return the newest figures of a run.

    Raises:
        RunMissing: when there is no such run.
        JournalError: when a line of its journal cannot be read.
    """
    store = RunStore.open(client, run)
    status, host, tick, kept, described = store.state("status", "host", "tick", "settings", "describe")
    if tick is None or kept is None:
        raise RunMissing("the run was deleted meanwhile")
    settings, limits = kept_settings(kept), limits_of(store)
    hour = recent_ticks(store, run, limits.ever, max(1, settings.game_clock().ticks(HOUR)))
    start = hour.minute - settings.game_clock().minutes(hour.last)
    present = [window_of(period, hour.last, hour.minute) for period in ("day", "run")]
    lines = [line for line in budget_lines(store, limits.last) if line.window in present]
    windows = [
        Window(line=line, forecast=forecast(line, minute=hour.minute, start=start))
        for line in lines
        if line.scope == "run"
    ]
    held: Counter[str] = Counter()
    for line in lines:
        held[limit_name(limits.ever, f"{line.window} {line.scope} {line.unit}")] += line.held
    return RunOverview(
        run=run,
        status=(status or b"").decode(),
        held=host_of(store) is not None,
        host=(host or b"").decode(),
        resume=str(typed_json.decode(described or b"{}").get(RESUME, "")),
        tick=int(tick),
        minute=hour.minute,
        asks_model=settings.llm != "heuristic",
        endpoints=sorted({model.endpoint for model in settings.model_table().values()}),
        held_under=dict(held),
        windows=sorted(windows, key=lambda window: present.index(window.line.window)),
        steering=steering_of(store),
        open=open_kinds(store, run, int(tick)),
        hour=hour,
        slow_kinds=slow_kinds(store, settings, {name: one.reasons["too_slow"] for name, one in hour.kinds.items()}),
    )
