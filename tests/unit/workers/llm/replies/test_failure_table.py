"""The table of classes in the documentation is that of the code."""

from __future__ import annotations

from cogitate.workers.llm.replies.failures import CLASSES, FAILURE_KINDS
from tests.repository import ROOT


def test_the_page_has_a_row_for_each_failure_class() -> None:
    page = (ROOT / "docs" / "reference" / "failures.md").read_text()
    rows = [f"| `{kind}` | {one.scope} | {one.again} | {one.meaning} |" for kind, one in CLASSES.items()]
    assert "\n".join(rows) in page
    assert tuple(CLASSES) == FAILURE_KINDS
