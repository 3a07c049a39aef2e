"""The model: what it says follows from the prompt alone; what it costs, whether and when it answers, from the seed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol
from zlib import crc32

from pydantic import BaseModel

from cogitate.memory.language.text import words
from cogitate.prompts.answers import (
    ActionAnswer,
    Activity,
    DailyPlan,
    IntegratedAnswer,
    RatedMemory,
    RatingsAnswer,
    ReflectionAnswer,
    SummaryAnswer,
)
from cogitate.scheduler.config.endpoints import BATCH, FLEX, Model, call_cost
from cogitate.tasks.job import Cost
from cogitate.tasks.kind import Prompt
from cogitate.workers.answer_faults.prompt_content import PromptContent
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Ask, Call
from cogitate.workers.jobs.packs.prompt import LONGEST_SHARED_TEXT, cases_in, shared_part
from cogitate.workers.jobs.packs.rows import case_row
from cogitate.workers.jobs.service_tiers import ServiceTiers
from cogitate.workers.llm.replies.failures import Failure, FailureKind, ModelAnswer
from cogitate.workers.llm.requests.schema import full_schema
from tests.simulation.seeded.actors import current
from tests.simulation.seeded.scene import CHEAP_PERCENT, FULL_PRICE

KINDS = (DailyPlan, ReflectionAnswer, ActionAnswer, RatingsAnswer, IntegratedAnswer, SummaryAnswer)
ECHO = "echo"  # field of an item with a text of another case
#: What becomes of requests for the flex tier: a refusal, a deadline, or the tier that answers, "" if it is not named.
FLEX_FATES = ("flex", "429", "flex", "400", "default", "flex", "", "late")
REFUSALS: dict[str, FailureKind] = {"429": "rate_limited", "400": "bad_request"}
OVERFLOWS = 17  # of so many prompts one is too long for the model


#: What may be wrong with an item of the answer to a pack, each with one of how many has it.
OF_ITEMS = {"missing item": 61, "repeated item": 67, "item of no case": 71, "bad item": 73, "item of another case": 59}


class Outcome(NamedTuple):
    """The answer or fault that the seed chooses for one request."""

    failure: FailureKind | None = None
    usage: Cost | None = None  # None: what the prompt's length says
    status: int | None = None  # of the failure


class Fate(Protocol):
    """The judge of requests; it may let time pass."""

    def asked(self, key: int, cases: int) -> Outcome:
        """A request is being answered; `key` is a number of its prompt, `cases` how many it asks if it is packed."""

    def spoiled(self, fault: str) -> None:
        """An item of the answer to a pack has one of the faults `OF_ITEMS`."""


class SimulatedModel:
    """Takes the place of the client of an endpoint, in every process of this Python."""

    fate: Fate | None = None  # of requests made from outside the simulated cluster: the undisturbed run's

    def __init__(self, *args: Any, **options: Any) -> None:
        pass

    def of(self, endpoint: str) -> SimulatedModel:
        """Return the client of an endpoint: this one."""
        return self

    def context_of(self, model: str) -> int:
        return 0

    def get_ready(self, prompt: Prompt, **options: Any) -> None:
        """There is nothing to make."""

    def ask(self, prompt: Prompt, **options: Any) -> ModelAnswer:
        """Answer a prompt."""
        key = crc32(prompt.user.encode())
        actor = current()
        fate: Fate | None = actor.schedule.fate if actor is not None else SimulatedModel.fate
        cases = cases_in(prompt.system, prompt.user)
        outcome = fate.asked(key, len(cases)) if fate is not None else Outcome()
        usage = outcome.usage if outcome.usage is not None else _usage(key)
        if outcome.failure is not None:
            return ModelAnswer(usage=usage, failure=Failure(kind=outcome.failure, status=outcome.status))
        served = ""
        if options.get("service_tier"):
            served = FLEX_FATES[key // 5 % len(FLEX_FATES)]
            if served in REFUSALS:
                return ModelAnswer(usage=Cost(calls=1), failure=Failure(kind=REFUSALS[served], status=int(served)))
            if served == "late":
                return ModelAnswer(usage=_charged(options["model"], usage, ""), failure=Failure(kind="timeout"))
        if options["model"].service_tier == "auto":
            usage = _charged(options["model"], usage, served)
        if key % OVERFLOWS == 0 or not cases:
            return _single(prompt, usage, served)
        packed, faults = _pack(prompt, cases)
        for fault in faults if fate is not None else ():
            fate.spoiled(fault)
        return ModelAnswer(usage=usage, value=packed)

    def batch_request(self, prompt: Prompt, **options: Any) -> bytes:
        """Return what the endpoint of batches must know of a request, and its text, which bounds its tokens."""
        key = crc32(prompt.user.encode())
        return json.dumps({"key": key, "tokens": _usage(key).tokens, "text": prompt.system + prompt.user}).encode()

    def read_batched(self, completion: bytes, prompt: Prompt, **options: Any) -> ModelAnswer:
        """Return the answer of a batch, checked to be to this prompt."""
        found = json.loads(completion)
        if found["key"] != crc32(prompt.user.encode()):
            _break("a job got the answer of a batch to another prompt")
        tokens = found["usage"]["prompt_tokens"]
        return _single(prompt, _charged(options["model"], Cost(calls=1, tokens=tokens), BATCH), BATCH)

    def close(self) -> None:
        """There is nothing to close."""


def _single(prompt: Prompt, usage: Cost, served: str) -> ModelAnswer:
    """Return what the model says to one case."""
    key = crc32(prompt.user.encode())
    if key % OVERFLOWS == 0:
        return ModelAnswer(usage=usage, failure=Failure(kind="context_overflow"), service_tier=served)
    value = _answer(prompt.answer, key % 5, prompt.used, _topic(prompt))
    return ModelAnswer(usage=usage, value=value, service_tier=served)


def _charged(model: Model, usage: Cost, served: str) -> Cost:
    """Return what a call costs as the product has it, checked against what the provider of the model charges."""
    cost = call_cost(model, usage.tokens, 0, calls=usage.calls, percent=model.percent_of(served))
    percent = CHEAP_PERCENT if served in (FLEX, BATCH) else 100
    if cost.usd_micros != -(-usage.tokens * FULL_PRICE * percent // (100 * 1_000_000)):
        _break(f"an answer of the service tier {served!r} is charged {cost.usd_micros}, at another tier's price")
    return cost


class WatchedTiers(ServiceTiers):
    """The choice of service tiers, and a check that no attempt is charged for two requests."""

    def ask(self, call: Call, following: Ask) -> ModelAnswer | Refused:
        charged: list[Cost] = []

        def counted(call: Call) -> ModelAnswer | Refused:
            answer = following(call)
            if isinstance(answer, ModelAnswer) and answer.usage.tokens:
                charged.append(answer.usage)
            return answer

        answer = super().ask(call, counted)
        if len(charged) > 1 or (charged and isinstance(answer, ModelAnswer) and answer.usage != charged[0]):
            _break(f"{call.claim.job.id} is charged {answer}, of {charged}")
        return answer


def _break(what: str) -> None:
    """End the trial: a promise is broken."""
    broken = AssertionError(what)
    if (actor := current()) is not None:
        actor.process._cluster.broken = broken  # type: ignore[attr-defined]
    raise broken


def own_answer(prompt: Prompt) -> BaseModel | None:
    """Return what the model says to a prompt, if that follows from its text alone."""
    if prompt.answer not in (DailyPlan, ReflectionAnswer, ActionAnswer):
        return None
    return _answer(prompt.answer, crc32(prompt.user.encode()) % 5, (), "")


def _pack(prompt: Prompt, cases: Sequence[tuple[int, str, str]]) -> tuple[BaseModel, list[str]]:
    """Return the answer to several cases, the last one first, and what is wrong with its items."""
    kind = next(kind for kind in KINDS if prompt.answer.__name__ == f"{kind.__name__}Pack")
    schema = full_schema(kind)
    rows: list[Any] = []
    faults: list[str] = []
    for number, _, user in reversed(cases):
        key = crc32(user.encode())
        answer = _answer(kind, key % 5, (), user[-30:]).model_dump()
        fault = next((fault for fault, every in OF_ITEMS.items() if key % every == 0), "")
        of_other = _only_in_another(user, cases) if fault == "item of another case" else ""
        if fault == "item of another case" and not of_other:
            fault = ""
        match fault:
            case "missing item":
                pass
            case "repeated item":
                rows += [case_row(number, answer, schema)] * 2
            case "item of no case":
                rows.append(case_row(number + len(cases), answer, schema))
            case "bad item":
                rows.append(case_row(number, {name: {"odd": [None]} for name in answer}, schema))
            case "item of another case":  # an object, since a row has no further fields
                rows.append({"case": number, **answer, ECHO: of_other})
            case _:
                rows.append(case_row(number, answer, schema))
        faults += [fault] if fault else []
    return prompt.answer.model_validate({"answers": rows}), faults


def _only_in_another(user: str, cases: Sequence[tuple[int, str, str]]) -> str:
    """Return a passage of another case than that of `user`, longer than an answer may repeat; "" without one."""
    length, own = LONGEST_SHARED_TEXT + 1, " ".join(user.split()).casefold()
    shared = len(" ".join(shared_part([one for _, _, one in cases]).split()))
    for _, _, other in cases:
        told = " ".join(other.split())
        for at in range(shared, len(told) - length, 5):
            if told[at : at + length].casefold() not in own:
                return told[at : at + length]
    return ""


def _usage(key: int) -> Cost:
    tokens = 9_000 if key % 13 == 0 else 200 + key % 700  # now and then above any reservation
    return Cost(calls=1, tokens=tokens, usd_micros=tokens // 5)


def _topic(prompt: Prompt) -> str:
    """Return the three longest words of what a prompt shows, so that a summary is about it."""
    said = {*words(PromptContent(prompt).fenced)}
    return " ".join(sorted(said, key=lambda word: (-len(word), word))[:3])


@cache
def _answer(kind: type[BaseModel], variant: int, used: tuple[int, ...], topic: str) -> BaseModel:
    """One of a few answers; some are of no use."""
    if kind is DailyPlan:
        hours = range(7, 8 if variant == 4 else 13)
        return DailyPlan(
            activities=[
                Activity(time=f"{h}:00", description=f"Deed {h}", location="mill", priority=1 + variant) for h in hours
            ]
        )
    if kind is ReflectionAnswer:
        return ReflectionAnswer(insight=f"Insight {variant}.", significance=3 + variant, relationship_changes=[])
    if kind is ActionAnswer:
        return ActionAnswer(location="mill", doing=f"Deed {variant}", reason="", completing_plan_item=variant == 0)
    if kind is RatingsAnswer:
        return RatingsAnswer(ratings=[RatedMemory(number=n, importance=1 + (n + variant) % 10) for n in used])
    if kind is IntegratedAnswer:
        return IntegratedAnswer(summary=f"What happened, in version {variant}: {topic}.")
    assert kind is SummaryAnswer, kind
    return SummaryAnswer(
        summary=f"They spoke {variant} times of {topic}." if variant < 3 else "They spoke of the bridge."
    )
