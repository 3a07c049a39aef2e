"""Summaries: of what was shown."""

from __future__ import annotations

import pytest

from cogitate.prompts.answers import IntegratedAnswer, SummaryAnswer
from cogitate.tasks.kind import Prompt
from cogitate.workers.answer_faults.fault import fault_of
from tests.unit.workers.answer_faults.case import SYSTEM


@pytest.mark.parametrize(
    ("summary", "shown", "told"),
    [
        (
            "The memory of a treasure is lost and will never be forgotten by us.",
            "You are a treasure, Ben.",
            False,
        ),
        ("Ben was told by Ada that he is a treasure to her.", "You are a treasure, Ben.", True),
        ("It is the end of time, of the world.", "You are a treasure, Ben.", True),  # three words are too few to tell
        ("The end of the valley is near to us as we bake honey bread.", "You are my bread in this valley, Ben.", True),
        (
            "The end of the valley is near to us as we bake honey bread.",
            "You are my valley, Ben.",
            False,
        ),  # of four
        ("Der Schatz ging für immer verloren, und niemand vergisst ihn.", "You are a treasure, Ben.", True),
        ("The memory of a treasure is lost to the world for ever.", "Ты сокровище, Бен.", True),
    ],
)
@pytest.mark.parametrize("answer", [SummaryAnswer, IntegratedAnswer])
def test_a_summary_is_about_the_shown_entries(
    answer: type[SummaryAnswer | IntegratedAnswer], summary: str, shown: str, told: bool
) -> None:
    user = f"Of the memory of Ada that is lost, of time and of the end:\n<memories>\nAda: {shown}\n</memories>\nSum up."
    asked = Prompt(system=SYSTEM, user=user, answer=answer, version="v")
    found = fault_of(answer(summary=summary), asked)
    assert found == (None if told else "it is about something other than what you were shown")
    untagged = Prompt(system="Sum up.", user=f"Ada: {shown}", answer=answer, version="v")
    assert fault_of(answer(summary=summary), untagged) is None, "what else a host's prompt says is not known"
