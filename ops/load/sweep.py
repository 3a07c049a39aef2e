"""A sweep: one load test at several values of a parameter, and what each value saves and keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from markupsafe import Markup

from cogitate.ops.formatting.charts import Axis, Mark, Series, line_chart
from cogitate.ops.load.profiles import HOUR, MOST_AGENTS, LoadProfile
from cogitate.ops.report.page import Page, ReportTable, Section
from cogitate.scheduler.config.settings import ConfigurationError

BOUNDS: Mapping[str, tuple[float, float]] = {"cadence": (0.001, 1), "agents": (1, MOST_AGENTS), "latency": (0, 3600)}
COLUMNS = (
    ("reflections", "reflections"),
    ("by model", "reflections_by_model"),
    ("tokens", "tokens"),
    ("dollars", "usd"),
    ("evidence", "evidence_share"),
    ("late", "late_share"),
    ("failed", "failed_share"),
)
"""Headings and figures of a value's row."""
HEADROOM = 1.2  # upper end of the chart, which leaves room for the base's mark above its value of 1
SHARES = ("evidence_share", "late_share", "failed_share")
COMPARED = (
    ("tokens", "tokens"),
    ("dollars", "usd"),
    ("reflections", "reflections"),
    ("evidence", "evidence_share"),
)
"""Names and figures that are compared with those at the usual value."""


@dataclass(frozen=True)
class Sweep:
    """A parameter of a load test, and the values to test in this order."""

    parameter: str
    values: tuple[float, ...]

    def usual(self, profile: LoadProfile) -> float:
        """Return the parameter's value in the profile's first phase."""
        first = profile.phases[0]
        known = {"cadence": first.cadence or 1.0, "agents": float(profile.agents), "latency": first.latency}
        return known[self.parameter]

    def profile(self, profile: LoadProfile, value: float) -> LoadProfile:
        """Return the profile with the parameter at a value, in all phases."""
        if self.parameter == "agents":
            return replace(profile, agents=round(value))
        changed: dict[str, Any] = {self.parameter: value}
        return replace(profile, phases=[replace(phase, **changed) for phase in profile.phases])


def parse_sweep(text: str) -> Sweep:
    """Parse a sweep such as "cadence=1,0.5,0.25".

    Raises:
        ConfigurationError: when the parameter is unknown, or a value is missing, repeated or out of bounds.
    """
    parameter, _, listed = text.partition("=")
    if parameter not in BOUNDS:
        raise ConfigurationError(
            f"--sweep {text[:80]!r}: write a parameter and its values, such as cadence=1,0.5,0.25; "
            f"parameters: {', '.join(BOUNDS)}"
        )
    try:
        values = tuple(float(value) for value in listed.split(","))
    except ValueError:
        raise ConfigurationError(f"--sweep {text[:80]!r}: write numbers with commas between them") from None
    low, high = BOUNDS[parameter]
    wrong = [value for value in values if not low <= value <= high or (parameter == "agents" and value % 1)]
    if wrong:
        whole = "whole numbers" if parameter == "agents" else "numbers"
        raise ConfigurationError(f"--sweep: {parameter} {wrong[0]:g} is invalid: give {whole} from {low:g} to {high:g}")
    if len(set(values)) < max(2, len(values)):
        raise ConfigurationError(f"--sweep {text[:80]!r}: give at least two values, each once")
    return Sweep(parameter, values)


class Measured(NamedTuple):
    """The figures of the load test at a value."""

    value: float
    figures: Mapping[str, Any]


class SweepResult:
    """The load tests of a sweep, each beside the one at the usual value."""

    def __init__(self, sweep: Sweep, usual: float, measured: Sequence[Measured]) -> None:
        """Take the tests in the order in which they ran.

        Args:
            usual: the parameter's usual value, the base of comparison; if it was not tested, the first test is.
        """
        self.sweep = sweep
        self.measured = measured
        self._usual = usual
        self.base = next((one for one in measured if one.value == usual), measured[0])

    def share(self, one: Measured, figure: str) -> float | None:
        """Return a figure as a share of its value in the base, or None if either is missing or the base's is 0."""
        value, base = one.figures[figure], self.base.figures[figure]
        return None if value is None or not base else round(value / base, 4)

    def rows(self) -> list[list[str]]:
        """Return a row of texts for each value; the base is marked."""
        rows = []
        for one in self.measured:
            mark = f" ({self._mark})" if one is self.base else ""
            rows.append([f"{one.value:g}{mark}", *(_text(name, one.figures[name]) for _, name in COLUMNS)])
        return rows

    @property
    def untested(self) -> list[float]:
        """Return the values whose tests did not run to their end, since the user stopped the sweep."""
        tested = {one.value for one in self.measured}
        return [value for value in self.sweep.values if value not in tested]

    @property
    def _mark(self) -> str:
        return "usual" if self.base.value == self._usual else "base"

    def lines(self) -> list[str]:
        """Return a sentence for each value except the base: the shares that it saves and keeps, and the late share.

        After an interruption, the first sentence names the values that were not tested.
        """
        lines = []
        if self.untested:
            lines.append(f"stopped: {self.sweep.parameter} {', '.join(f'{one:g}' for one in self.untested)} not tested")
        for one in self.measured:
            if one is self.base:
                continue
            shares = {name: self.share(one, figure) for name, figure in COMPARED}
            text = ", ".join(f"{100 * share:.0f}% of the {name}" for name, share in shares.items() if share is not None)
            late = one.figures["late_share"]
            text += "" if late is None else f"; {_text('late_share', late)} late"
            lines.append(f"{self.sweep.parameter} {one.value:g}, compared with {self.base.value:g}: {text}")
        return lines

    def json(self) -> dict[str, Any]:
        """Return the sweep as plain data."""
        return {
            "sweep": self.sweep.parameter,
            "compared_with": self.base.value,
            "untested": self.untested,
            "tests": [
                {
                    "value": one.value,
                    **{f"{name}_share_of_base": self.share(one, figure) for name, figure in COMPARED},
                    **one.figures,
                }
                for one in self.measured
            ],
        }

    def page(self, profile: LoadProfile) -> Page:
        """Return the report."""
        name = self.sweep.parameter
        page = Page(f"Sweep of {name}: {profile.name}", f"{profile.about}; {self.about(profile)}")
        meaning = "Evidence is the share of experiences that reflections cite: it measures coverage, not quality."
        head = (name, *(heading for heading, _ in COLUMNS))
        page.sections.append(Section("At a glance", tables=[ReportTable(head, self.rows())]))
        page.sections.append(Section("Saved and kept", [*self.lines(), meaning], charts=self._charts()))
        page.footer = (
            "Real workers, a real server and real HTTP on one machine: late shares depend on this machine and its "
            "other load."
        )
        return page

    def about(self, profile: LoadProfile) -> str:
        """Return the size of each test, for a comparison of its tokens and dollars with a budget."""
        agents = "" if self.sweep.parameter == "agents" else f"{profile.agents:,} agents, "
        hours, warm_up = profile.minutes / HOUR, profile.warm_up / HOUR
        return f"each test: {agents}{hours:g} game hours, {warm_up:g} of them warm-up, which tokens and dollars include"

    def _charts(self) -> list[Markup]:
        """Draw savings and losses as shares of the base, and late and failed shares, over the parameter."""
        tests, x = sorted(self.measured), Axis.over(0.0, max(one.value for one in self.measured))
        marks = [Mark(self.base.value, self._mark)]
        kept = [Series(name, [(one.value, self.share(one, figure)) for one in tests]) for name, figure in COMPARED]
        late = [
            Series(name, [(one.value, one.figures[figure]) for one in tests])
            for name, figure in (("late", "late_share"), ("failed", "failed_share"))
        ]
        shown, by = f"What {self.sweep.parameter} saves and keeps", f"by {self.sweep.parameter}"
        of_base = f"share of the value at {self.base.value:g}; {by}"
        return [
            line_chart(shown, kept, x=x, y=of_base, top=HEADROOM, marks=marks),
            line_chart("Late and failed", late, x=x, y=f"share of ended jobs; {by}", top=0.1, marks=marks),
        ]


def _text(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    if name in SHARES:
        return f"{100 * value:.1f}%"
    return f"{value:,.4f}" if name == "usd" else f"{value:,}"
