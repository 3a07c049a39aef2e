"""What a run records: each attempt's prompt, as it was sent, and what came of it."""

from __future__ import annotations

from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate.memory.profile import Profile
from cogitate.scheduler.config.endpoints import Model
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.claims import Claim
from cogitate.scheduler.ledger.keys import incarnation_key
from cogitate.scheduler.ledger.recorded_answers import RecordedAnswer
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.tasks.kind import Case, WorldFacts
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Call
from cogitate.workers.jobs.stored_texts import MOST_ATTEMPTS, AnswerRecord, recorded_of
from cogitate.workers.llm.replies.failures import ModelAnswer
from tests.integration.workers.llm_case import PROMPT

KEY = JobKey(3, "plan", "agent:ada", 0, 0)
ON = Settings(record=True)


@pytest.fixture
def client() -> FakeRedis:
    made = FakeRedis()
    made.set(incarnation_key("town"), "now")
    return made


def claim(number: int = 1, incarnation: str = "now", key: JobKey = KEY) -> Claim:
    job = Job(run="town", key=key, minute=3, due=9, reads=(), model="default")
    case = Case(job=job, profile=Profile(name="Ada"), world=WorldFacts(), memories={})
    return Claim(incarnation=incarnation, token="t", number=number, cap=4, case=case)


QUESTION = Call(claim(), PROMPT, Model(name="default", endpoint="default", model="m"), 100, 0.0).question


def said(text: str, *, saved: bool = False) -> ModelAnswer:
    return ModelAnswer(usage=Cost(calls=1), text=text, saved=saved)


def kept(client: FakeRedis, settings: Settings = ON, key: JobKey = KEY) -> list[RecordedAnswer]:
    return recorded_of(RunStore.of(client, "town", "now"), settings, key)


def recorded(attempt: int, **told: Any) -> RecordedAnswer:
    told = {"usage": Cost(calls=1)} | told
    asked = {"model": "default", "question": QUESTION.digest(), "system": PROMPT.system, "user": PROMPT.user}
    return RecordedAnswer(attempt=attempt, **asked, **told)


def test_every_attempt_is_recorded_in_order_with_its_outcome(client: FakeRedis) -> None:
    record = AnswerRecord(client, ON)
    record.keep(claim(2), QUESTION, said("grey", saved=True), "")
    record.keep(claim(1), QUESTION, said("{"), "not_json")
    record.keep(claim(3), QUESTION, Refused("breaker_open", "auth"), "breaker_open")
    assert kept(client) == [
        recorded(1, answer="{", failure="not_json"),
        recorded(2, answer="grey", saved=True),
        recorded(3, failure="breaker_open", usage=Cost()),
    ]


def test_the_last_of_the_permitted_claims_is_shown(client: FakeRedis) -> None:
    record = AnswerRecord(client, ON)
    for number in (1, MOST_ATTEMPTS):
        record.keep(claim(number), QUESTION, said("grey"), "")
    assert [one.attempt for one in kept(client)] == [1, MOST_ATTEMPTS]
    assert Settings().tuning.claim_cap <= MOST_ATTEMPTS


def test_each_job_has_a_separate_record(client: FakeRedis) -> None:
    other = KEY._replace(ordinal=1)
    AnswerRecord(client, ON).keep(claim(key=other), QUESTION, said("grey"), "")
    assert (kept(client), len(kept(client, key=other))) == ([], 1)


def test_a_long_answer_is_cut(client: FakeRedis) -> None:
    AnswerRecord(client, ON).keep(claim(), QUESTION, said("x" * 100_000 + "y"), "")
    assert kept(client) == [recorded(1, answer="x" * 100_000)]


def test_a_former_incarnation_records_nothing(client: FakeRedis) -> None:
    AnswerRecord(client, ON).keep(claim(incarnation="before"), QUESTION, said("grey"), "")
    assert client.keys() == [incarnation_key("town").encode()]


def test_a_record_belongs_to_its_run_and_expires(client: FakeRedis) -> None:
    record = AnswerRecord(client, Settings.tuned(record=True, record_days=2))
    record.keep(claim(), QUESTION, said("grey"), "")
    assert record._texts._milliseconds == 172_800_000
    keys = RunStore.of(client, "town", "now").recorded_keys()
    assert set(map(bytes.decode, client.keys())) == {*keys, incarnation_key("town")}
    assert {round(client.pttl(key) / 86_400_000, 2) for key in keys} == {2.0}


def test_record_bytes_bound_the_record(client: FakeRedis) -> None:
    small = Settings.tuned(record=True, record_bytes=300)
    for number, length in ((1, 1), (2, 400)):
        AnswerRecord(client, small).keep(claim(number), QUESTION, said("x" * length), "")
    assert [one.attempt for one in kept(client, small)] == [1]
