"""Answers of earlier runs: found by the very question that was asked, in its place, and only what a model answered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import msgspec
import pytest
from fakeredis import FakeRedis
from pydantic import BaseModel

from cogitate.memory import typed_json
from cogitate.prompts.constraints import Constraint
from cogitate.scheduler.config.endpoints import Model
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.keys import RESPONSES
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.tasks.kind import Prompt
from cogitate.workers.jobs.call import CachedQuestion, Call
from cogitate.workers.jobs.judging import OF_ANSWERS
from cogitate.workers.jobs.stored_texts import ResponseCache
from cogitate.workers.llm.replies.failures import Failure, FailureKind, ModelAnswer
from tests.integration.workers.llm_case import CAP, MODEL, PROMPT, Mood, claim_of

TEXT = '{"word": "grey", "strength": 3}'
GOOD = ModelAnswer(
    usage=Cost(calls=1, tokens=57, usd_micros=9),
    estimated=True,
    value=Mood(word="grey", strength=3),
    prompt_tokens=41,
    text=TEXT,
)


class Weather(BaseModel):
    word: str


def job(run: str = "first", **place: Any) -> Job:
    at = {"tick": 420, "kind": "plan", "owner": "agent:ada", "ordinal": 0, "trial": 0} | place
    return Job(run=run, key=JobKey(**at), minute=420, due=425, reads=(), model="default", output_cap=CAP)


def cache(client: FakeRedis, **settings: Any) -> ResponseCache:
    return ResponseCache(client, Settings.tuned(response_cache=True, **settings))


def asked(prompt: Prompt = PROMPT, model: Model = MODEL, cap: int = CAP) -> CachedQuestion:
    return Call(claim_of(job()), prompt, model, cap, 0.0).question


def test_another_run_with_the_same_question_gets_the_cached_answer() -> None:
    client = FakeRedis()
    cache(client).keep(job("first"), asked(), GOOD)
    assert cache(client).find(job("second"), asked(), PROMPT) == GOOD


@pytest.mark.parametrize(
    "other",
    [
        asked(model=msgspec.structs.replace(MODEL, seed=0)),
        asked(model=msgspec.structs.replace(MODEL, parameters='{"top_p": 1}')),
        asked(model=msgspec.structs.replace(MODEL, model="another")),
        asked(model=msgspec.structs.replace(MODEL, endpoint="elsewhere")),
        asked(prompt=replace(PROMPT, system="You name colours.")),
        asked(prompt=replace(PROMPT, user="The sun shines.")),
        asked(prompt=replace(PROMPT, answer=Weather)),
        asked(prompt=replace(PROMPT, enforced=(Constraint(field="word", choices=("grey",)),))),
        asked(cap=CAP + 1),
    ],
    ids=["seed", "parameters", "model", "endpoint", "system", "user", "schema", "choices", "cap"],
)
def test_another_question_has_another_answer(other: CachedQuestion) -> None:
    client = FakeRedis()
    answers = cache(client)
    answers.keep(job(), asked(), GOOD)
    assert answers.find(job(), other, PROMPT) is None


def test_each_seed_has_its_own_answer() -> None:
    answers = cache(FakeRedis())
    seeds = [asked(model=msgspec.structs.replace(MODEL, seed=seed)) for seed in (None, 0, 1)]
    for tokens, question in enumerate(seeds, 1):
        answers.keep(job(), question, replace(GOOD, usage=Cost(calls=1, tokens=tokens)))
    found = [answers.find(job(), question, PROMPT) for question in seeds]
    assert [answer.usage.tokens for answer in found if answer is not None] == [1, 2, 3]


@pytest.mark.parametrize(
    "place", [{"tick": 421}, {"kind": "act"}, {"owner": "agent:ben"}, {"ordinal": 1}, {"trial": 1}]
)
def test_the_same_question_in_another_place_is_another(place: dict[str, Any]) -> None:
    answers = cache(FakeRedis())
    answers.keep(job(), asked(), GOOD)
    assert answers.find(job(**place), asked(), PROMPT) is None


@pytest.mark.parametrize("kind", get_args(FailureKind))
def test_a_failure_of_the_answer_is_kept_and_one_of_the_way_to_it_never(kind: FailureKind) -> None:
    answers = cache(FakeRedis())
    failed = ModelAnswer(usage=Cost(calls=1, tokens=8), failure=Failure(kind=kind), text='{"word": 1}')
    answers.keep(job(), asked(), failed)
    found = answers.find(job(), asked(), PROMPT)
    if kind not in OF_ANSWERS:
        assert found is None, "whoever asks again is to ask the model"
    else:
        assert found is not None
        assert found.failure is not None
        assert found.failure.kind == kind
        assert (found.text, found.value, found.usage) == (failed.text, None, failed.usage)


def test_an_empty_answer_is_not_cached() -> None:
    client = FakeRedis()
    cache(client).keep(job(), asked(), replace(GOOD, text=""))
    assert client.keys() == []


def test_answers_stay_for_the_days_and_within_the_bytes_of_the_settings() -> None:
    client = FakeRedis()
    answers = cache(client, response_cache_days=2, response_cache_bytes=100_000)
    answers.keep(job(), asked(), GOOD)
    assert answers._texts._milliseconds == 172_800_000
    assert {round(int(client.pttl(key)) / 86_400_000, 3) for key in RESPONSES} == {2.0}
    answers.keep(job(tick=421), asked(), replace(GOOD, text="x" * 100_001))
    assert answers.find(job(tick=421), asked(), PROMPT) is None
    assert answers.find(job(), asked(), PROMPT) == GOOD


def test_an_overwritten_cache_entry_is_requested_again() -> None:
    client = FakeRedis()
    answers = cache(client)
    answers.keep(job(), asked(), GOOD)
    (field,) = client.hkeys(RESPONSES[0])
    client.hset(RESPONSES[0], field, b"{")
    assert answers.find(job(), asked(), PROMPT) is None


def test_an_answer_that_an_older_version_kept_has_no_reasoning() -> None:
    client = FakeRedis()
    answers = cache(client)
    answers.keep(job(), asked(), replace(GOOD, reasoning=11))
    (field,) = client.hkeys(RESPONSES[0])
    kept = typed_json.decode(client.hget(RESPONSES[0], field))
    assert kept.pop("reasoning") == 11
    client.hset(RESPONSES[0], field, msgspec.json.encode(kept))
    assert answers.find(job(), asked(), PROMPT) == GOOD


@pytest.mark.parametrize(
    ("parameters", "digest"),
    [("", "35f9c34cd0802aabea05ccea928886a4"), ('{"top_p": 1}', "8a6fea26d6619ad889c6f3fb7ee34363")],
)
def test_the_key_of_a_question_is_the_same_in_every_version(parameters: str, digest: str) -> None:
    """Answers that an earlier version paid for are found by a later one."""
    model = Model(name="routine", model="m", endpoint="ours", seed=7, parameters=parameters)
    prompt = Prompt(system="You name the weather.", user="It rains.", answer=Weather, used=(), version="1")
    assert asked(prompt, model, 50).digest() == digest
