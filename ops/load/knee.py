"""The search for the highest load at which service levels hold, with the controller of reflections and without it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from cogitate.ops.formatting.charts import Axis, Mark, Series, figure, line_chart
from cogitate.ops.load.figures import Expectation, failures
from cogitate.ops.load.profiles import HOUR, MOST_AGENTS, LoadProfile, Phase
from cogitate.ops.report.page import Cell, Page, ReportTable, Section
from cogitate.scheduler.config.settings import ConfigurationError

RAISED = ("agents", "cadence", "latency")
LEVELS = ("late_share<=0.1", "behind_most<=5", "queue_age_most<=15")
MEASURED = "measured"  # the phase whose figures count
USUAL_MOST = 40.0  # the default for the highest load, as a factor
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
    evidence: float | None  # share of experiences that reflections cite
    cadence: float | None  # minimum during the test
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
        """Return the profile of a load; factor 1 is the load with which the plan begins."""
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
        knees = {on: self._knee(on) for on in (False, True)}
        at = knees[True].holds
        if at is not None:
            self.probe(at, False)  # for the cost of throttling at this load
        if self.plan.past_knee:
            for on, knee in knees.items():
                for factor in doublings(self.plan.most):
                    if knee.breaks is not None and factor > knee.breaks:
                        self.probe(factor, on)
        return knees

    def _knee(self, controller: bool) -> Knee:
        return knee_of(lambda factor: self.probe(factor, controller).holds, self.plan.most, self.plan.close)

    def probe(self, factor: float, controller: bool) -> Probe:
        """Return the probe of a load, which is measured once."""
        probe = self._probes.get((factor, controller))
        if probe is None:
            profile = self.plan.profile(factor)
            figures = self._measure(profile, controller)
            measured = figures["phases"][MEASURED]
            known = {name: value for name, value in measured.items() if value is not None}
            broken = failures([level for level in self.plan.levels if level.name in known], known)
            if figures["ticks"] < profile.minutes_measured // profile.minutes_per_tick:
                broken.append(f"it took more than {figures['longest']:.0f} s")
            probe = Probe(
                factor=factor,
                agents=profile.agents,
                controller=controller,
                figures=measured,
                broken=tuple(broken),
                evidence=figures["evidence_share"],
                cadence=figures["cadence_least"],
            )
            self._probes[factor, controller] = probe
            self._tell(probe)
        return probe

    def probes(self, controller: bool) -> list[Probe]:
        """Return the probes with the controller on or off, by ascending load."""
        return [probe for (_, on), probe in sorted(self._probes.items()) if on == controller]


_WITH = {False: "controller off", True: "controller on"}
_COST = (("reflections", "reflections"), ("reflections by a model", "reflections_by_model"), ("tokens", "tokens"))


def answer_lines(search: LoadSearch, knees: Mapping[bool, Knee]) -> list[str]:
    """Return the result: the knees with the controller off and on, and the cost of throttling at the second."""
    lines = []
    for on, knee in knees.items():
        if knee.holds is None:
            lines.append(f"With the {_WITH[on]} no load holds: {_why(search, knee, on)}")
        elif knee.breaks is None:
            lines.append(f"With the {_WITH[on]} {search.plan.text(knee.holds)} hold, the highest load tried")
        else:
            lines.append(f"With the {_WITH[on]} {search.plan.text(knee.holds)} hold: {_why(search, knee, on)}")
    at = knees[True].holds
    if at is None:
        return lines
    off, on_probe = search.probe(at, False), search.probe(at, True)
    if on_probe.cadence == 1:
        return [*lines, f"At {search.plan.text(at)} the controller throttled nothing"]
    lines.append(f"At {search.plan.text(at)} throttling reflections down to {figure(on_probe.cadence or 0)} cost:")
    lines += [f"  {name}: {on} instead of {without}" for name, on, without in _costs(on_probe, off)]
    return lines


def knee_json(search: LoadSearch, knees: Mapping[bool, Knee]) -> dict[str, Any]:
    """Return the result and every probe as plain data."""
    names = {False: "off", True: "on"}
    facts: dict[str, Any] = {
        "raised": list(search.plan.raised),
        "levels": [level.text() for level in search.plan.levels],
    }
    for on, knee in knees.items():
        facts[names[on]] = {
            "holds": None if knee.holds is None else search.plan.text(knee.holds),
            "breaks": None if knee.breaks is None else search.plan.text(knee.breaks),
            "factor_holds": knee.holds,
            "factor_breaks": knee.breaks,
        }
    facts["probes"] = [
        {
            "load": search.plan.text(one.factor),
            "factor": one.factor,
            "agents": one.agents,
            "controller": names[on],
            "holds": one.holds,
            "broken": list(one.broken),
            "cadence_least": one.cadence,
            "evidence_share": one.evidence,
            **one.figures,
        }
        for on in names
        for one in search.probes(on)
    ]
    at = knees[True].holds
    if at is not None:
        costs = _costs(search.probe(at, True), search.probe(at, False))
        facts["cost"] = {name: {"on": on, "off": off} for name, on, off in costs}
    return facts


def knee_chart(search: LoadSearch, knees: Mapping[bool, Knee]) -> Markup:
    """Draw late share and cadence over the load, and the knees; the load doubles from mark to mark."""
    off, on = search.probes(False), search.probes(True)
    tried = [math.log2(probe.factor) for probe in (*off, *on)]
    agents = "agents" in search.plan.raised
    axis = Axis.exactly(0.0, max(1.0, *tried), 1.0)

    def label(position: float) -> str:
        factor = 2**position
        return f"{round(factor * search.plan.agents):,}" if agents else f"×{figure(factor)}"

    marks = [
        Mark(math.log2(knee.holds), f"knee, {'on' if controller else 'off'}")
        for controller, knee in knees.items()
        if knee.holds is not None and knee.breaks is not None
    ]
    return line_chart(
        "Late share and cadence over load",
        [
            Series("late, controller off", _points(off, "late_share")),
            Series("late, controller on", _points(on, "late_share")),
            Series("cadence, controller on", _points(on, "cadence")),
        ],
        x=axis,
        x_label=label,
        y=f"share; by {'agents' if agents else 'load'}",
        top=1.0,
        marks=marks,
    )


def _points(probes: Sequence[Probe], name: str) -> list[tuple[float, float]]:
    """Return a figure over the load, except for tests that were stopped before any job ended."""
    return [(math.log2(one.factor), one.figures[name]) for one in probes if one.figures[name] is not None]


def knee_page(search: LoadSearch, knees: Mapping[bool, Knee]) -> Page:
    """Return the report."""
    plan = search.plan
    page = Page("Highest load", f"from {plan.text(1)} to {plan.text(plan.most)}, {plan.tick_rate:g} ticks a second")
    levels = ", ".join(level.text() for level in plan.levels)
    answer = [*answer_lines(search, knees), f"A load holds if {levels}."]
    page.sections.append(Section("Answer", answer, charts=[knee_chart(search, knees)]))
    head = (
        "load",
        "controller",
        "holds",
        "late",
        "ticks behind",
        "oldest job, ticks",
        "cadence",
        "reflections",
        "by a model",
        "tokens",
        "experiences cited",
        "broken",
    )
    rows: list[list[Cell]] = [
        [
            plan.text(one.factor),
            "on" if on else "off",
            "yes" if one.holds else "no",
            one.figures["late_share"],
            one.figures["behind_most"],
            one.figures["queue_age_most"],
            one.figures["cadence"],
            one.figures["reflections"],
            one.figures["reflections_by_model"],
            one.figures["tokens"],
            one.evidence,
            "; ".join(one.broken),
        ]
        for on in (False, True)
        for one in search.probes(on)
    ]
    page.sections.append(Section("Probes", tables=[ReportTable(head, rows, "Each probe is a separate run")]))
    page.footer = (
        "Real workers, a real server and real HTTP on one machine, which other programs use too: another search may "
        "find another knee. Loads below one that holds are assumed to hold."
    )
    return page


def probe_line(search: LoadSearch, probe: Probe) -> str:
    """Return a probe as one line."""
    late = probe.figures["late_share"]
    lateness = f"late {100 * late:.1f}%" if late is not None else "no job ended"
    facts = [lateness, f"{probe.figures['behind_most']:g} ticks behind"]
    facts.append(f"oldest job {probe.figures['queue_age_most'] or 0} ticks")
    if probe.controller:
        facts.append(f"cadence {probe.figures['cadence'] or 0:g}")
    verdict = "holds" if probe.holds else "breaks"
    return f"{search.plan.text(probe.factor)}, {_WITH[probe.controller]}: {verdict} ({', '.join(facts)})"


def _why(search: LoadSearch, knee: Knee, on: bool) -> str:
    assert knee.breaks is not None
    return f"{search.plan.text(knee.breaks)} break {'; '.join(search.probe(knee.breaks, on).broken)}"


def _costs(on: Probe, off: Probe) -> list[tuple[str, str, str]]:
    """Return the controller's effects as (name, value with it, value without it)."""
    rows = [(name, figure(on.figures[key]), figure(off.figures[key])) for name, key in _COST]
    share = ["–" if one.evidence is None else f"{100 * one.evidence:.1f}%" for one in (on, off)]
    return [*rows, ("experiences that reflections cite", share[0], share[1])]
