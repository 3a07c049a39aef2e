"""What the guides say of the built-in kinds, and what the kinds say of themselves."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from functools import reduce
from pathlib import Path

from cogitate import Profile, Settings, TickLoop
from cogitate.memory.routing.routing import RULES
from cogitate.prompts.render import VALUES, Templates
from cogitate.tasks.own.declared_kind import BUILT_IN_TEMPLATE
from cogitate.tasks.own.declaring import kind
from cogitate.tasks.registry import kinds, register_builtin
from tests.repository import ROOT
from tests.unit.tasks.kind_cases import case_of, stream_of

register_builtin()
DOCS = ROOT / "docs"
GUIDE = DOCS / "how-to" / "extending.md"


def test_bounds_are_those_that_the_page_on_timing_lists() -> None:
    rows = re.findall(r"^\| (\w+) \| (\d+) \| (\d+)\b", (DOCS / "explanation" / "timing.md").read_text(), re.MULTILINE)
    listed = {name: (int(least), int(most)) for name, least, most in rows}
    of_kinds = {kind.name: (kind.latency_least, kind.latency_most) for kind in kinds() if kind.output_cap}
    assert {name: listed.get(name) for name in of_kinds} == of_kinds


def test_the_orders_of_built_in_kinds_are_unchanged() -> None:
    """A host gives its own kind an order between two of these numbers."""
    assert {one.name: one.order for one in kinds()} == {
        "rate": 5,
        "plan": 10,
        "act": 15,
        "reflect": 20,
        "integrate": 25,
        "summarise": 30,
        "recount": 35,
        "prune": 40,
    }


def test_kinds_come_in_the_order_that_the_state_machine_names() -> None:
    text = (DOCS / "explanation" / "state-machine.md").read_text()
    named = re.search(r"Kinds come in the order ([\w,\s]+?);", text)
    assert named is not None
    assert re.split(r",\s+", named[1]) == [one.name for one in sorted(kinds(), key=lambda one: one.order)]


def test_a_declared_kind_has_the_defaults_that_the_guide_lists() -> None:
    text = (DOCS / "how-to" / "extending.md").read_text()
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (`.*?`(?:, `.*?`)*) \|", text, re.MULTILINE)
    listed = {
        name: ast.literal_eval(value)
        for names, values in rows
        for name, value in zip(re.findall(r"`(\w+)`", names), re.findall(r"`(.*?)`", values), strict=True)
        if "(" not in value or value.startswith("(")
    }
    defaults = {name: one.default for name, one in inspect.signature(kind).parameters.items()}
    assert listed.keys() >= {"owners", "importance", "latency", "on_denied", "prompt_cap", "output_cap"}
    assert {name: defaults[name] for name in listed} == listed


def test_the_class_of_the_guide_that_is_derived_from_kind_runs(
    cogitate_loop: Callable[..., TickLoop], tmp_path: Path
) -> None:
    examples = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    exec(next(body for body in examples if "class Bell(Kind)" in body), {"__name__": "bells"})
    settings = Settings(data_dir=tmp_path, seconds_per_tick=600)
    loop = cogitate_loop(owners={"world": Profile(name="The valley")}, ticks=160, settings=settings)
    heard = [(tick.minute, change.effect.data) for tick in loop for change in tick.applied if change.kind == "bell"]
    assert heard == [(730, {"hour": 12}), (1450, {"hour": 0})]


def test_a_case_has_the_documented_fields() -> None:
    rows = re.findall(r"^\| `case\.([\w.]+)` \| (.*) \|$", GUIDE.read_text(), re.MULTILINE)
    case = case_of(next(iter(kinds())), stream_of(), 600)
    assert {name for name, _ in rows} >= {
        "job.key",
        "job.minute",
        "job.due",
        "job.params",
        "profile",
        "world",
        "entries",
    }
    for name, says in rows:
        held = reduce(getattr, name.split("."), case)
        listed = re.findall(r"`(\w+)`", says.partition(":")[2])
        assert not [one for one in listed if one != "minute" and not hasattr(held, one)], name


def test_the_documented_event_types_are_the_known_ones() -> None:
    told = GUIDE.read_text().partition("handles these types of events")[2].partition("Declare your own event types")[0]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (.*) \|$", told, re.MULTILINE)
    listed = {name: says for names, says in rows for name in re.findall(r"`(\w+)`", names)}
    assert listed.keys() == RULES.keys()
    for name, says in listed.items():
        rule = RULES[name]
        assert ("into the summary" in says) == ("integrate" in (rule.strategy, rule.with_consensus)), name


def test_the_template_that_the_guide_shows_renders(tmp_path: Path) -> None:
    (shown,) = re.findall(r"^```jinja\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "vote.j2").write_text(shown)
    templates = Templates(tmp_path)
    templates.check(["vote"])
    assert templates.unknown_in("vote", VALUES[BUILT_IN_TEMPLATE]) == []
