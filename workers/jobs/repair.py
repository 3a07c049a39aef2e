"""A second try that shows a model its own answer and what is wrong with it. Once for each job and worker.

It is one more attempt, with a reservation of its own from the retry pool, and its prompt keeps to the same cap. The
answer is data: it is cut, put on one line and fenced, as memories are.
"""

from __future__ import annotations

import contextlib

from pydantic import BaseModel, ValidationError

from prompts.render import Rendered, Templates
from workers.llm.extract import json_objects

UNUSABLE = "unusable"  # well-formed, and refused by its kind: unknown places or agents, too few items, …

#: Failures of the answer, not of the way to it. One is worth one more attempt; two are the model's last word.
OF_ANSWERS = frozenset({"refused", "truncated", "empty", "not_json", "wrong_schema", UNUSABLE})

MOST_ANSWER = 1_200  # characters of the answer that are shown
MOST_COMPLAINT = 400
_PLACES = 5  # that are named of those which are wrong


def repair_of(templates: Templates, text: str, complaint: str) -> Rendered | None:
    """What to add to the prompt: the answer and what is wrong with it; None where there is no answer to show."""
    if not text.strip():
        return None
    shown = {"answer": _cut(text, MOST_ANSWER), "complaint": _cut(complaint, MOST_COMPLAINT)}
    return templates.render("repair", shown)


def describe_fault(failure: str, text: str, answer: type[BaseModel], cap: int) -> str:
    """What is wrong with an answer, in words for the model: it may hold its own.

    Args:
        failure: one of `OF_ANSWERS`.
        text: what the model wrote.
        answer: what it should have been.
        cap: tokens that an answer may have.
    """
    if failure == "truncated":
        return f"it was cut off at {cap} tokens; say it in fewer words"
    for candidate in json_objects(text):
        try:
            answer.model_validate(candidate)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a validator of a host's own raises anything
            return _told(error)
    return "there is no complete JSON object in it"


def _told(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        with contextlib.suppress(Exception):  # it asks the validator's own errors for their text
            found = error.errors(include_url=False, include_context=False, include_input=False)[:_PLACES]
            return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'the object'}: {one['msg']}" for one in found)
    return "it cannot be used"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "…"
