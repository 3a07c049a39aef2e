"""What models wrote for recorded runs and conversations is taken: none of it is junk.

They were not asked to name what the memories name, as a reflection here is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.quality.recordings import load_conversations, load_runs
from cogitate.prompts.answers import ReflectionAnswer, SummaryAnswer
from cogitate.tasks.kind import Prompt
from cogitate.tasks.reflect import SHOWN
from cogitate.workers.answer_faults.fault import fault_of

FAIL_SAFE = "this is blank"  # what Generative Agents store when a model has not answered


def insights(recordings: Path, *, built_in: bool) -> Iterator[tuple[ReflectionAnswer, Prompt]]:
    for run in load_runs(recordings):
        for agent in run.agents:
            texts = {node.id: node.text for node in agent.nodes}
            for place, node in enumerate(agent.nodes):
                if node.type == "thought" and node.text and FAIL_SAFE not in node.text and node.evidence:
                    # A reflection's prompt shows no earlier thoughts among the memories.
                    latest = [one.text for one in agent.nodes[:place] if one.type != "thought"][-SHOWN:]
                    grounds = [texts.get(one, "") for one in node.evidence if node.text not in texts.get(one, "")]
                    lines = [f"- [day 1, 9:00 AM] {text}" for text in (*grounds, *latest)]
                    user = "\n".join(["<memories>", *lines, "</memories>"])
                    prompt = Prompt(
                        system="Reflect.", user=user, answer=ReflectionAnswer, version="1", built_in=built_in
                    )
                    yield ReflectionAnswer(insight=node.text), prompt


def summaries(recordings: Path) -> Iterator[tuple[SummaryAnswer, Prompt]]:
    for conversation in load_conversations(recordings):
        for session, summary in conversation.summaries.items():
            said = "\n".join(f"{turn.speaker}: {turn.text}" for turn in conversation.turns if turn.session == session)
            user = f"<memories>\n{said}\n</memories>"
            prompt = Prompt(system="", user=user, answer=SummaryAnswer, version="1")
            yield SummaryAnswer(summary=summary), prompt


def test_no_insight_that_a_model_wrote_is_refused_but_a_few_that_were_known_before(recordings: Path) -> None:
    found = [(fault_of(answer, prompt), answer.insight) for answer, prompt in insights(recordings, built_in=False)]
    assert len(found) > 100
    refused = [(fault, insight) for fault, insight in found if fault is not None]
    assert [one for one in refused if "only repeats a memory" not in one[0]] == []
    assert len(refused) < 0.02 * len(found)


def test_nearly_all_insights_name_entities_of_the_memories(recordings: Path) -> None:
    found = [fault_of(answer, prompt) for answer, prompt in insights(recordings, built_in=True)]
    assert len(found) > 50
    assert sum(fault is not None for fault in found) < 0.05 * len(found)


def test_no_summary_that_a_model_wrote_is_refused(recordings: Path) -> None:
    found = [(fault_of(answer, prompt), answer.summary) for answer, prompt in summaries(recordings)]
    assert len(found) > 10
    assert [refused for refused in found if refused[0] is not None] == []
