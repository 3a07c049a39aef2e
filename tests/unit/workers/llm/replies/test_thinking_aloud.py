"""Seventy-eight ways of thinking aloud and of answering oddly: no draft is stored, and answers are found.

Most were written down before the code that reads answers was read; twenty are as users reported them.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from string import Template
from typing import Any

import pytest

from cogitate.prompts.answers import ReflectionAnswer
from cogitate.workers.llm.replies.reply import read_completion, validated

FORMS = [
    form
    for name in ("thinking_aloud.toml", "leaked_formats.toml", "templates_and_labels.toml")
    for form in tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))["form"]
]
DRAFT = '{"insight": "Maya may be cross with Tom.", "significance": 8}'
FINAL = '{"insight": "Maya avoids Tom since the quarrel about the garden.", "significance": 7}'
WRITTEN = {
    "DRAFT": DRAFT,
    "OTHER": '{"insight": "Everybody in the village is tired.", "significance": 9}',
    "ESCAPED": json.dumps(DRAFT)[1:-1],
    "FINAL": FINAL,
    "BARE": json.dumps(FINAL)[1:-1],
    "TEXT": json.loads(FINAL)["insight"],
    "CUT": FINAL[: len(FINAL) // 2],
}
#: A retraction in words can be told from an explanation by who knows the language only.
IN_WORDS = {"taken back in French", "taken back in English"}
#: Each says with the same marks, digits and numbers of words what a form says that takes an answer back.
EXPLAINED = {
    "taken back in French": "Soit, ce n'est plus caché : le souvenir 3 ne parle que d'elle. Je reste disponible.",
    "taken back in English": "Here, memory 3 is about the quarrel. That is the cause, and it explains all she does.",
}


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
    return "final" if answer.insight == form.get("text", WRITTEN["TEXT"]) else "draft"


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(form, id=form["name"], marks=[pytest.mark.xfail(strict=True)] if form["name"] in IN_WORDS else [])
        for form in FORMS
    ],
)
def test_no_draft_is_stored(form: dict[str, Any]) -> None:
    allowed = {"no draft": ("final", "nothing")}.get(form["stored"], (form["stored"],))
    assert stored(form) in allowed


@pytest.mark.parametrize("name", EXPLAINED)
def test_an_explanation_has_the_shape_of_a_retraction_and_costs_no_answer(name: str) -> None:
    (form,) = (one for one in FORMS if one["name"] == name)
    retraction = form["content"].strip().rpartition("\n")[2]
    assert re.sub(r"[^\W\d]+", "w", EXPLAINED[name]) == re.sub(r"[^\W\d]+", "w", retraction)
    assert stored({"content": f"$FINAL\n\n{EXPLAINED[name]}"}) == "final"


def test_there_are_seventy_eight_forms() -> None:
    assert len({form["name"] for form in FORMS}) == 78
