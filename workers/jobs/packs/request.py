"""Requests for several cases: one for all, halves of it after a failure, and the share of each job in their cost.

A pack that fails for its size or its content is halved and asked again, as far as the reservations of its jobs allow.
An item that is missing, unreadable or about another case costs its job this attempt; a further attempt is made alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec
import structlog

from cogitate.scheduler.config.prices import upper_bound
from cogitate.tasks.job import Correction, Cost, added
from cogitate.tasks.kind import Prompt
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Ask, Call
from cogitate.workers.jobs.packs.prompt import Passages, answers_by_case, order_of, packed
from cogitate.workers.jobs.packs.shares import shares_of
from cogitate.workers.jobs.packs.sizes import PackSizes
from cogitate.workers.jobs.response_cache import CachedQuestion
from cogitate.workers.llm.answer import ModelAnswer
from cogitate.workers.llm.replies.failures import CLASSES, Failure
from cogitate.workers.llm.replies.reply import Reply, validated
from cogitate.workers.llm.requests.tokens import corrected_tokens, estimate_tokens, prompt_tokens

#: Failures that a smaller pack may avoid. Those of the endpoint, the key or the network concern every job of the pack.
_OF_PACKS = {kind for kind, one in CLASSES.items() if one.scope == "prompt"} | {"forbidden"}

log = structlog.get_logger()

Result = ModelAnswer | Refused


def ask_together(calls: Sequence[Call], following: Ask, sizes: PackSizes) -> list[Result]:
    """Return the result of each call. The requests cost no more than the reservations of all.

    Args:
        calls: of one kind to one model, with one system prompt and one class of answer.
    """
    if len(calls) == 1:
        return [following(calls[0])]
    ids = [one.claim.job.id for one in calls]
    cases = [_Case(calls[i], i) for i in order_of(calls[0].claim.job.run, ids)]
    results: dict[int, Result] = {}
    used, reserved = _Used(calls), _reserved(calls)
    waiting: list[tuple[list[_Case], ModelAnswer | None]] = [(cases, None)]  # each with how its pack failed
    while waiting:
        group, before = waiting.pop()
        most = [used.cost, _most_of(group), *(_most_of(others) for others, _ in waiting)]
        halves = [(half, before) for half in (group[len(group) // 2 :], group[: len(group) // 2])]
        if not _is_within(_sum(most), reserved):
            if before is not None:
                results |= {case.place: before for case in group}
                continue
            if len(group) > 1:
                waiting += halves
                continue
        if len(group) == 1:
            answer = following(group[0].call)
            if isinstance(answer, ModelAnswer):
                used.count(group, answer, [1], [1])
        else:
            answer = _ask_pack(group, following, results, used, sizes)
        if isinstance(answer, Refused):
            results |= {case.place: answer if before is None else before for case in group}
        elif len(group) == 1:
            results[group[0].place] = answer
        elif answer.failure is not None:
            failed = replace(answer, text="", packed=len(group))  # no job sees the text of all
            if answer.failure.kind in _OF_PACKS:
                log.info("pack.halved", failure=answer.failure.kind, cases=len(group))
                waiting += [(half, failed) for half, _ in halves]
            else:
                results |= {case.place: failed for case in group}
    return used.shared_out(results)


def _ask_pack(
    group: Sequence[_Case], following: Ask, results: dict[int, Result], used: _Used, sizes: PackSizes
) -> ModelAnswer | Refused:
    """Ask once for all these cases; put the answer of each into `results`, unless the request failed."""
    first = group[0].call
    pack = packed([case.call.prompt for case in group], "\n".join(case.call.claim.job.id for case in group))
    cap = sum(case.call.output_cap for case in group)
    job = msgspec.structs.replace(first.claim.job, reserved=_reserved([case.call for case in group]))
    claim = msgspec.structs.replace(first.claim, case=replace(first.claim.case, job=job))
    answer = following(
        Call(
            claim=claim,
            prompt=pack.prompt,
            model=first.model,
            output_cap=cap,
            deadline=min(case.call.deadline for case in group),
            question=CachedQuestion.of(pack.prompt, first.model, cap),
        )
    )
    if isinstance(answer, Refused):
        return answer
    texts = [""] * len(group)
    if answer.value is not None:
        by_case = answers_by_case(answer.value, len(group))
        passages = Passages(pack, first.prompt.system)
        for index, case in enumerate(group):
            found = by_case.get(index + 1)
            foreign = passages.are_foreign(index, found)
            if found is not None and not foreign:
                texts[index] = msgspec.json.encode(found).decode()
            results[case.place] = _read(texts[index], case.call.prompt, len(group), foreign=foreign)
    common = estimate_tokens(pack.prompt.system) + estimate_tokens(pack.shared)
    prompt_sizes = [len(group) * estimate_tokens(case) + common for case in pack.cases]
    used.count(group, answer, prompt_sizes, [len(text) for text in texts], packed_tokens=prompt_tokens(pack.prompt))
    if answer.failure is None:
        clean = all(_is_usable(results[case.place]) for case in group)
        sizes.ended(first.model, len(group), clean=clean)
    elif answer.failure.kind in _OF_PACKS:
        sizes.ended(first.model, len(group), clean=False)
    return answer


class _Case(NamedTuple):
    """A call of a pack, and its place among the calls that met."""

    call: Call
    place: int


class _Used:
    """What the requests of a pack used, and by which weights that is shared out."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls
        self.cost = Cost()
        self._tokens, self._prices, self._reasoning = ([0] * len(calls) for _ in range(3))
        self._prompts = [0] * len(calls)
        self._estimated = False

    def count(
        self,
        group: Sequence[_Case],
        answer: ModelAnswer,
        prompt_sizes: Sequence[int],
        answer_sizes: Sequence[int],
        packed_tokens: int = 0,
    ) -> None:
        """Add a request: the prompt's tokens by the size of each case, those of the answer by the size of its item."""
        self.cost = added(self.cost, answer.usage)
        self._estimated |= answer.estimated
        no_caps, model = [answer.usage.tokens] * len(group), group[0].call.model
        total = answer.usage.tokens
        prompts = shares_of(min(answer.prompt_tokens or total, total), prompt_sizes, no_caps)
        outputs = shares_of(total - sum(prompts), answer_sizes, no_caps)
        thoughts = shares_of(answer.reasoning, answer_sizes, [answer.reasoning] * len(group))
        for case, prompt, output, thought in zip(group, prompts, outputs, thoughts, strict=True):
            self._tokens[case.place] += prompt + output
            self._prices[case.place] += prompt * model.input_price + output * model.output_price
            self._reasoning[case.place] += thought
            alone = prompt_tokens(case.call.prompt) if packed_tokens else 0
            self._prompts[case.place] = alone * answer.prompt_tokens // packed_tokens if packed_tokens else 0

    def shared_out(self, results: dict[int, Result]) -> list[Result]:
        """Return the results in the order of the calls, each answer with its share."""
        paying = [index for index, result in sorted(results.items()) if isinstance(result, ModelAnswer)]
        reserved = [self._calls[index].claim.job.reserved for index in paying]
        calls = shares_of(self.cost.calls, [1] * len(paying), [one.calls for one in reserved])
        tokens = shares_of(self.cost.tokens, [self._tokens[i] for i in paying], [one.tokens for one in reserved])
        money = shares_of(self.cost.usd_micros, [self._prices[i] for i in paying], [one.usd_micros for one in reserved])
        for index, *share in zip(paying, calls, tokens, money, strict=True):
            result = results[index]
            assert isinstance(result, ModelAnswer)
            results[index] = replace(
                result,
                usage=Cost(*share),
                estimated=self._estimated,
                prompt_tokens=self._prompts[index] or result.prompt_tokens,
                reasoning=self._reasoning[index],
            )
        return [results[index] for index in range(len(self._calls))]


def _read(text: str, prompt: Prompt, cases: int, *, foreign: bool) -> ModelAnswer:
    """Return the answer to one case, read as if the model had given it alone."""
    if not text:
        detail = "of another case" if foreign else "no item for the case"
        return ModelAnswer(usage=Cost(), failure=Failure(kind="empty", detail=detail), packed=cases)
    value, failure = validated(Reply(text=text), prompt.answer)
    return ModelAnswer(usage=Cost(), value=value, failure=failure, text=text, packed=cases)


def _is_usable(result: Result) -> bool:
    return isinstance(result, ModelAnswer) and result.failure is None


def _most_of(group: Sequence[_Case]) -> Cost:
    """Return the most that one request for these cases may cost."""
    call = group[0].call
    job = call.claim.job
    correction = Correction(job.correction, job.correction_others)
    correction = correction if call.model.name == job.model else correction.raised
    cap = sum(case.call.output_cap for case in group)
    prompts = [case.call.prompt for case in group]
    prompt = prompts[0] if len(prompts) == 1 else packed(prompts, "").prompt
    return upper_bound(call.model, corrected_tokens(prompt, correction), cap)


def _reserved(calls: Sequence[Call]) -> Cost:
    return _sum([call.claim.job.reserved for call in calls])


def _sum(costs: Sequence[Cost]) -> Cost:
    total = Cost()
    for cost in costs:
        total = added(total, cost)
    return total


def _is_within(most: Cost, reserved: Cost) -> bool:
    return most.calls <= reserved.calls and most.tokens <= reserved.tokens and most.usd_micros <= reserved.usd_micros
