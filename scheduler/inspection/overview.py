"""The figures of a run that an operator reads first: today's budget, its host and pace, and its last hour.

An hour is game time, the only time in the journal. If it is shorter than a real minute, the overview covers that minute
too; the figures of ticks show when it began. Only the newest lines are read, so polling is cheap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace
from redis import Redis

from cogitate.memory import typed_json
from cogitate.memory.clock import DAY, USUAL, Clock
from cogitate.scheduler.budget.budget import window_of
from cogitate.scheduler.budget.budget_lines import budget_lines
from cogitate.scheduler.budget.forecast import forecast
from cogitate.scheduler.config.facts import kept_settings
from cogitate.scheduler.inspection.recent import BY_MODEL, Recent, lines_by_model, newest_lines, recent_ticks, tally
from cogitate.scheduler.inspection.stored_run import limit_name, limits_of
from cogitate.scheduler.inspection.summary import SlowKind, slow_kinds
from cogitate.scheduler.inspection.vitals import RECENT, OpenKind, SteeringVitals, Window, open_kinds, steering_of
from cogitate.scheduler.journal.outline import LineOutline
from cogitate.scheduler.latency.latencies import LatencyPrior
from cogitate.scheduler.ledger.errors import RunMissing
from cogitate.scheduler.ledger.presence import format_state, host_of
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.figure_history import read_figures, ticks_since
from cogitate.tasks.job import Cost

HOUR = 60  # game minutes
MINUTE = 60.0  # real seconds
MOST_LATELY = 600  # ticks of the last real minute that are read
OWN_PROGRAM = 'start the program that hosts it again, with exist="resume"'
RESUME = "resume"  # the field of the description with the command that resumes the run
FEW = 3  # fewest jobs for a meaningful share
SHORT = ("denied", *BY_MODEL)  # reasons why a job for a model ended without a model's answer


class RunOverview(msgspec.Struct, frozen=True, kw_only=True):
    """The newest figures of a run."""

    run: str
    status: str  # that its host set last
    held: bool  # whether a host appears to be running it
    host: str  # the last host that held it: machine and process id
    resume: str = ""  # the command that resumes it; "" if the user's own program hosts it
    tick: int
    minute: int  # game time, total minutes
    clock: Clock = USUAL  # by which texts name times
    asks_model: bool
    endpoints: list[str]  # of its models
    held_under: dict[str, int] = {}  # limit, named as in the settings -> amount held in its current windows
    windows: list[Window]  # of scope `run`: first today's, then those of the whole run
    steering: SteeringVitals
    open: dict[str, OpenKind]
    hour: Recent
    lately: Recent | None = None  # the last real minute, if it has more ticks than the hour
    judged: Recent | None = None  # the newest ticks of that minute in which `FEW` jobs show how the model performs
    span: str = ""  # the time that `hour` covers, in words; "": the last hour
    slow_kinds: list[SlowKind] = []  # kinds whose model was too slow to call for some jobs of the last hour

    @property
    def state(self) -> str:
        """Return the status for display, marked if the host vanished without leaving the run."""
        return format_state(self.status, self.held)

    @property
    def over_lately(self) -> RunOverview:
        """Return the overview with the last real minute as its hour, if that minute has more ticks."""
        if self.lately is None:
            return self
        whole = self.lately.last - self.lately.first + 1 < MOST_LATELY
        span = "real minute" if whole else f"{MOST_LATELY} ticks"
        return msgspec.structs.replace(self, hour=self.lately, lately=None, span=span)

    @property
    def over_judged(self) -> RunOverview:
        """Return the overview with the newest ticks in which some jobs show how the model performs as its hour."""
        if self.judged is None:
            return self
        ticks = self.judged.last - self.judged.first + 1
        return msgspec.structs.replace(self, hour=self.judged, judged=None, span=f"{ticks:,} ticks")

    @property
    def ended(self) -> int:
        """Return how many jobs ended in the last hour."""
        return sum(sum(kind.ends.values()) for kind in self.hour.kinds.values())

    @property
    def thought(self) -> int:
        """Return how many jobs of the last hour got a model's answer."""
        return sum(kind.sources["llm"] + kind.sources["cached"] for kind in self.hour.kinds.values())

    @property
    def wanted(self) -> int:
        """Return how many jobs of the last hour needed a model's answer."""
        return self.thought + sum(self.short(reason) for reason in SHORT)

    def short(self, reason: str) -> int:
        """Return how many jobs of the last hour ended without a model's answer for this reason, one of `SHORT`."""
        return sum(kind.reasons[reason] for kind in self.hour.kinds.values())

    @property
    def late(self) -> int:
        """Return how many jobs of the last hour were late, or skipped a model that is too slow."""
        return self.short("late") + self.short("too_slow")

    @property
    def waiting(self) -> int:
        """Return how many jobs are waiting for a worker."""
        return sum(kind.waiting for kind in self.open.values())


class Spenders(msgspec.Struct, frozen=True, kw_only=True):
    """The owners that spent most today."""

    since: int  # game time at which the count begins: the start of the day, unless that is too long ago
    owners: dict[str, Cost]  # highest spending first


def spenders_today(store: RunStore, run: RunOverview) -> Spenders:
    """Return the owners that spent most today, late answers included, from the newest lines of the journal."""
    clock, start = kept_settings(store.state_field("settings")).game_clock(), run.minute - run.minute % DAY
    newest = recent_ticks(store, run.run, limits_of(store).ever, min(RECENT, 1 + clock.ticks(run.minute - start)))
    return Spenders(since=max(start, newest.minute - clock.minutes(newest.last - newest.first)), owners=newest.owners)


def run_overview(client: Redis, run: str, now: float | None = None) -> RunOverview:
    """Return the newest figures of a run.

    Args:
        now: seconds since 1970, to cover the last real minute too.
    """
    store = RunStore.open(client, run)
    status, host, tick, kept, described = store.state("status", "host", "tick", "settings", "describe")
    if tick is None or kept is None:
        raise RunMissing("the run was deleted meanwhile")
    settings, limits = kept_settings(kept), limits_of(store)
    ticks = max(1, settings.game_clock().ticks(HOUR))
    held = host_of(store) is not None
    minute = ticks_since(store, now - MINUTE, MOST_LATELY) if now is not None and held else 0
    newest = newest_lines(store, max(ticks, minute))

    def tallied(lines: Sequence[LineOutline]) -> Recent:
        return replace(tally(lines, run, limits.ever), late_by_host=late_by_host(store, lines))

    hour, lately, judged = tallied(newest[-ticks:]), None, None
    if minute > ticks:
        lately = tallied(newest)
        if (few := lines_by_model(newest, FEW)) > ticks:
            judged = tallied(newest[-few:])
    start = hour.minute - settings.game_clock().minutes(hour.last)
    clock = settings.game_clock(start)
    present = [window_of(period, hour.last, hour.minute) for period in ("day", "run")]
    lines = [line for line in budget_lines(store, limits.last_of) if line.window in present]
    windows = [
        Window(line=line, forecast=forecast(line, minute=hour.minute, start=start))
        for line in lines
        if line.scope == "run"
    ]
    amounts: Counter[str] = Counter()
    for line in lines:
        amounts[limit_name(limits.ever, f"{line.window} {line.scope} {line.unit}")] += line.held
    return RunOverview(
        run=run,
        status=(status or b"").decode(),
        held=held,
        host=(host or b"").decode(),
        resume=_resume_of(described),
        tick=int(tick),
        minute=hour.minute,
        clock=clock,
        asks_model=settings.llm != "heuristic",
        endpoints=sorted({model.endpoint for model in settings.model_table().values()}),
        held_under=dict(amounts),
        windows=sorted(windows, key=lambda window: present.index(window.line.window)),
        steering=steering_of(store),
        open=open_kinds(store, run, int(tick)),
        hour=hour,
        lately=lately,
        judged=judged,
        slow_kinds=slow_kinds(store, settings, {name: kind.reasons["too_slow"] for name, kind in hour.kinds.items()}),
    )


TOO_LITTLE = 0.5  # share of the real time that the pace gives to a job's ticks


def late_by_host(store: RunStore, lines: Sequence[LineOutline]) -> int:
    """Return how many jobs that ended late in these lines had less than half of the real time that the pace gives."""
    late = [(ended.key.tick, line.core.tick) for line in lines for ended in line.core.ended if ended.reason == "late"]
    rate = _tick_rate(store) if late else None
    if rate is None:
        return 0
    ticks = sorted({tick for span in late for tick in span})
    at = {figures.tick: figures.at for figures in read_figures(store, (f"t{tick}" for tick in ticks))}
    count = 0
    for admitted, ended in late:
        began, over = at.get(admitted), at.get(ended)
        if began is not None and over is not None:
            count += over - began < TOO_LITTLE * (ended - admitted) / rate
    return count


def _tick_rate(store: RunStore) -> float | None:
    """Return the ticks per second of a paced run; None: unknown."""
    (prior,) = store.state("latency_prior")
    try:
        return typed_json.decode(prior, LatencyPrior).tick_rate if prior is not None else None
    except msgspec.DecodeError:
        return None


def resume_command(store: RunStore) -> str:
    """Return the command that resumes a run, a finished one for more days; "" if the user's own program hosts it."""
    status, described = store.state("status", "describe")
    more = " --days N (more days than so far)" if status == b"finished" else ""
    return f"{command}{more}" if (command := _resume_of(described)) else ""


def _resume_of(described: bytes | None) -> str:
    return str(typed_json.decode(described or b"{}").get(RESUME, ""))
