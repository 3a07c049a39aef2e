"""The table of classes in the documentation is that of the code."""

from __future__ import annotations

from cogitate.workers.llm.replies.failures import CLASSES, FAILURE_KINDS
from tests.repository import ROOT


def test_the_page_has_each_class_with_what_is_at_fault_and_whether_the_job_asks_again() -> None:
    page = (ROOT / "docs" / "reference" / "failures.md").read_text()
    rows = [f"| `{kind}` | {one.scope} | {one.again} | {one.meaning} |" for kind, one in CLASSES.items()]
    assert "\n".join(rows) in page
    assert tuple(CLASSES) == FAILURE_KINDS
