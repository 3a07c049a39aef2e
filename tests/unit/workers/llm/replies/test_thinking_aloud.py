"""Thirty ways of thinking aloud, written down before the code that reads answers was read: no draft is stored."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from string import Template
from typing import Any

import pytest

from cogitate.prompts.answers import ReflectionAnswer
from cogitate.workers.llm.replies.reply import read_completion, validated

FORMS = tomllib.loads(Path(__file__).with_name("thinking_aloud.toml").read_text(encoding="utf-8"))["form"]
DRAFT = '{"insight": "Maya may be cross with Tom.", "significance": 8}'
FINAL = '{"insight": "Maya avoids Tom since the quarrel about the garden.", "significance": 7}'
WRITTEN = {
    "DRAFT": DRAFT,
    "OTHER": '{"insight": "Everybody in the village is tired.", "significance": 9}',
    "ESCAPED": json.dumps(DRAFT)[1:-1],
    "FINAL": FINAL,
    "CUT": FINAL[: len(FINAL) // 2],
}
#: A retraction in words can be told from an explanation by who knows the language only.
IN_WORDS = "taken back in French"


def filled(content: Any) -> Any:
    if isinstance(content, str):
        return Template(content).substitute(WRITTEN)
    if isinstance(content, list):
        return [filled(part) for part in content]
    return {key: filled(part) for key, part in content.items()}


def stored(form: dict[str, Any]) -> str:
    choice = {"message": {"content": filled(form["content"])}, "finish_reason": form.get("finish", "stop")}
    answer, _ = validated(read_completion(json.dumps({"choices": [choice]}).encode(), {}), ReflectionAnswer)
    if not isinstance(answer, ReflectionAnswer):
        return "nothing"
    return "final" if answer.insight == json.loads(FINAL)["insight"] else "draft"


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(form, id=form["name"], marks=[pytest.mark.xfail(strict=True)] if form["name"] == IN_WORDS else [])
        for form in FORMS
    ],
)
def test_no_draft_is_stored(form: dict[str, Any]) -> None:
    allowed = {"no draft": ("final", "nothing")}.get(form["stored"], (form["stored"],))
    assert stored(form) in allowed


def test_there_are_thirty_forms() -> None:
    assert len({form["name"] for form in FORMS}) == 30
