"""Figures of a load test: a row for each tick, totals of the rows, and assertions on them such as "late_share<0.05"."""

from __future__ import annotations

import json
import operator
import re
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
from redis import Redis

from cogitate.memory.stream import Stream
from cogitate.ops.formatting.run import tick_ms
from cogitate.ops.load.profiles import LoadProfile
from cogitate.scheduler.budget.budget_lines import WHOLE_RUN, accounts_of
from cogitate.scheduler.config.controls import FULL
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.engine.run_data import FinishedTick
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.scheduler.journal.run_totals import spending
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.steering.throttle import KIND

PATIENCE = 10.0  # seconds for the stand-in to answer


class SpentTokens(NamedTuple):
    """The tokens of a whole test, including its warm-up."""

    charged: int
    served: int | None  # by the stand-in; None: the endpoint is the user's
    unreported: int  # charged tokens that are estimates, since the endpoint reported no usage
    usd_micros: int = 0  # the price of the charged tokens, in millionths of a dollar


def unreported_tokens(client: Redis) -> int:
    """Return the estimated tokens of all calls so far without usage, including earlier tests on the server."""
    return sum(one.estimated for one in endpoint_vitals(client))


def spent_tokens(store: RunStore, endpoint: str | None, earlier: int) -> SpentTokens:
    """Return the tokens of the run, whose workers have exited.

    Args:
        endpoint: the stand-in's base URL; None: the user's endpoint.
        earlier: the unreported tokens of calls before the run.
    """
    spent = accounts_of({WHOLE_RUN: store.window(WHOLE_RUN)})
    charged, price = (spent.get((WHOLE_RUN, "run", unit), {}).get("spent", 0) for unit in ("tokens", "usd_micros"))
    return SpentTokens(charged, _served(endpoint), unreported_tokens(store.client) - earlier, price)


def _served(endpoint: str | None) -> int | None:
    if endpoint is None:
        return None
    with urllib.request.urlopen(endpoint.removesuffix("/v1") + "/stats", timeout=PATIENCE) as answer:
        stats = json.load(answer)
    return int(stats["prompt_tokens"]) + int(stats["completion_tokens"])


EXPERIENCED = ("observation", "message")


def evidence_share(streams: Iterable[Stream], since: int) -> float | None:
    """Return the share of experiences since a game minute that reflections cite; None without experiences.

    It measures coverage, not the quality of conclusions.
    """
    experienced = cited = 0
    for stream in streams:
        entries = stream.entries.values()
        experiences = {entry.number for entry in entries if entry.type in EXPERIENCED and entry.minute >= since}
        evidence = {number for entry in entries if entry.type == "reflection" for number in entry.evidence}
        experienced += len(experiences)
        cited += len(experiences & evidence)
    return round(cited / experienced, 4) if experienced else None


NOTHING_SPENT = SpentTokens(0, None, 0)


class TickFigures(msgspec.Struct, kw_only=True):
    """The figures of one tick."""

    tick: int
    minute: int  # game time
    at: float  # seconds since the first tick
    host: float  # seconds of the host's own work
    ended: int = 0  # jobs for workers
    late: int = 0
    failed: int = 0  # failed or dead
    reflected: int = 0  # reflections that ended, including refused ones
    thought: int = 0  # reflections answered by a model
    plans: int = 0  # ended jobs of kind plan
    late_plans: int = 0
    tokens: int = 0  # of all attempts whose usage is known at the tick
    cadence: float = 1.0  # after the tick, as a share of the usual
    queue: int | None = None  # age in ticks of the oldest waiting or running job; None: not read
    behind: float = 0.0  # ticks that the host is behind the pace
    sources: Counter[str] = msgspec.field(default_factory=Counter)


class Step(msgspec.Struct, frozen=True):
    """A step of the controller from one cadence to another."""

    minute: int
    before: int  # thousandths
    factor: int


class LoadRecorder:
    """A recorder of committed ticks."""

    def __init__(self) -> None:
        self.rows: list[TickFigures] = []
        self.steps: list[Step] = []
        self.asked: Counter[str] = Counter()  # owners whose reflection was admitted or left to the heuristic
        self.reflected: Counter[str] = Counter()  # owners whose reflection ended
        self.postponed = 0
        self.refused = 0
        self.held: set[str] = set()  # owners whose reflection was postponed and not requested since
        self._cadence = 1.0

    def committed(self, tick: int, minute: int, outcome: FinishedTick, at: float, host: float) -> TickFigures:
        """Record a committed tick and return its row."""
        row = TickFigures(tick=tick, minute=minute, at=at, host=host)
        row.tokens = sum(charge.cost.tokens for charge in spending(outcome.notes))
        for ended, note in zip(outcome.core.ended, outcome.notes.ended, strict=True):
            row.sources[note.source] += 1
            if ended.key.kind == KIND:
                self.reflected[ended.key.owner] += 1
                row.reflected += 1
                row.thought += note.source == "llm"
            if ended.reason in ("denied", "too_slow", "cancelled"):
                self.refused += 1
                continue
            row.ended += 1
            row.late += ended.reason == "late"
            row.failed += ended.reason in ("failed", "dead")
            if ended.key.kind == "plan":
                row.plans += 1
                row.late_plans += ended.reason == "late"
        for decided in outcome.core.decided:
            if decided.key.kind == KIND and decided.decision in ("admitted", "heuristic"):
                self.asked[decided.key.owner] += 1
                self.held.discard(decided.key.owner)
        self.postponed += len(outcome.core.postponed)
        self.held.update(postponed.owner for postponed in outcome.core.postponed)
        stepped = outcome.core.stepped
        if stepped is not None:
            self._cadence = stepped.factor / FULL
            if stepped.factor != stepped.before:
                self.steps.append(Step(minute, stepped.before, stepped.factor))
        row.cadence = self._cadence
        self.rows.append(row)
        return row

    def pinned(self, cadence: float) -> None:
        """Record a cadence that the load test set."""
        self._cadence = cadence


def figures(
    profile: LoadProfile,
    recorder: LoadRecorder,
    *,
    open_reflections: int,
    waiting: Iterable[str],
    interval: int,
    evidence: float | None = None,
    spent: SpentTokens = NOTHING_SPENT,
) -> dict[str, Any]:
    """Return all figures with stable names; None where a figure has no value.

    Args:
        open_reflections: reflections that are open at the end.
        waiting: owners that the throttle holds back at the end.
        interval: game minutes between two steps of the controller.
        evidence: the share of experiences that reflections cite.
        spent: the tokens of the whole test.
    """
    rows = [row for row in recorder.rows if row.minute >= profile.begin]
    phases = {}
    for number, (start, phase) in enumerate(profile.starts()):
        in_phase = [row for row in rows if profile.at(row.minute)[0] == number]
        phases[phase.name] = _shares(in_phase) | {
            "ticks": len(in_phase),
            "seconds": _seconds(in_phase),
            "cadence": in_phase[-1].cadence if in_phase else None,
            "reversals": _reversals(recorder.steps, start, start + phase.minutes),
        }
    lost = sum(recorder.asked.values()) - sum(recorder.reflected.values()) - open_reflections
    untraced = len(recorder.held - set(waiting))
    seconds = _seconds(rows)
    return {
        "profile": profile.name,
        "agents": profile.agents,
        "warm": int(_is_warm(profile, recorder.rows, interval)),
        "ticks": len(rows),
        "seconds": seconds,
        "ticks_per_second": round(len(rows) / seconds, 3) if seconds else None,
        "jobs_per_second": round(sum(row.ended for row in rows) / seconds, 3) if seconds else None,
        **_shares(rows),
        "tokens": spent.charged,
        "usd": spent.usd_micros / 1e6,
        "endpoint_tokens": spent.served,
        "unreported_tokens": spent.unreported,
        "cadence_least": min((row.cadence for row in rows), default=None),
        "cadence_last": rows[-1].cadence if rows else None,
        "evidence_share": evidence,
        "postponed": recorder.postponed,
        "lost_reflections": lost + untraced,
        "reversals_most": max((phase["reversals"] for phase in phases.values()), default=0),
        **_effect(profile, recorder.steps, interval),
        "phases": phases,
    }


def _is_warm(profile: LoadProfile, rows: Sequence[TickFigures], interval: int) -> bool:
    """Return whether the last interval before the first phase was quiet, at the usual or the pinned cadence."""
    before = [row for row in rows if profile.begin - interval <= row.minute < profile.begin]
    if not profile.warm_up or not before:
        return not profile.warm_up
    return before[-1].cadence == (profile.phases[0].cadence or 1) and not any(row.late or row.failed for row in before)


def _shares(rows: Sequence[TickFigures]) -> dict[str, Any]:
    """Return the figures that both a phase and the whole test have."""
    ended, plans = sum(row.ended for row in rows), sum(row.plans for row in rows)
    sources = sum((row.sources for row in rows), Counter[str]())
    queue = [row.queue for row in rows if row.queue is not None]
    ms = tick_ms([row.host for row in rows])
    return {
        "jobs": sources.total(),
        "late_share": round(sum(row.late for row in rows) / ended, 4) if ended else None,
        "late_plan_share": round(sum(row.late_plans for row in rows) / plans, 4) if plans else None,
        "failed_share": round(sum(row.failed for row in rows) / ended, 4) if ended else None,
        "llm_share": round(sources["llm"] / sources.total(), 4) if sources else None,
        "tokens": sum(row.tokens for row in rows),
        "reflections": sum(row.reflected for row in rows),
        "reflections_by_model": sum(row.thought for row in rows),
        "queue_age_most": max(queue, default=None),
        "behind_most": round(max((row.behind for row in rows), default=0.0), 2),
        "host_ms_p50": ms["p50"],
        "host_ms_p99": ms["p99"],
        "host_ms_max": ms["max"],
    }


def _effect(profile: LoadProfile, steps: Sequence[Step], interval: int) -> dict[str, int | None]:
    """Return the number of the controller's intervals until the cadence had halved, and until it was back at 1.

    It has halved at half of its value at the start of the disturbance. The second number counts from the end of the
    disturbance, and is 0 if the cadence never fell.
    """
    disturbed = {start: phase for start, phase in profile.starts() if phase.name == profile.disturbed}
    if not disturbed:
        return {"intervals_to_half": None, "intervals_to_base": None}
    ((start, phase),) = disturbed.items()
    end = start + phase.minutes
    before = next((step.factor for step in reversed(steps) if step.minute <= start), FULL)
    halved = next((step.minute for step in steps if step.minute > start and step.factor <= before // 2), None)
    falls = [step.minute for step in steps if step.minute > start and step.factor < step.before]
    back = (
        0
        if not falls
        else next(
            (
                -(-max(0, step.minute - end) // interval)
                for step in steps
                if step.minute > falls[0] and step.factor == FULL
            ),
            None,
        )
    )
    return {
        "intervals_to_half": None if halved is None else -(-(halved - start) // interval),
        "intervals_to_base": back,
    }


def _reversals(steps: Sequence[Step], start: int, end: int) -> int:
    """Return the number of reversals of the cadence within a phase."""
    rises = [step.factor > step.before for step in steps if start < step.minute <= end]
    return sum(one != other for one, other in pairwise(rises))


def _seconds(rows: Sequence[TickFigures]) -> float:
    return round(rows[-1].at - rows[0].at, 3) if len(rows) > 1 else 0.0


_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_FORM = re.compile(r"\s*([\w.-]+?)\s*(<=|>=|==|!=|<|>)\s*(-?\d+(?:\.\d+)?(?:[eE]-?\d+)?)\s*")


class Expectation(NamedTuple):
    """An assertion on one figure."""

    name: str
    comparison: str
    value: float

    def text(self) -> str:
        """Return the assertion as the user wrote it."""
        return f"{self.name}{self.comparison}{self.value:g}"


def parse(text: str, option: str = "--assert") -> Expectation:
    """Parse an assertion.

    Args:
        option: the option that gave it, for the error.

    Raises:
        ConfigurationError: when the text is not an assertion.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ConfigurationError(
            f"{option} {text[:80]!r}: write a figure, one of {' '.join(_COMPARISONS)} and a number, "
            'such as "late_share<0.05"'
        )
    return Expectation(match[1], match[2], float(match[3]))


def numbers(figures: Mapping[str, Any], prefix: str = "") -> dict[str, float | None]:
    """Return the figures by name, with those of phases as "outage.late_share"; None for a figure without a value."""
    flat: dict[str, float | None] = {}
    for name, value in figures.items():
        if isinstance(value, dict):
            flat |= numbers(value, f"{prefix}{name}." if name != "phases" else prefix)
        elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            flat[prefix + name] = value
    return flat


def check_names(expected: list[Expectation], known: Mapping[str, object], option: str = "--assert") -> None:
    """Check that each assertion names a figure.

    Raises:
        ConfigurationError: naming an unknown figure and the known ones.
    """
    for one in expected:
        if one.name not in known:
            names = ", ".join(sorted(name for name in known if "." not in name))
            phases = ", ".join(sorted(name for name in known if name.endswith(".late_share")))
            raise ConfigurationError(
                f"{option}: unknown figure {one.name!r}; known: {names}"
                + (f"; and those of phases, such as {phases}" if phases else "")
            )


def failures(expected: list[Expectation], known: Mapping[str, float | None]) -> list[str]:
    """Return a line for each assertion that does not hold."""
    lines = []
    for one in expected:
        value = known[one.name]
        if value is None:
            lines.append(f"{one.text()}: the figure has no value")
        elif not _COMPARISONS[one.comparison](value, one.value):
            lines.append(f"{one.text()}: it is {value:g}")
    return lines
