"""Prompts and answers that a run keeps on request: each attempt's, as it was sent, for as long as the run exists."""

from __future__ import annotations

from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate.memory.profile import Profile
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.claims import Claim
from cogitate.scheduler.ledger.keys import incarnation_key
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.tasks.kind import Case, WorldFacts
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.stored_texts import MOST_ATTEMPTS, Capture, Captured, captured_of
from cogitate.workers.llm.replies.failures import ModelAnswer
from tests.integration.workers.llm_case import PROMPT

KEY = JobKey(3, "plan", "agent:ada", 0, 0)
ON = Settings(capture=True)


@pytest.fixture
def client() -> FakeRedis:
    made = FakeRedis()
    made.set(incarnation_key("town"), "now")
    return made


def claim(number: int = 1, incarnation: str = "now", key: JobKey = KEY) -> Claim:
    job = Job(run="town", key=key, minute=3, due=9, reads=(), model="default")
    case = Case(job=job, profile=Profile(name="Ada"), world=WorldFacts(), memories={})
    return Claim(incarnation=incarnation, token="t", number=number, cap=4, case=case)


def said(text: str, *, saved: bool = False) -> ModelAnswer:
    return ModelAnswer(usage=Cost(calls=1), text=text, saved=saved)


def kept(client: FakeRedis, settings: Settings = ON, key: JobKey = KEY) -> list[Captured]:
    return captured_of(RunStore.of(client, "town", "now"), settings, key)


def captured(attempt: int, **told: Any) -> Captured:
    return Captured(attempt=attempt, model="default", system=PROMPT.system, user=PROMPT.user, **told)


def test_every_attempt_is_captured_in_order_with_its_outcome(client: FakeRedis) -> None:
    capture = Capture(client, ON)
    capture.keep(claim(2), PROMPT, said("grey", saved=True), "")
    capture.keep(claim(1), PROMPT, said("{"), "not_json")
    capture.keep(claim(3), PROMPT, Refused("breaker_open", "auth"), "breaker_open")
    assert kept(client) == [
        captured(1, answer="{", failure="not_json"),
        captured(2, answer="grey", saved=True),
        captured(3, failure="breaker_open"),
    ]


def test_the_last_of_the_permitted_claims_is_shown(client: FakeRedis) -> None:
    capture = Capture(client, ON)
    for number in (1, MOST_ATTEMPTS):
        capture.keep(claim(number), PROMPT, said("grey"), "")
    assert [one.attempt for one in kept(client)] == [1, MOST_ATTEMPTS]
    assert Settings().tuning.claim_cap <= MOST_ATTEMPTS


def test_each_job_has_its_own(client: FakeRedis) -> None:
    other = KEY._replace(ordinal=1)
    Capture(client, ON).keep(claim(key=other), PROMPT, said("grey"), "")
    assert (kept(client), len(kept(client, key=other))) == ([], 1)


def test_a_long_answer_is_cut(client: FakeRedis) -> None:
    Capture(client, ON).keep(claim(), PROMPT, said("x" * 100_000 + "y"), "")
    assert kept(client) == [captured(1, answer="x" * 100_000)]


def test_captures_are_off_by_default(client: FakeRedis) -> None:
    Capture(client, Settings()).keep(claim(), PROMPT, said("grey"), "")
    assert client.keys() == [incarnation_key("town").encode()]


def test_nothing_is_kept_of_a_run_that_is_gone(client: FakeRedis) -> None:
    Capture(client, ON).keep(claim(incarnation="before"), PROMPT, said("grey"), "")
    assert client.keys() == [incarnation_key("town").encode()]


def test_a_capture_belongs_to_its_run_and_expires(client: FakeRedis) -> None:
    capture = Capture(client, Settings.tuned(capture=True, capture_hours=2))
    capture.keep(claim(), PROMPT, said("grey"), "")
    assert capture._texts._milliseconds == 7_200_000
    keys = RunStore.of(client, "town", "now").captured_keys()
    assert set(map(bytes.decode, client.keys())) == {*keys, incarnation_key("town")}
    assert {round(client.pttl(key) / 3_600_000, 2) for key in keys} == {2.0}


def test_capture_bytes_bound_the_captures(client: FakeRedis) -> None:
    small = Settings.tuned(capture=True, capture_bytes=300)
    for number, length in ((1, 1), (2, 400)):
        Capture(client, small).keep(claim(number), PROMPT, said("x" * length), "")
    assert [one.attempt for one in kept(client, small)] == [1]
