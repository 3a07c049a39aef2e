"""What the guides say of the built-in kinds, and what the kinds say of themselves."""

from __future__ import annotations

import ast
import inspect
import re

from cogitate.tasks.own.declaring import kind
from cogitate.tasks.registry import kinds, register_builtin
from tests.repository import ROOT

register_builtin()
DOCS = ROOT / "docs"


def test_bounds_are_those_that_the_page_on_timing_lists() -> None:
    rows = re.findall(r"^\| (\w+) \| (\d+) \| (\d+)\b", (DOCS / "explanation" / "timing.md").read_text(), re.MULTILINE)
    listed = {name: (int(least), int(most)) for name, least, most in rows}
    of_kinds = {
        kind.name: (kind.latency_least, kind.latency_most)  # type: ignore[attr-defined]
        for kind in kinds()
        if hasattr(kind, "latency_most")
    }
    assert {name: listed.get(name) for name in of_kinds} == of_kinds


def test_a_kind_of_the_hosts_own_finds_its_place_among_the_built_in_ones_where_it_was() -> None:
    """A host gives its own kind an order between two of these numbers."""
    assert {one.name: one.order for one in kinds()} == {
        "rate": 5, "plan": 10, "act": 15, "reflect": 20, "integrate": 25, "summarise": 30, "recount": 35, "prune": 40,
    }  # fmt: skip


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
