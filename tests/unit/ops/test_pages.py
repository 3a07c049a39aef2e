"""Tables of the documents that repeat what the code says: events, warnings, the facts of a job, the order of kinds."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from typing import get_args

from cogitate.scheduler.budget.admission import DEFER_TICKS, MAX_TRIALS, Decision
from cogitate.scheduler.journal.lines import End
from cogitate.scheduler.ledger.claims import Reason, Source
from cogitate.tasks.registry import kinds
from tests.repository import ROOT

OUTPUT = (ROOT / "docs" / "reference" / "output.md").read_text()
STATES = (ROOT / "docs" / "explanation" / "state-machine.md").read_text()
PACKAGES = ("memory", "tasks", "scheduler", "workers", "hosting", "simulation", "ops")
DOTTED = re.compile(r"[a-z_]+\.[a-z_]+")


def first_column(page: str, heading: str) -> set[str]:
    """The names in the first cells of the table under that heading."""
    table = page.partition(f"| {heading} |")[2].partition("\n\n")[0]
    return {name for line in table.splitlines()[2:] for name in re.findall(r"`([^`]+)`", line.split("|")[1])}


def texts(methods: tuple[str, ...]) -> Iterator[str]:
    """Names of the events that are logged with these methods, wherever they stand in the product."""
    for package in PACKAGES:
        for file in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Call) and any(
                    (isinstance(part, ast.Attribute) and part.attr in methods)
                    or (isinstance(part, ast.Name) and part.id == "log" and node.func is part)  # a level chosen before
                    for part in ast.walk(node.func)
                ):
                    parts = [part for argument in node.args[:1] for part in ast.walk(argument)]  # one of two names, too
                    names = [n.value for n in parts if isinstance(n, ast.Constant) and isinstance(n.value, str)]
                    yield from (name for name in names if DOTTED.fullmatch(name))


def counted() -> set[str]:
    """Names of the warnings that a run counts, and of losses of memory."""
    found = set()
    for file in (file for package in ("memory", "scheduler") for file in (ROOT / package).rglob("*.py")):
        found |= set(re.findall(r'(?:warnings\[|Loss\()"([a-z_.]+)"', file.read_text()))
    return found


def test_every_event_that_is_a_warning_or_worse_is_in_the_table() -> None:
    losses = {name for name in counted() if name.startswith("memory.")}
    documented = first_column(OUTPUT, "event")
    warnings = ("warning", "_warn_once", "error")
    assert set(texts(warnings)) | losses <= documented
    assert documented <= set(texts(("debug", "info", *warnings))) | losses


def test_every_warning_that_is_counted_is_in_the_table() -> None:
    assert first_column(OUTPUT, "warning") == counted()


def test_every_reason_but_none_is_explained() -> None:
    table = OUTPUT.partition("| reason |")[2].partition("\n\n")[0]
    assert [line.split("|")[1].strip() for line in table.splitlines()[2:]] == [
        r for r in get_args(Reason) if r != "none"
    ]


def test_the_facts_of_a_job_are_those_of_the_code() -> None:
    for fact, values in (("decision", Decision), ("end", End), ("source", Source), ("reason", Reason)):
        row = re.search(rf"^\| {fact} \| ([^|]+) \|", STATES, flags=re.MULTILINE)
        assert row is not None
        assert set(re.findall(r"`(\w+)`", row[1])) == set(get_args(values)), fact


def test_kinds_are_listed_in_order_with_their_reaction_to_a_refusal() -> None:
    listed = re.search(r"Kinds come in the order ([\w,\s]+);", STATES)
    assert listed is not None
    assert re.split(r",\s+", listed[1]) == [kind.name for kind in kinds()]
    said = " ".join(STATES.split())
    heuristic = {kind.name for kind in kinds() if kind.on_denied == "heuristic"}
    assert heuristic == {"plan", "reflect", "rate", "integrate", "summarise", "prune"}
    fall_back = re.search(r"([\w, ]+) and (\w+) fall back to `heuristic`", said)
    assert fall_back is not None
    assert {*fall_back[1].strip().split(", "), fall_back[2]} == heuristic
    assert {kind.name: kind.on_denied for kind in kinds() if kind.name not in heuristic} == {
        "recount": "defer",
        "act": "drop",
    }
    assert (DEFER_TICKS, MAX_TRIALS - 1) == (10, 2)
    assert re.search(r"admission defers recount by ten ticks, twice at most, and drops act", said)


def test_the_newest_release_of_the_changelog_is_this_version() -> None:
    releases = re.findall(r"^## \[(.+?)\](.*)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert releases[0] == ("Unreleased", "")
    assert releases[1][0] == project["version"]
    assert all(re.fullmatch(r" - \d{4}-\d\d-\d\d", date) for _, date in releases[1:])
