"""The stand-in's answers to packed requests: each case is answered as its own request would be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cogitate.ops.fake_llm.answers import AnswerWriter, text_of
from cogitate.ops.fake_llm.faults import draw
from cogitate.workers.jobs.packs.prompt import cases_in


def write_pack(
    messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any], seed: object, fault: str | None
) -> dict[str, Any] | None:
    """Return the answer to a packed request, with a fault of packs; None if it is an ordinary one."""
    system, user = ("\n".join(text_of(m) for m in messages if m.get("role") == role) for role in ("system", "user"))
    cases = cases_in(system, user)
    if not cases or "answers" not in schema.get("properties", {}):
        return None
    each = schema["properties"]["answers"]["items"]["properties"]["answer"]
    answers = []
    for number, *texts in cases:
        own = [{"role": role, "content": text} for role, text in zip(("system", "user"), texts, strict=True)]
        answers.append({"case": number, "answer": AnswerWriter(own, seed).write(each)})
    at = int(draw(seed, system, user, "pack") * len(answers))
    other = (at + 1) % len(answers)
    if fault == "pack_missing":
        del answers[at]
    elif fault == "pack_swapped":
        answers[at]["case"], answers[other]["case"] = answers[other]["case"], answers[at]["case"]
    elif fault == "pack_repeated":
        answers[at]["case"] = answers[other]["case"]
    elif fault == "pack_bad_item":
        answers[at]["answer"] = wrong_types(answers[at]["answer"])
    return {"answers": answers}


def wrong_types(value: object) -> object:
    """Replace the values of an answer by values of wrong types."""
    if isinstance(value, dict):
        return {key: wrong_types(item) for key, item in value.items()}
    if isinstance(value, list):
        return {"items": [wrong_types(item) for item in value]}
    return ["several"] if isinstance(value, int) else {"several": 7}
