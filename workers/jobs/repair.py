"""The repair of an answer: without its reasons, or by a second attempt.

The reasons may be junk when the answer is not. An action is useful without its reason; a change of a relationship is
not, and is dropped as a whole. Weak models need not be asked for them (`ModelSettings.reasons`); the schema of their
requests holds the choices of the prompt, since they do not copy them.

Otherwise a second attempt shows the model its own answer and its faults, once per job and worker.
The attempt has its own reservation from the retry pool, and its prompt has the same cap. The answer is treated as data:
cut, put on one line and fenced, like memories. Junk is not shown again, since models repeat what they read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from pydantic import BaseModel, ValidationError

from cogitate.memory.host_code import Raised
from cogitate.prompts.answers import ActionAnswer, InsightAlone, ReflectionAnswer, UnexplainedAction
from cogitate.prompts.render import Rendered, Templates
from cogitate.scheduler.ledger.claims import UNUSABLE
from cogitate.tasks.kind import Prompt
from cogitate.workers.llm.replies.reading import answer_in
from cogitate.workers.llm.requests.tokens import end_of

REFUSED_BY_KIND = "kind"  # the kind cannot turn the answer into effects
TOO_LONG = "too_long"

#: Failures of the answer, not of the call. After the first, the model gets one more attempt; after the second, none.
OF_ANSWERS = frozenset({"refused", "truncated", "empty", "not_json", "wrong_schema", UNUSABLE})

MOST_ANSWER = 1_200  # characters of the answer that are shown
MOST_FAULT = 400  # characters of its fault
_PLACES = 5  # wrong values that a fault names

#: The answer that replaces another, and the field that it omits.
_WITHOUT: Mapping[type[BaseModel], tuple[type[BaseModel], str]] = MappingProxyType(
    {
        ActionAnswer: (UnexplainedAction, "reason"),
        ReflectionAnswer: (InsightAlone, "relationship_changes"),
    }
)


def for_weak_model(prompt: Prompt) -> Prompt:
    """Return the prompt without reasons, in neither schema nor instructions, and with its choices in the schema."""
    prompt = ask_no_reasons(prompt)
    return replace(prompt, enforced=prompt.constraints)


def ask_no_reasons(prompt: Prompt) -> Prompt:
    """Return the prompt without reasons: neither its schema nor its instructions mention them."""
    if prompt.answer not in _WITHOUT:
        return prompt
    answer, field = _WITHOUT[prompt.answer]
    return replace(
        prompt,
        answer=answer,
        system="\n".join(line for line in prompt.system.splitlines() if not line.startswith(f'- "{field}"')),
        constraints=tuple(one for one in prompt.constraints if one.field.partition(".")[0] != field),
    )


def without_reasons(answer: BaseModel) -> BaseModel | None:
    """Return an answer without its reasons; None if it has none."""
    if isinstance(answer, ActionAnswer) and answer.reason:
        return answer.model_copy(update={"reason": ""})
    if isinstance(answer, ReflectionAnswer) and answer.relationship_changes:
        return answer.model_copy(update={"relationship_changes": []})
    return None


def repairs_of(templates: Templates, text: str, fault: str, *, junk: bool = False) -> tuple[Rendered, ...]:
    """Return the additions to the prompt, best first: the answer with its faults, then the faults alone.

    For junk, return only the faults; without an answer, return nothing.
    """
    if not text.strip():
        return ()
    shown = ("",) if junk else (_cut(text, MOST_ANSWER), "")
    complaint = _cut(fault, MOST_FAULT)
    return tuple(templates.render("repair", {"answer": answer, "complaint": complaint}) for answer in shown)


def without_repair(prompt: Prompt, repairs: Iterable[Rendered]) -> Prompt:
    """Return the prompt as it was before a repair was added.

    Words of the first answer that its fault quotes do not count as words that the model was shown.
    """
    for end in map(end_of, repairs):
        if prompt.user.endswith(end):
            return replace(prompt, user=prompt.user.removesuffix(end))
    return prompt


def describe_fault(failure: str, text: str, answer: type[BaseModel], cap: int) -> str:
    """Describe the faults of an answer for the model, which may see its own words.

    Args:
        failure: one of `OF_ANSWERS`.
        text: the model's answer.
        answer: the class that it should validate as.
        cap: the tokens that an answer may have.
    """
    if failure == "truncated":
        return f"it was cut off at {cap} tokens; say it in fewer words"
    made = answer_in(text, answer)
    if type(made) is Raised:  # a host's own validator may raise anything
        return _describe(made.error)
    return "there is no complete JSON object in it"


def _describe(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        with contextlib.suppress(Exception):  # it asks the validator's own errors for their text
            found = error.errors(include_url=False, include_context=False, include_input=False)[:_PLACES]
            return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'the object'}: {one['msg']}" for one in found)
    return "it cannot be used"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "…"
