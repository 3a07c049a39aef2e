"""What models wrote for recorded runs and conversations is taken: none of it is junk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.quality.recordings import load_conversations, load_runs
from prompts.answers import ReflectionAnswer, SummaryAnswer
from tasks.kind import Prompt
from tasks.reflect import SHOWN
from tests.unit.workers.test_answer_faults import SYSTEM
from workers.jobs.answer_faults import fault_of

FAIL_SAFE = "this is blank"  # what Generative Agents store when a model has not answered


def insights(recordings: Path) -> Iterator[tuple[ReflectionAnswer, Prompt]]:
    for run in load_runs(recordings):
        for agent in run.agents:
            texts = {node.id: node.text for node in agent.nodes}
            for place, node in enumerate(agent.nodes):
                if node.type == "thought" and node.text and FAIL_SAFE not in node.text and node.evidence:
                    latest = [earlier.text for earlier in agent.nodes[max(0, place - SHOWN) : place]]
                    lines = [f"- [day 1, 9:00 AM] {text}" for text in (*map(texts.get, node.evidence), *latest)]
                    shown = "\n".join(["<memories>", *lines, "</memories>"])
                    prompt = Prompt(system=SYSTEM, user=shown, answer=ReflectionAnswer, version="1")
                    yield ReflectionAnswer(insight=node.text), prompt


def summaries(recordings: Path) -> Iterator[tuple[SummaryAnswer, Prompt]]:
    for conversation in load_conversations(recordings):
        for session, summary in conversation.summaries.items():
            said = "\n".join(f"{turn.speaker}: {turn.text}" for turn in conversation.turns if turn.session == session)
            prompt = Prompt(system="", user=said, answer=SummaryAnswer, version="1")
            yield SummaryAnswer(summary=summary), prompt


def test_no_insight_that_a_model_wrote_is_refused(recordings: Path) -> None:
    found = [(fault_of(answer, prompt), answer.insight) for answer, prompt in insights(recordings)]
    assert len(found) > 100
    assert [refused for refused in found if refused[0] is not None] == []


def test_no_summary_that_a_model_wrote_is_refused(recordings: Path) -> None:
    found = [(fault_of(answer, prompt), answer.summary) for answer, prompt in summaries(recordings)]
    assert len(found) > 10
    assert [refused for refused in found if refused[0] is not None] == []
