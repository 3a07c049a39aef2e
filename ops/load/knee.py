"""The search for the highest load at which service levels hold, with the controller of reflections and without it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cogitate.ops.load.asserts import Expectation, failures
from cogitate.ops.load.profiles import HOUR, LoadProfile, Phase
from cogitate.scheduler.config.settings import ConfigurationError

RAISED = ("agents", "cadence", "latency")
LEVELS = ("late_share<=0.1", "behind_most<=5", "queue_age_most<=15")
MEASURED = "measured"  # the phase whose figures count
MOST_AGENTS = 1000
USUAL_MOST = 40.0
CLOSE = 1.25  # the search ends when the ratio of a breaking to a holding load is at most this


@dataclass(frozen=True)
class Knee:
    """The highest load that holds and the lowest above it that breaks, as factors, or None."""

    holds: float | None
    breaks: float | None


def knee_of(holds: Callable[[float], bool], most: float, close: float = CLOSE) -> Knee:
    """Return the knee between the loads 1 and `most`: double the load until it breaks, then bisect.

    Args:
        holds: returns whether a load holds; lower loads are assumed to hold as well.
    """
    good, factor = None, 1.0
    while holds(factor):
        good = factor
        if factor >= most:
            return Knee(good, None)
        factor = min(2 * factor, most)
    if good is None:
        return Knee(None, factor)
    bad = factor
    while bad / good > close:
        middle = math.sqrt(good * bad)
        if holds(middle):
            good = middle
        else:
            bad = middle
    return Knee(good, bad)


def doublings(most: float) -> Iterator[float]:
    """Yield 1, 2, 4 and so on, and `most` at the end."""
    factor = 1.0
    while factor < most:
        yield factor
        factor *= 2
    yield most


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A load test at one load."""

    factor: float
    agents: int
    controller: bool
    figures: Mapping[str, Any]  # of the measured phase
    evidence: float | None  # share of the experiences
    cadence: float | None  # minimum within the test
    broken: tuple[str, ...] = ()  # a line for each level that does not hold

    @property
    def holds(self) -> bool:
        """Return whether every level holds."""
        return not self.broken


@dataclass(frozen=True, kw_only=True)
class LoadSearchPlan:
    """The loads to try and the levels to hold."""

    agents: int = 25
    tick_rate: float = 4.0
    latency: float = 0.05  # seconds
    raised: tuple[str, ...] = ("agents",)
    most: float = USUAL_MOST
    minutes: int = 4 * HOUR  # game minutes that are measured
    levels: Sequence[Expectation]
    close: float = CLOSE
    past_knee: bool = False  # measure the doubled loads above the knee too, for the chart

    def __post_init__(self) -> None:
        for name in self.raised:
            if name not in RAISED:
                raise ConfigurationError(f"--raise {name!r}: one of {', '.join(RAISED)}")
        if "agents" in self.raised and round(self.agents * self.most) > MOST_AGENTS:
            raise ConfigurationError(
                f"--up-to {self.most:g}: {self.agents} agents, {self.most:g} times as many, are more than the town's "
                f"{MOST_AGENTS:,}; give at most --up-to {MOST_AGENTS / self.agents:g}"
            )

    def profile(self, factor: float) -> LoadProfile:
        """Return the profile of a load; at 1 it is what the plan begins with."""
        profile = LoadProfile(
            name="find",
            about="one load",
            phases=[Phase(name=MEASURED, minutes=self.minutes, latency=self.latency)],
            agents=self.agents,
            tick_rate=self.tick_rate,
        )
        (phase,) = profile.phases
        if "agents" in self.raised:
            profile = replace(profile, agents=max(1, round(factor * self.agents)))
        if "cadence" in self.raised:
            profile = replace(profile, reflection_interval=max(1, round(profile.reflection_interval / factor)))
        if "latency" in self.raised:
            phase = replace(phase, latency=factor * phase.latency, jitter=factor * phase.jitter)
        return replace(profile, phases=[phase])

    def text(self, factor: float) -> str:
        """Return a load in words, such as "50 agents, latency 0.1 s"."""
        profile = self.profile(factor)
        words = {
            "agents": f"{profile.agents:,} agents",
            "cadence": f"a reflection every {profile.reflection_interval} minutes",
            "latency": f"latency {profile.phases[0].latency:.3g} s",
        }
        return ", ".join(words[name] for name in RAISED if name in self.raised)


Measure = Callable[[LoadProfile, bool], Mapping[str, Any]]


class LoadSearch:
    """A search with all of its probes."""

    def __init__(
        self, plan: LoadSearchPlan, measure: Measure, tell: Callable[[Probe], None] = lambda probe: None
    ) -> None:
        """Prepare a search.

        Args:
            measure: runs a profile with the controller on or off, and returns the figures of the load test.
            tell: called with each probe.
        """
        self.plan = plan
        self._measure = measure
        self._tell = tell
        self._probes: dict[tuple[float, bool], Probe] = {}

    def run(self) -> dict[bool, Knee]:
        """Return the knee with the controller on (True) and off (False)."""
        found = {on: self._knee(on) for on in (False, True)}
        at = found[True].holds
        if at is not None:
            self.probe(at, False)  # the cost of throttling there
        if self.plan.past_knee:
            for on, knee in found.items():
                for factor in doublings(self.plan.most):
                    if knee.breaks is not None and factor > knee.breaks:
                        self.probe(factor, on)
        return found

    def _knee(self, controller: bool) -> Knee:
        return knee_of(lambda factor: self.probe(factor, controller).holds, self.plan.most, self.plan.close)

    def probe(self, factor: float, controller: bool) -> Probe:
        """Return the probe of a load, measured at most once."""
        made = self._probes.get((factor, controller))
        if made is None:
            profile = self.plan.profile(factor)
            found = self._measure(profile, controller)
            measured = found["phases"][MEASURED]
            known = {name: value for name, value in measured.items() if value is not None}
            broken = failures([level for level in self.plan.levels if level.name in known], known)
            if found["ticks"] < profile.minutes_measured // profile.minutes_per_tick:
                broken.append(f"it took more than {found['longest']:.0f} s")
            made = Probe(
                factor=factor,
                agents=profile.agents,
                controller=controller,
                figures=measured,
                broken=tuple(broken),
                evidence=found["evidence_share"],
                cadence=found["cadence_least"],
            )
            self._probes[factor, controller] = made
            self._tell(made)
        return made

    def probes(self, controller: bool) -> list[Probe]:
        """Return the probes with the controller on or off, by ascending load."""
        return [probe for (_, on), probe in sorted(self._probes.items()) if on == controller]
