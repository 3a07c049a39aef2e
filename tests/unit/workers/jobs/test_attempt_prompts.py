"""The prompts of a job's attempts: how the next one differs after a failure, and what the model is told of it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, get_args

import msgspec
import pytest
from pydantic import BaseModel
from structlog.testing import capture_logs

from cogitate.memory.effects import Append, Archive, Effect, ReplaceSummary
from cogitate.memory.summaries.long_term import SummarySize
from cogitate.prompts.answers import ActionAnswer, Answer, SummaryAnswer
from cogitate.scheduler.config.endpoints import Model, call_cost, upper_bound
from cogitate.scheduler.ledger.claims import PromptCount
from cogitate.tasks.job import Cost
from cogitate.tasks.kind import Case, Prompt
from cogitate.tasks.registry import register
from cogitate.tasks.shown import within
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.attempt import AttemptOutcome
from cogitate.workers.jobs.candidates import Adjustment
from cogitate.workers.llm.replies.failures import Failure, FailureKind, ModelAnswer
from cogitate.workers.llm.requests.tokens import prompt_parts, prompt_tokens
from tests.unit.tasks.own_kind_case import Own, Said, remembered
from tests.unit.workers.attempts_case import (
    JOB,
    USED,
    Remembers,
    Trying,
    attempt,
    failed,
    unusable,
)


class Thought(Answer):
    """An answer of the package's own, which is judged by its words too."""

    text: str


@pytest.fixture(autouse=True)
def own_kind() -> None:
    register(Own(output_cap=50))


def test_a_prompt_that_the_endpoint_finds_too_long_is_halved_once() -> None:
    trying = Trying(unusable("context_overflow"), Remembers(output_cap=50))
    first = trying.make()
    assert first.adjustment is not None
    assert len(first.adjustment.inputs) == 24, "a hash of the whole prompt, which the second attempt repeats"
    adjustment = first.adjustment._replace(inputs="")
    assert (first.result, adjustment, first.pause) == (None, Adjustment(halved=True), 0.0)
    second = trying.make(first.adjustment, number=2)
    whole, halved = (prompt.user.count("tree") for prompt in trying.calls.prompts)
    assert (whole, halved) == (100, 50)
    assert second.result is not None
    assert (second.result.source, second.result.failure) == ("heuristic", "context_overflow")
    assert second.result.inputs == first.adjustment.inputs


@pytest.mark.parametrize("kind", get_args(FailureKind))
def test_a_failure_that_a_shorter_prompt_may_avoid_shrinks_the_prompt(kind: FailureKind) -> None:
    own: Any = Own(output_cap=50)
    own.halve = lambda case: remembered(case, text="Less.")
    register(own)
    outcome = attempt(failed(kind), number=4)
    assert outcome.result is not None
    (effect,) = outcome.result.effects
    assert isinstance(effect, Append)
    shorter = {
        "context_overflow",
        "filtered",
        "too_large",
        "refused",
        "truncated",
        "empty",
        "not_json",
        "wrong_schema",
        "unusable",
    }
    assert effect.entry.text == ("Less." if kind in shorter else "I hummed.")


@pytest.mark.parametrize("kind", ["refused", "truncated", "empty", "not_json", "wrong_schema"])
def test_an_answer_that_cannot_be_used_is_shown_to_the_model_once(kind: FailureKind) -> None:
    trying = Trying(unusable(kind))
    first = trying.make()
    assert (first.result, first.failure, first.used, first.adjustment.corrected) == (None, kind, USED, True)
    second = trying.make(first.adjustment, number=2)
    asked, again = trying.calls.prompts
    assert "zither" not in asked.user
    assert "zither" in again.user
    assert "…" not in again.user, "a short answer is shown whole"
    assert second.result is not None
    assert (second.result.source, second.result.failure, second.result.usage) == ("heuristic", kind, USED)


@pytest.mark.parametrize("price", [0, 1_000_000])
def test_after_an_unfinished_answer_the_next_gets_the_prompts_remaining_room(price: int) -> None:
    model = Model(name="default", model="m", endpoint="ours", input_price=price, output_price=4 * price)
    job = msgspec.structs.replace(JOB, prompt_cap=1_000, output_cap=100, reserved=upper_bound(model, 1_000, 100))
    trying = Trying(unusable("truncated"), Remembers(output_cap=100))
    trying.make(trying.make(job=job, model=model).adjustment, number=2, job=job, model=model)
    assert trying.calls.caps[0] == 100
    assert trying.calls.caps[1] > 2 * trying.calls.caps[0]
    second = call_cost(model, prompt_tokens(trying.calls.prompts[1]), trying.calls.caps[1])
    assert second.tokens <= job.reserved.tokens
    assert second.usd_micros <= job.reserved.usd_micros
    assert price or second.tokens == job.reserved.tokens, "no token of it is left"


def test_a_prompt_keeps_to_a_context_length_that_was_learned() -> None:
    trying = Trying(unusable("not_json"), Remembers(output_cap=50))
    trying.make()
    trying.calls.context = 200
    trying.make()
    whole, fitted = trying.calls.prompts
    assert prompt_tokens(fitted) <= 200 - JOB.output_cap < prompt_tokens(whole)
    trying.calls.context = JOB.output_cap
    outcome = trying.make()
    assert outcome.result is not None
    assert (outcome.result.failure, outcome.used) == ("prompt_too_long", Cost()), "nothing is sent that cannot fit"


def test_other_faults_of_an_answer_leave_its_cap() -> None:
    trying = Trying(unusable("not_json"))
    trying.make(trying.make().adjustment, number=2)
    assert trying.calls.caps == [JOB.output_cap] * 2


def test_an_empty_answer_is_not_shown_and_the_same_prompt_repeats() -> None:
    trying = Trying(unusable("empty", ""))
    trying.make(trying.make().adjustment, number=2)
    one, other = trying.calls.prompts
    assert (one.system, one.user) == (other.system, other.user)


def test_the_model_is_told_what_the_kind_refused() -> None:
    def refuse(case: Case, answer: Said) -> Any:
        raise ValueError(f"nobody is called {answer.text}")

    trying = Trying(
        ModelAnswer(usage=USED, value=Said(text="Zoe"), text='{"text": "Zoe"}'),
        Own(output_cap=50, answers=refuse),
    )
    first = trying.make()
    assert first.failure == "unusable:kind"
    trying.make(first.adjustment, number=2)
    assert "nobody is called Zoe" in trying.calls.prompts[1].user
    assert trying.calls.unusable == ["default"] * 2


@pytest.mark.parametrize(("saved", "counted"), [(False, ["default"] * 2), (True, [])])
def test_junk_is_shown_to_the_model_once_and_counted_where_it_was_paid_for(saved: bool, counted: list[str]) -> None:
    junk = ModelAnswer(usage=USED, value=Thought(text="..."), text='{"text": "..."}')
    trying = Trying(replace(junk, saved=saved))
    first = trying.make()
    assert (first.result, first.failure) == (None, "unusable:placeholder")
    second = trying.make(first.adjustment, number=2)
    assert "placeholder" in trying.calls.prompts[1].user
    assert second.result is not None
    assert (second.result.source, second.result.failure) == ("heuristic", "unusable:placeholder")
    assert trying.calls.unusable == counted


def test_an_action_with_a_useless_reason_is_used_without_the_reason() -> None:
    def does(case: Case, answer: BaseModel) -> tuple[Effect, ...]:
        assert isinstance(answer, ActionAnswer)
        return remembered(case, text=f"{answer.doing} ({answer.reason})")

    for reason, doing, told in (
        ("...", "Hum with Ben", "Hum with Ben ()"),
        ("Ben sang.", "Hum with Ben", "Hum with Ben (Ben sang.)"),
        ("...", "...", None),
    ):
        answer = ModelAnswer(usage=USED, value=ActionAnswer(reason=reason, location="here", doing=doing), text="{}")
        outcome = Trying(answer, Own(output_cap=50, answers=does)).make()
        if told is None:
            assert (outcome.result, outcome.failure) == (None, "unusable:placeholder")
        else:
            assert outcome.result is not None
            (effect,) = outcome.result.effects
            assert isinstance(effect, Append)
            assert (effect.entry.text, outcome.result.source) == (told, "llm")


def test_a_failed_answer_reports_model_tokens_and_count() -> None:
    answer = ModelAnswer(
        usage=USED, failure=Failure(kind="auth"), prompt_tokens=90, estimated=True, reasoning=11, text="no"
    )
    trying = Trying(replace(answer, saved=True))
    outcome = trying.make()
    assert outcome.result is not None
    told = outcome.result.model, outcome.result.usage, outcome.result.saved, outcome.result.failure
    assert told == ("default", USED, True, "auth")
    assert (outcome.result.unreported, outcome.result.reasoning) == (True, 11)
    assert outcome.result.count == PromptCount(prompt_tokens(trying.calls.prompts[0]), 90, 0)


def test_an_invalid_answer_is_shown_with_its_faults() -> None:
    trying = Trying(unusable("wrong_schema", '{"text": {"a": 5, "b": 6}}'))
    trying.make(trying.make().adjustment, number=2)
    assert "text: Input should be a valid string" in trying.calls.prompts[1].user


def test_prompts_are_recorded_with_their_outcome() -> None:
    good = ModelAnswer(usage=USED, value=Said(text="La la la."))
    for gives, why in (
        (good, ""),
        (unusable("not_json"), "not_json"),
        (Refused("breaker_open"), "breaker_open"),
        (Refused("real_day_spent"), "real_day_spent"),
        (RuntimeError("nothing was sent"), None),
    ):
        trying = Trying(gives)
        kept: list[Any] = []
        trying.attempts._record = SimpleNamespace(keep=lambda *given: kept.append(given))  # type: ignore[assignment]  # noqa: B023
        trying.make()
        told = [(claim.number, asked.user, reply, failure) for claim, asked, reply, failure, *_ in kept]
        assert told == ([] if why is None else [(1, trying.calls.prompts[0].user, gives, why)])


def test_junk_is_not_shown_again_and_an_answer_that_its_kind_refuses_is() -> None:
    def second(text: str, kind: Own) -> str:
        answer = ModelAnswer(usage=USED, value=Thought(text=text), text=f"<<{text}>>")
        trying = Trying(answer, kind)
        trying.make(trying.make().adjustment, number=2)
        return trying.calls.prompts[1].user

    def refuse(case: Case, answer: BaseModel) -> tuple[Effect, ...]:
        raise ValueError("nobody is called Zoe")

    assert "<<...>>" not in second("...", Own(output_cap=50))
    told = second("Ask Zoe about it.", Own(output_cap=50, answers=refuse))
    assert "Ask Zoe about it." in told
    assert "nobody is called Zoe" in told


def test_a_record_describes_the_fault_of_an_unusable_answer() -> None:
    trying = Trying(ModelAnswer(usage=USED, value=Thought(text="...")))
    kept: list[Any] = []
    trying.attempts._record = SimpleNamespace(keep=lambda *given: kept.append(given))  # type: ignore[assignment]
    trying.make()
    ((*_, failure, fault),) = kept
    assert failure == "unusable"
    assert fault.startswith("'...' is a placeholder")
    assert type(fault) is str, "another type cannot be stored"


def test_refused_effects_in_place_of_a_failed_call_are_logged() -> None:
    trying = Trying(failed("auth"), Own(output_cap=50, makes=lambda case: ("no effect",)))
    with capture_logs() as logs:
        trying.make()
    assert [log["kind"] for log in logs if log["event"] == "job.effects_refused"] == ["hum"]


def test_refused_effects_of_a_kind_without_a_model_are_logged() -> None:
    trying = Trying(RuntimeError("not asked"), Own(output_cap=50, makes=lambda case: ("no effect",)))
    with capture_logs() as logs:
        for _ in range(2):
            trying.make(job=msgspec.structs.replace(JOB, model=""), model=None)
    assert [(log["event"], log["kind"]) for log in logs] == [("job.effects_refused", "hum")]


def test_where_the_failed_answer_leaves_no_room_it_is_not_shown() -> None:
    trying = Trying(unusable("not_json", "la " * 400))
    tight = msgspec.structs.replace(JOB, prompt_cap=200)
    trying.make(trying.make(job=tight).adjustment, job=tight, number=2)
    one, other = trying.calls.prompts
    assert other.user.startswith(one.user)
    assert "la la la" not in other.user
    assert "there is no complete JSON object in it" in other.user


def test_faults_that_exceed_the_prompt_cap_are_left_out() -> None:
    trying = Trying(unusable("not_json", "la " * 400))
    failed_once = trying.make()
    tight = msgspec.structs.replace(JOB, prompt_cap=prompt_tokens(trying.calls.prompts[0]))
    trying.make(failed_once.adjustment, job=tight, number=2)
    one, other = trying.calls.prompts
    assert one.user == other.user


def test_a_job_without_a_model_calls_none() -> None:
    trying = Trying(RuntimeError("not asked"))
    outcome = trying.make(job=msgspec.structs.replace(JOB, model=""), model=None)
    assert outcome.result is not None
    assert (outcome.result.source, outcome.result.reason, outcome.used) == ("heuristic", "none", Cost())
    assert trying.calls.prompts == []


@pytest.mark.parametrize("model", [None, Model(name="default", model="m", endpoint="theirs")])
def test_a_model_that_this_worker_cannot_reach_is_left_to_the_heuristic(model: Model | None) -> None:
    trying = Trying(RuntimeError("not asked"))
    outcome = trying.make(model=model)
    assert outcome.result is not None
    assert (outcome.result.failure, outcome.used, trying.calls.prompts) == ("unknown_endpoint", Cost(), [])


def test_a_kind_that_this_worker_does_not_know_is_left_to_others() -> None:
    trying = Trying(RuntimeError("not asked"))
    foreign = msgspec.structs.replace(JOB, key=JOB.key._replace(kind="whistle"))
    assert trying.make(job=foreign) == AttemptOutcome(None, Cost(), 1.0)


def test_a_prompt_that_never_fits_or_fails_spends_nothing() -> None:
    class Fails(Own):
        def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
            raise GeneratorExit

    for kind, job, why in (
        (Own(output_cap=50), msgspec.structs.replace(JOB, prompt_cap=5), "prompt_too_long"),
        (Fails(output_cap=50), JOB, "prompt_failed"),
    ):
        trying = Trying(RuntimeError("not asked"), kind)
        outcome = trying.make(job=job)
        assert outcome.result is not None
        assert (outcome.result.failure, outcome.failure, outcome.used) == (why, why, Cost())
        assert trying.calls.prompts == []


def test_unreadable_effects_are_refused_and_logged_once_per_kind() -> None:
    def odd(case: Case) -> Any:
        return ("no effect",)

    trying = Trying(failed("auth"), Own(output_cap=50, makes=odd))
    with capture_logs() as logs:
        outcomes = [trying.make(), trying.make(job=msgspec.structs.replace(JOB, model=""))]
    for outcome, failure in zip(outcomes, ("auth", "effects_refused"), strict=True):
        assert outcome.result is not None
        assert (outcome.result.effects, outcome.result.reason) == ((), "failed")
        assert outcome.result.refusal
        assert outcome.result.failure == failure
    assert [entry["event"] for entry in logs].count("job.effects_refused") == 1


@pytest.mark.parametrize(
    ("user", "reported", "counted"), [("A tune.", 90, True), ("A tune.", 0, False), ("мелодия " * 9, 90, True)]
)
def test_estimates_learn_from_prompts_whose_tokens_were_told(user: str, reported: int, counted: bool) -> None:
    class Tells(Own):
        def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
            return Prompt(system="Hum.", user=user, answer=Said, version="7")

    answer = ModelAnswer(usage=USED, value=Said(text="La."), prompt_tokens=reported, estimated=not reported)
    trying = Trying(answer, Tells(output_cap=50))
    outcome = trying.make()
    assert outcome.result is not None
    assert outcome.result.unreported is not bool(reported)
    assert outcome.result.prompt == "7"
    estimate = prompt_parts(trying.calls.prompts[0])
    assert outcome.result.count == (PromptCount(sum(estimate), 90, estimate.others) if counted else None)


def test_another_dialect_is_tried_at_once() -> None:
    assert attempt(failed("unsupported"), number=3).pause == 0.0


class Wordy(Own):
    """A kind whose answers may have ten words."""

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        prompt = Prompt(system="Hum.", user="A tune.", answer=SummaryAnswer, version="1")
        return replace(prompt, shown=(4,), then=(Archive(JOB.key.owner, (4,), into_summary=True),))

    def effects(self, case: Case, answer: BaseModel, used: tuple[int, ...]) -> tuple[Effect, ...]:
        assert isinstance(answer, SummaryAnswer)
        return (ReplaceSummary(JOB.key.owner, within(SummarySize(13), answer, answer.summary), 0),)


RIVER, END = (
    "The old river rose above its banks at dawn. The mill's wheel broke. Rain fell for days.",
    "Borin betrayed Elara.",
)


def test_a_summary_that_can_be_cut_is_not_a_models_failure() -> None:
    trying = Trying(ModelAnswer(usage=USED, value=SummaryAnswer(summary=f"{RIVER} {END}")), Wordy())
    for number in (1, 4):
        trying.make(number=number)
    assert trying.calls.unusable == []


def test_a_too_long_summary_is_requested_once_more_and_then_cut() -> None:
    register(Wordy(output_cap=50))
    long = ModelAnswer(usage=USED, value=SummaryAnswer(summary=f"{RIVER} {END}"))
    first = attempt(long, number=1)
    assert (first.result, first.used, first.failure) == (None, USED, "unusable:too_long")
    assert first.adjustment.corrected
    second = attempt(long, number=2, adjustment=first.adjustment)
    assert second.result is not None
    assert (second.result.source, second.result.reason, second.result.usage) == ("llm", "none", USED)
    assert second.result.effects == (
        ReplaceSummary(JOB.key.owner, f"Rain fell for days. {END}", 0, cut=16),
        Archive(JOB.key.owner, (4,), into_summary=True, shown=(4,)),
    )
    last = attempt(long, number=4)
    assert last.result is not None
    assert last.result.effects == second.result.effects, "the last claim has nobody to ask again"
