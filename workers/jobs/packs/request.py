"""Packed requests: one for several cases, its halves after a failure, and each job's share of the cost.

If a pack fails because of its size or its content, its halves are asked again, as far as the reservations of its jobs
allow; answers of one half do not wait for the other. If an item is missing, unreadable or about another case, its
job loses this attempt, and asks alone in the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import msgspec
import structlog

from cogitate.scheduler.budget.budget import amounts
from cogitate.scheduler.config.endpoints import upper_bound
from cogitate.tasks.job import Correction, Cost, added
from cogitate.tasks.kind import Prompt
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Ask, Call
from cogitate.workers.jobs.packs.prompt import (
    PackedPrompt,
    Passages,
    answers_by_case,
    in_full,
    order_of,
    packed,
    texts_of,
)
from cogitate.workers.jobs.packs.shares import shares_of
from cogitate.workers.jobs.packs.sizes import PackSizes
from cogitate.workers.llm.replies.failures import CLASSES, Failure, ModelAnswer
from cogitate.workers.llm.replies.reply import Reply, validated
from cogitate.workers.llm.requests.tokens import corrected_tokens, estimate_tokens, prompt_tokens

#: Failures that a smaller pack may avoid. Those of the endpoint, the key or the network concern every job of the pack.
_OF_PACKS = {kind for kind, one in CLASSES.items() if one.scope == "prompt"} | {"forbidden"}

MOST_OUTPUT = 4_096  # tokens of answers in one request: widely used models refuse a higher cap

log = structlog.get_logger()

Result = ModelAnswer | Refused


def ask_together(calls: Sequence[Call], following: Ask, sizes: PackSizes) -> Iterator[tuple[int, Result]]:
    """Ask for these calls together, and yield the index and the result of each as soon as it is known.

    No request may cost more than the unspent reservations of its jobs.

    Args:
        calls: calls of one kind to one model, with the same system prompt and answer class.
    """
    if len(calls) == 1:
        yield 0, following(calls[0])
        return
    ids = [one.claim.job.id for one in calls]
    waiting = [_Group([_Case(calls[i], i) for i in order_of(calls[0].claim.job.run, ids)])]
    while waiting:
        group = waiting.pop()
        if not group.is_affordable and (group.failed is not None or len(group.cases) > 1):
            if group.failed is None:
                waiting += group.halves(None)
            else:
                yield from ((case.place, case.answered(group.failed)) for case in group.cases)
            continue
        answer = following(group.call)
        if isinstance(answer, Refused):
            for case in group.cases:
                yield case.place, answer if group.failed is None else case.answered(group.failed)
            continue
        if len(group.cases) == 1:
            _share(answer, group.cases, [1], [1])
            yield group.cases[0].place, group.cases[0].answered(answer)
            continue
        answers = _answers(group, answer)
        if answer.failure is None or answer.failure.kind in _OF_PACKS:
            clean = answer.failure is None and all(one.failure is None for one in answers)
            output = answer.usage.tokens - answer.prompt_tokens - answer.reasoning
            sizes.ended(group.call, len(answers), clean=clean, output=output)
        if answer.failure is not None and answer.failure.kind in _OF_PACKS:
            log.info("pack.halved", failure=answer.failure.kind, cases=len(answers))
            waiting += group.halves(answers[0])
        else:
            yield from ((case.place, case.answered(one)) for case, one in zip(group.cases, answers, strict=True))


def output_cap_of(calls: Sequence[Call]) -> int:
    """Return the output cap of a request for these calls, in tokens of reasoning and answers."""
    thoughts = sum(one.model.headroom_of(one.claim.job.key.kind) for one in calls)
    return thoughts + min(MOST_OUTPUT, sum(one.output_cap for one in calls) - thoughts)


def _answers(group: _Group, answer: ModelAnswer) -> list[ModelAnswer]:
    """Return the answer to each case of a packed request, and charge each case its share of the usage."""
    cases, pack, count = group.cases, group.pack, len(group.cases)
    if answer.value is None:
        answers = [replace(answer, text="", packed=count)] * count  # no job sees the text of all
    else:
        answers = []
        by_case, names = answers_by_case(answer.value, count), [case.call.claim.case.profile.name for case in cases]
        passages = Passages(pack, cases[0].call.prompt.system, [*names, *cases[0].call.claim.case.world.names.values()])
        texts = texts_of(pack.prompt.user)
        for index, case in enumerate(cases):
            item = in_full(by_case.get(index + 1), texts[index])
            foreign = passages.are_foreign(index, item)
            text = "" if item is None or foreign else msgspec.json.encode(item).decode()
            answers.append(_read(text, case.call.prompt, count, foreign=foreign))
    common = estimate_tokens(pack.prompt.system) + estimate_tokens(pack.shared)
    prompt_sizes = [count * estimate_tokens(case) + common for case in pack.cases]
    _share(answer, cases, prompt_sizes, [len(one.text) for one in answers])
    alone = [prompt_tokens(case.call.prompt) * answer.prompt_tokens // prompt_tokens(pack.prompt) for case in cases]
    return [replace(one, prompt_tokens=tokens) for one, tokens in zip(answers, alone, strict=True)]


def _share(
    answer: ModelAnswer, cases: Sequence[_Case], prompt_sizes: Sequence[int], answer_sizes: Sequence[int]
) -> None:
    """Divide a request's usage: the prompt by the size of each case, the answer by the size of each item."""
    usage, model = answer.usage, cases[0].call.model
    left, no_caps = [case.left for case in cases], [usage.tokens] * len(cases)
    prompts = shares_of(min(answer.prompt_tokens or usage.tokens, usage.tokens), prompt_sizes, no_caps)
    outputs = shares_of(usage.tokens - sum(prompts), answer_sizes, no_caps)
    prices = [one * model.input_price + other * model.output_price for one, other in zip(prompts, outputs, strict=True)]
    tokens = [one + other for one, other in zip(prompts, outputs, strict=True)]
    shares = zip(
        shares_of(usage.calls, [1] * len(cases), [one.calls for one in left]),
        shares_of(usage.tokens, tokens, [one.tokens for one in left]),
        shares_of(usage.usd_micros, prices, [one.usd_micros for one in left]),
        strict=True,
    )
    thoughts = shares_of(answer.reasoning, answer_sizes, [answer.reasoning] * len(cases))
    discounts = shares_of(answer.discount, prices, [answer.discount] * len(cases))
    for case, share, thought, discount in zip(cases, shares, thoughts, discounts, strict=True):
        case.used = added(case.used, Cost(*share))
        case.reasoning += thought
        case.discount += discount
        case.service_tier = answer.service_tier
        case.estimated |= answer.estimated


@dataclass
class _Case:
    """A call of a pack, its place among the calls of the batch, and its share of the requests made so far."""

    call: Call
    place: int
    used: Cost = Cost()
    reasoning: int = 0
    estimated: bool = False
    service_tier: str = ""
    discount: int = 0

    @property
    def left(self) -> Cost:
        """Return the unspent part of the job's reservation."""
        one, used = self.call.claim.job.reserved, self.used
        return Cost(*(max(0, most - spent) for most, spent in zip(amounts(one), amounts(used), strict=True)))

    def answered(self, answer: ModelAnswer) -> ModelAnswer:
        """Return an answer with this case's shares as its usage."""
        return replace(
            answer,
            usage=self.used,
            estimated=self.estimated,
            reasoning=self.reasoning,
            service_tier=self.service_tier,
            discount=self.discount,
        )


class _Group:
    """The cases of one request, and the failed answer to the larger request that contained them."""

    def __init__(self, cases: Sequence[_Case], failed: ModelAnswer | None = None) -> None:
        self.cases = cases
        self.failed = failed

    @cached_property
    def pack(self) -> PackedPrompt:
        """The packed prompt."""
        seed = "\n".join(case.call.claim.job.id for case in self.cases)
        return packed([case.call.prompt for case in self.cases], seed, by_name=not self.cases[0].call.model.reasons)

    @cached_property
    def call(self) -> Call:
        """The call that asks for all cases."""
        first = self.cases[0].call
        if len(self.cases) == 1:
            return first
        prompt, cap = self.pack.prompt, output_cap_of([case.call for case in self.cases])
        due = min(case.call.claim.job.due for case in self.cases)
        job = msgspec.structs.replace(first.claim.job, reserved=self.left, due=due)
        claim = msgspec.structs.replace(first.claim, case=replace(first.claim.case, job=job))
        return Call(claim, prompt, first.model, cap, min(case.call.deadline for case in self.cases))

    @property
    def left(self) -> Cost:
        """Return the unspent part of all reservations."""
        return reduce(added, (case.left for case in self.cases))

    @property
    def is_affordable(self) -> bool:
        """Return whether the unspent reservations cover the maximum cost of the request."""
        job, model = self.call.claim.job, self.call.model
        correction = Correction(job.correction, job.correction_others)
        correction = correction if model.name == job.model else correction.raised
        most = upper_bound(model, corrected_tokens(self.call.prompt, correction), self.call.output_cap)
        return all(one <= other for one, other in zip(amounts(most), amounts(self.left), strict=True))

    def halves(self, failed: ModelAnswer | None) -> list[_Group]:
        """Return both halves, the first one last, where it is popped next."""
        middle = len(self.cases) // 2
        return [_Group(self.cases[middle:], failed), _Group(self.cases[:middle], failed)]


def _read(text: str, prompt: Prompt, cases: int, *, foreign: bool) -> ModelAnswer:
    """Validate the answer to one case as if its call had been made alone."""
    if not text:
        detail = "of another case" if foreign else "no item for the case"
        return ModelAnswer(usage=Cost(), failure=Failure(kind="empty", detail=detail), packed=cases)
    value, failure = validated(Reply(text=text), prompt.answer)
    return ModelAnswer(usage=Cost(), value=value, failure=failure, text=text, packed=cases)
