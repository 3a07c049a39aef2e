"""What the guides say of the built-in kinds, and what the kinds say of themselves."""

from __future__ import annotations

import re

from tasks.registry import kinds, register_builtin
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


def test_kinds_come_in_the_order_that_the_state_machine_names() -> None:
    text = (DOCS / "explanation" / "state-machine.md").read_text()
    named = re.search(r"Kinds come in the order ([\w,\s]+?);", text)
    assert named is not None
    assert re.split(r",\s+", named[1]) == [kind.name for kind in sorted(kinds(), key=lambda kind: kind.order)]
