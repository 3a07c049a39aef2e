"""Checks whether each kind's model is fast enough for the tick rate and the due ticks, before or during a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec
import structlog
from redis import Redis

from cogitate.hosting.finding import Finding, ok, warning
from cogitate.scheduler.budget.briefs import no_brief
from cogitate.scheduler.budget.rules import rules_of
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.endpoint_vitals import usual_seconds
from cogitate.scheduler.latency.due_ticks import ASSUMED, EARLY, prior_of
from cogitate.scheduler.latency.latencies import Latencies
from cogitate.tasks.kind import OnDenied
from cogitate.tasks.registry import kinds
from cogitate.workers.llm.requests.address import called_servers

Verdict = Literal["fits", "too slow", "late", "not known"]
UNFIT: tuple[Verdict, ...] = ("too slow", "late")
PLAN = "plan"  # a kind that all agents request at about the same time
ADVICE = (
    "use a faster model, fewer ticks a second or more workers, or allow a longer wait: act_interval for act, "
    "latency_most for your own kinds"
)
INSTEAD: Mapping[OnDenied, str] = {"heuristic": "by heuristic", "defer": "tried again later", "drop": "dropped"}

log = structlog.get_logger()


class KindFit(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the results of one kind are ready when due."""

    kind: str
    model: str
    verdict: Verdict
    ticks: int | None  # upper bound for nearly all answers; None: the model is unknown
    seconds: float | None
    least: int  # ticks from request to due tick; equal to `most` if the due tick is fixed
    most: int
    on_denied: OnDenied  # what happens to a job whose answer would be late

    def line(self) -> str:
        """Return a line such as "plan: 1.4 s = 28 ticks of 2 to 480: requested 28 ticks before morning"."""
        room = f"{self.least} to {self.most}" if self.least != self.most else f"{self.most}, fixed"
        if self.ticks is None or self.seconds is None:
            return f"{self.kind}: no call of {self.model} observed yet ({ASSUMED:g} s assumed); due after {room} ticks"
        needs = f"{self.kind}: {self.seconds:.3g} s = {self.ticks} ticks of {room}"
        match self.verdict:
            case "too slow":
                return f"{needs}: too slow, {INSTEAD[self.on_denied]}"
            case "late":
                return f"{needs}: late, and paid for"
            case _ if self.ticks > self.most:
                return f"{needs}: fits, except for a few"
            case _ if self.kind == PLAN and self.least != self.most:
                return f"{needs}: requested {min(max(EARLY * self.ticks, self.least), self.most)} ticks before morning"
            case _:
                return f"{needs}: fits"


def pace_fit(settings: Settings, known: Latencies, *, tick_rate: float, agents: int) -> list[KindFit]:
    """Return the fit of each kind that calls a model."""
    rules = rules_of(settings, kinds(), no_brief)
    fits = []
    for kind in rules.kinds:
        model = rules.models_of(kind.name)[0]
        if not model or kind.name in rules.disabled:
            continue
        bounds, fixed = rules.bounds_of(kind), rules.latency(kind.name)
        least, most = (fixed, fixed) if bounds is None else bounds
        ahead = agents - 1 if kind.name == PLAN and bounds is not None else 0
        need = None if known.is_assumed(model) else known.need(kind.name, model, max(0, ahead))
        verdict = _verdict(known, kind.name, model, ahead, need, most, bounds is None)
        seconds = None if need is None else need / tick_rate
        fits.append(
            KindFit(
                kind=kind.name,
                model=model,
                verdict=verdict,
                ticks=need,
                seconds=seconds,
                least=least,
                most=most,
                on_denied=kind.on_denied,
            )
        )
    return fits


def known_before(settings: Settings, usual: Mapping[str, float], tick_rate: float) -> Latencies:
    """Return the latencies that a new run with these settings assumes.

    Args:
        usual: endpoint -> usual seconds of a call.
        tick_rate: ticks a second.
    """
    known = Latencies()
    known.prior = prior_of(settings, usual, tick_rate)
    return known


def fit_lines(fits: Sequence[KindFit], tick_rate: float) -> list[str]:
    """Return a heading and a line for each kind; without kinds, no lines."""
    return (
        [f"At {tick_rate:g} ticks a second nearly every answer arrives within:", *(f"  {fit.line()}" for fit in fits)]
        if fits
        else []
    )


def is_paced(settings: Settings) -> bool:
    """Return whether a run with these settings has a pace, calls models and does not wait for them."""
    return settings.llm == "openai" and settings.tick_rate is not None and settings.wait_seconds() == 0


def paced_lines(settings: Settings, known: Latencies, agents: int, usual: Mapping[str, float]) -> list[str]:
    """Return the lines that a paced run prints at its start; other runs print none."""
    return fit_lines(_fit_of_run(settings, known, agents, usual), settings.tick_rate or 0)


def tell_unfit_kinds(run: str, tick: int, settings: Settings, known: Latencies, agents: int, client: Redis) -> None:
    """Log a warning for each kind whose results are late in a paced run."""
    if not is_paced(settings):
        return
    for fit in _fit_of_run(settings, known, agents, usual_seconds(client, called_servers(settings))):
        if fit.verdict in UNFIT:
            log.warning("pace.unfit", run=run, tick=tick, said=fit.line(), then=ADVICE)


def examine_pace(settings: Settings, client: Redis, agents: int) -> Iterator[Finding]:
    """Check whether the results of each kind are ready when due in a paced run with these settings."""
    if not is_paced(settings) or settings.tick_rate is None:
        return
    known = known_before(settings, usual_seconds(client, called_servers(settings)), settings.tick_rate)
    fits = pace_fit(settings, known, tick_rate=settings.tick_rate, agents=agents)
    lines = "; ".join(fit.line() for fit in fits)
    yield warning("pace", lines, ADVICE) if any(fit.verdict in UNFIT for fit in fits) else ok("pace", lines)


def _fit_of_run(settings: Settings, known: Latencies, agents: int, usual: Mapping[str, float]) -> list[KindFit]:
    if not is_paced(settings) or settings.tick_rate is None:
        return []
    if not settings.adapts():
        known = known_before(settings, usual, settings.tick_rate)
    return pace_fit(settings, known, tick_rate=settings.tick_rate, agents=agents)


def _verdict(known: Latencies, kind: str, model: str, ahead: int, need: int | None, most: int, fixed: bool) -> Verdict:
    if need is None:
        return "not known"
    if need <= most or not known.is_too_slow(kind, model, max(0, ahead), most):
        return "fits"
    return "late" if fixed else "too slow"
