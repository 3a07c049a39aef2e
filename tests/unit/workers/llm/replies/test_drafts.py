"""No draft is an answer: what a model writes while it thinks, in whatever tags, is passed over."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from cogitate.prompts.answers import ReflectionAnswer
from cogitate.workers.llm.replies.reading import answer_in
from cogitate.workers.llm.replies.reply import read_completion, validated

DRAFT = '{"insight": "Maya may be cross with Tom.", "significance": 3}'
GOOD = '{"insight": "Maya avoids Tom since the quarrel about the garden.", "significance": 7}'

TAGS = [
    ("<think>", "</think>"),
    ("", "</think>"),  # the template put the first tag into the prompt
    ("<Thinking>", "</Thinking>"),
    ("<thought>", "</thought>"),
    ("<seed:think>", "</seed:think>"),
    ("<scratchpad type='private'>", "</scratchpad>"),
    ("<pensée>", "</pensée>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<unused94>thought\n", "<unused95>"),
    ("<｜begin▁of▁thinking｜>", "<｜end▁of▁thinking｜>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
]


def insight(text: str) -> str | None:
    found = answer_in(text, ReflectionAnswer)
    return found.insight if isinstance(found, ReflectionAnswer) else None


THOUGHTS = (
    f"First, perhaps {DRAFT}? No, too thin.",
    f"A first try:\n{DRAFT}\nMemory 9 speaks against it.",
    f"A first try:\n```json\n{DRAFT}\n```\nNot deep enough.",
    f"maybe {DRAFT}",
    f"{DRAFT} or rather {DRAFT}",
    f"我想：{DRAFT}，不过还不够好。",
)


@pytest.mark.parametrize("tags", TAGS, ids=lambda tags: tags[1])
def test_a_draft_is_passed_over_with_an_answer_after_it_and_without(tags: tuple[str, str]) -> None:
    for thought in THOUGHTS:
        if not tags[0] and thought.endswith(DRAFT):
            continue  # it may as well be an answer with a mark after it, as `test_the_last_is_the_answer` has
        thinking = tags[0] + thought + tags[1]
        for answer in (GOOD, f"\n\n```json\n{GOOD}\n```", f"<answer>\n{GOOD}\n</answer>", f"So: {GOOD}"):
            assert insight(thinking + answer) == json.loads(GOOD)["insight"], thinking + answer
        for nothing in ("", "\n\n", "<answer>", "I cannot decide.", '\n{"insight": "Maya avo'):
            assert insight(thinking + nothing) is None, thinking + nothing


def test_the_last_is_the_answer(subtests: pytest.Subtests) -> None:
    cases: list[str] = [
        f"Draft:\n{DRAFT}\n\nFinal answer:\n{GOOD}",
        f"```json\n{DRAFT}\n```\nBetter:\n```json\n{GOOD}\n```\nLet me know!",
        f"<think>\nWell: {DRAFT}\nNo, so:\n{GOOD}",  # a tag that never closes
        f"# Draft\n{DRAFT}\n# Critique\nToo thin.\n# Revision\n{GOOD}",
        f'{{"draft": {DRAFT}}}\n{{"final": {GOOD}}}',
        f'{{"name": "reflect", "arguments": {GOOD}}}',
        f'<tool_call>\n{{"name": "reflect", "arguments": {GOOD}}}\n</tool_call>',
        f'[TOOL_CALLS][{{"name": "reflect", "arguments": {json.dumps(GOOD)}}}]',
        f"<function=reflect>{GOOD}</function>",
        f"<think>{DRAFT} is thin</think><|begin_of_box|>{GOOD}<|end_of_box|>",
        f"<think>{DRAFT} is thin</think>\n<|START_RESPONSE|>{GOOD}<|END_RESPONSE|>",
        f"Here it is: {GOOD}</s>",
        f"Of course! {GOOD} I hope this helps.",
        f"{GOOD}<|im_end|>",
        f"**Draft:** {DRAFT}\n\n**Final:** {GOOD}",
        f"{DRAFT[:30]}\n\nWait, let me restart.\n\n{GOOD}",
        f"{DRAFT[:30]}\n{DRAFT[:20]}\n```json\n{GOOD}\n```",
        f"<draft>{DRAFT}</draft><critique>thin</critique><final>{GOOD}</final>",
        f'{{"reasoning": "thin", "draft": {DRAFT}, "final": {GOOD}}}',
        f"<details><summary>Reasoning</summary>\n\n{DRAFT}\n\n</details>\n\n{GOOD}",
        f"Reasoning: Maya has not spoken to Tom.\n\n{GOOD}",
        f"answer = {GOOD};",
        f"reflect({GOOD})",
        f"{GOOD}\n\nAnything else you need:",
        f"Thought process\n\n{GOOD}",
        f"Reasoned answer:\n```json\n{GOOD}\n```<|im_end|>",
        f'{{"analysis": {GOOD}}}',
    ]
    for text in cases:
        with subtests.test(text=text):
            assert insight(text) == json.loads(GOOD)["insight"]


def test_a_draft_alone_is_no_answer(subtests: pytest.Subtests) -> None:
    cases: list[str] = [
        f"I first thought of {DRAFT}, but that is too thin, and I do not know better.",
        f"<think>Well: {DRAFT} is thin.",
        f"{DRAFT}\nBetter: {GOOD[:40]}",
        f"{DRAFT}\nBetter: {GOOD[:40]}".replace('"', "'"),
        f"<think>{DRAFT}</think>",
        f"<think>\n{DRAFT}\n</think>\nI cannot decide.",
        f"<think>One: <think>{DRAFT}</think>\n{DRAFT}\n</think>",
        f"<think>\n{DRAFT}",
        f'{DRAFT}\n</think>\n\n{{"insight": "Maya',
        f"<|channel|>analysis<|message|>{DRAFT}<|end|>",
        f"<|thought_begin|>{DRAFT}<|thought_end|>",
        f"【思考】{DRAFT}【/思考】",
        f"=== THINKING ===\n{DRAFT}\nToo thin, I need more time.\n=== END ===",
        f"Thought: I might answer {DRAFT}\nAction: reconsider",
        f"<reasoning>\n```json\n{DRAFT}\n```\n</reasoning>\n",
        f"<details><summary>Reasoning</summary>\n\n{DRAFT}\n\n</details>",
        f"<!-- {DRAFT} -->",
        f"(maybe {DRAFT})",
        f"Draft:\n{DRAFT}",
        f'{{"draft": {DRAFT}}}',
        f"Reasoning:\n{DRAFT}\nToo thin.",
        f"{DRAFT}\n\nBetter:",
        f"Attempt: {DRAFT}\n\nI try once more:",
        f"I could say {DRAFT}. No, Tom is not there.",
        f"Attempt:\n```json\n{DRAFT}\n```\nThis is too shallow. I try again:\n",
        f'{{"reasoning": "too thin", "draft": {DRAFT}}}',
    ]
    for text in cases:
        with subtests.test(text=text):
            assert insight(text) is None


class Step(BaseModel):
    """One thing to do."""

    what: str


class Steps(BaseModel):
    """Things to do."""

    steps: list[Step]


@pytest.mark.parametrize(
    "text",
    [
        '[{"what": "bake"}, {"what": "sell"}]',
        '{"what": "bake"}\n{"what": "sell"}',
        '{"plan": [{"what": "bake"}, {"what": "sell"}]}',
        '<parameter name="steps">[{"what": "bake"}, {"what": "sell"}]</parameter>',
        "<arg_key>steps</arg_key>\n<arg_value>[{'what': 'bake'}, {'what': 'sell'}]</arg_value>",
        '{"steps": [{"what": "bake"}, {"what": "sell"}]',
    ],
)
def test_a_bare_list_fills_a_class_with_one_list_field(text: str) -> None:
    assert answer_in(text, Steps) == Steps(steps=[Step(what="bake"), Step(what="sell")])


@pytest.mark.parametrize(("after", "whole"), [("", True), (" \n\t" * 90, True), ("\nI", False), (" {", False)])
def test_an_answer_with_blanks_up_to_its_cap_is_whole(after: str, whole: bool) -> None:
    choice = {"message": {"content": GOOD + after}, "finish_reason": "length"}
    value, failure = validated(read_completion(json.dumps({"choices": [choice]}).encode(), {}), ReflectionAnswer)
    assert (value is not None) is whole
    assert whole or (failure is not None and failure.kind == "truncated")


def test_reasoning_in_a_field_is_not_read() -> None:
    message: dict[str, Any] = {"content": "I cannot decide.", "reasoning_content": f"Well:\n{DRAFT}"}
    body = json.dumps({"choices": [{"message": message}]}).encode()
    assert validated(read_completion(body, {}), ReflectionAnswer)[0] is None
