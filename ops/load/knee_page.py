"""The result of a search for the highest load, as lines, figures, a chart and a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from cogitate.ops.formatting.axes import Axis, figure
from cogitate.ops.formatting.charts import Mark, Series, line_chart
from cogitate.ops.load.knee import Knee, LoadSearch, Probe
from cogitate.ops.report.page import Cell, Page, ReportTable, Section

_WITH = {False: "controller off", True: "controller on"}
_COST = (
    ("reflections", "reflections"),
    ("reflections by a model", "reflections_by_model"),
    ("tokens", "tokens"),
)


def answer_lines(search: LoadSearch, knees: Mapping[bool, Knee]) -> list[str]:
    """Return the result: the knee with the controller off and on, and the cost of throttling at the latter."""
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
    found: dict[str, Any] = {
        "raised": list(search.plan.raised),
        "levels": [level.text() for level in search.plan.levels],
    }
    for on, knee in knees.items():
        found[names[on]] = {
            "holds": None if knee.holds is None else search.plan.text(knee.holds),
            "breaks": None if knee.breaks is None else search.plan.text(knee.breaks),
            "factor_holds": knee.holds,
            "factor_breaks": knee.breaks,
        }
    found["probes"] = [
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
        found["cost"] = {name: {"on": on, "off": off} for name, on, off in costs}
    return found


def knee_chart(search: LoadSearch, knees: Mapping[bool, Knee]) -> Markup:
    """Draw late share and cadence over the load, doubled from mark to mark, and the knees."""
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
    """Return a figure over the load, except for loads that were stopped before any job ended."""
    return [(math.log2(one.factor), one.figures[name]) for one in probes if one.figures[name] is not None]


def knee_page(search: LoadSearch, knees: Mapping[bool, Knee]) -> Page:
    """Return the report."""
    plan = search.plan
    page = Page("Highest load", f"from {plan.text(1)} to {plan.text(plan.most)}, {plan.tick_rate:g} ticks a second")
    levels = ", ".join(level.text() for level in plan.levels)
    answer = [*answer_lines(search, knees), f"A load holds where {levels}."]
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
        "experiences looked at",
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
        "Real workers, a real server and real HTTP on one machine, of which other programs take their share: another "
        "search may find another knee. Loads below one that holds are taken to hold."
    )
    return page


def probe_line(search: LoadSearch, probe: Probe) -> str:
    """Return a probe as one line."""
    late = probe.figures["late_share"]
    said = f"late {100 * late:.1f}%" if late is not None else "no job ended"
    facts = [said, f"{probe.figures['behind_most']:g} ticks behind"]
    facts.append(f"oldest job {probe.figures['queue_age_most'] or 0} ticks")
    if probe.controller:
        facts.append(f"cadence {probe.figures['cadence'] or 0:g}")
    verdict = "holds" if probe.holds else "breaks"
    return f"{search.plan.text(probe.factor)}, {_WITH[probe.controller]}: {verdict} ({', '.join(facts)})"


def _why(search: LoadSearch, knee: Knee, on: bool) -> str:
    assert knee.breaks is not None
    return f"{search.plan.text(knee.breaks)} break {'; '.join(search.probe(knee.breaks, on).broken)}"


def _costs(on: Probe, off: Probe) -> list[tuple[str, str, str]]:
    """Return the controller's effects: name, value with it, value without it."""
    rows = [(name, figure(on.figures[key]), figure(off.figures[key])) for name, key in _COST]
    share = ["–" if one.evidence is None else f"{100 * one.evidence:.1f}%" for one in (on, off)]
    return [*rows, ("experiences that a reflection rests on", share[0], share[1])]
