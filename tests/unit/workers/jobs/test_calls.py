"""Calls of one process at its gate: endpoints that it cannot call, what a refusal says, and probes."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis
from structlog.testing import capture_logs

from cogitate.scheduler.config.endpoints import Endpoint, Model
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.ledger.keys import endpoint_keys
from cogitate.scheduler.ledger.real_day import RealDay
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.tasks.kind import Prompt
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Call
from cogitate.workers.jobs.call_layers import ASKING_FAILED, PROBE_WITHIN, Calls
from cogitate.workers.jobs.packs.packing import Packing
from cogitate.workers.llm.replies.failures import Failure, ModelAnswer
from tests.integration.workers.llm_case import CAP, MODEL, PROMPT, Mood, claim_of
from tests.patience import LONGEST

RESERVED = Cost(calls=1, tokens=500, usd_micros=90)
USED = Cost(calls=1, tokens=120, usd_micros=21)
JOB = Job(
    run="town",
    key=JobKey(3, "plan", "agent:ada", 0, 0),
    minute=3,
    due=9,
    reads=(),
    model="default",
    output_cap=CAP,
    reserved=RESERVED,
)
GOOD = ModelAnswer(usage=USED, value=Mood(word="grey", strength=3), text='{"word": "grey", "strength": 3}')
DAY_TOKENS = 1_000


class Models:
    """Clients of endpoints that do what a test says, and note what they were asked."""

    def __init__(self) -> None:
        self.answers: list[ModelAnswer | Exception] = [GOOD]
        self.unready: Exception | None = None
        self.found: Failure | None = None
        self.asked: list[tuple[str, str, int, float]] = []
        self.probed: list[tuple[str, float]] = []
        self.context = 0

    def of(self, endpoint: str) -> Models:
        if self.unready is not None:
            raise self.unready
        self.endpoint = endpoint
        return self

    def context_of(self, model: str) -> int:
        return self.context

    def get_ready(self, prompt: Prompt, *, model: Model) -> None:
        """Nothing has to be loaded."""

    def ask(
        self, prompt: Prompt, *, model: Model, max_output_tokens: int, deadline: float, service_tier: str
    ) -> ModelAnswer:
        self.asked.append((prompt.user, model.name, max_output_tokens, deadline))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def probe(self, deadline: float) -> Failure | None:
        self.probed.append((self.endpoint, deadline - time.monotonic()))
        return self.found


class Worker:
    """The calls of a process, the day's limit, and the gate, over a Redis of the process's own."""

    def __init__(self, **settings: Any) -> None:
        self.client, self.models, self.stopping = FakeRedis(), Models(), threading.Event()
        endpoints = {"default": Endpoint(concurrency=1)}
        chosen = Settings.tuned(**{"endpoints": endpoints, "real_day_tokens": DAY_TOKENS, **settings})
        self.day = RealDay(self.client, chosen)
        models: Any = self.models
        self.calls = Calls(self.client, chosen, models, self.stopping)
        self.of_run: dict[str, Any] = {}  # what the run wishes

    def ask(self, job: Job = JOB, model: Model = MODEL, *, seconds: float = LONGEST) -> ModelAnswer | Refused:
        found = self.calls.ask(Call(claim_of(job, **self.of_run), PROMPT, model, CAP, time.monotonic() + seconds))
        return found._replace(wait=0.0) if isinstance(found, Refused) else found

    def day_tokens(self) -> tuple[int, int]:
        """Tokens that calls under way hold, and that were spent."""
        found = self.day.spending()
        return found.reserved.tokens, found.spent.tokens


@pytest.fixture
def worker() -> Worker:
    return Worker()


def test_a_call_uses_the_jobs_model_within_cap_and_deadline(worker: Worker) -> None:
    deadline = time.monotonic() + LONGEST
    assert worker.calls.ask(Call(claim_of(JOB), PROMPT, MODEL, CAP, deadline)) == GOOD
    assert worker.models.asked == [(PROMPT.user, MODEL.name, CAP, deadline)]


def test_the_only_job_of_a_process_waits_for_no_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Packing, "ask", None)  # a call to it raises TypeError
    assert Worker(concurrency=1).ask() == GOOD


def test_a_refusal_names_the_cause_of_the_open_breaker(worker: Worker) -> None:
    refusal = ModelAnswer(usage=Cost(calls=1), failure=Failure(kind="auth", status=401))
    worker.models.answers = [refusal] * 3
    worker.client.hset(endpoint_keys("default")[0], "usual", 0)
    for subject in ("rain", "snow", "fog"):
        prompt = replace(PROMPT, user=subject)
        worker.calls.ask(Call(claim_of(JOB), prompt, MODEL, CAP, time.monotonic() + LONGEST))
    worker.calls.close()  # its reports are sent
    assert worker.ask() == Refused("breaker_open", "auth", of_model=True)


@pytest.mark.parametrize("error", [ConfigurationError("no key"), KeyError("default")])
def test_an_endpoint_that_this_process_cannot_call_is_logged_once(worker: Worker, error: Exception) -> None:
    worker.models.unready = error
    with capture_logs() as logs:
        assert [worker.ask(), worker.ask()] == [Refused("unknown_endpoint")] * 2
    assert [entry["event"] for entry in logs] == ["job.unknown_endpoint"]
    worker.calls.probe("default")
    assert (worker.models.asked, worker.models.probed, worker.day_tokens()) == ([], [], (0, 0))


def test_a_request_that_cannot_be_built_spends_nothing(worker: Worker) -> None:
    worker.models.unready = TypeError("no schema")
    assert worker.ask() == Refused(ASKING_FAILED)
    assert (worker.models.asked, worker.day_tokens()) == ([], (0, 0))


def test_the_context_of_an_unusable_endpoint_is_unknown(
    worker: Worker,
) -> None:
    worker.models.context = 4_096
    assert worker.calls.context_of(MODEL) == 4_096
    for worker.models.unready in (ConfigurationError("no key"), KeyError("theirs")):
        assert worker.calls.context_of(MODEL) == 0


def test_answers_of_no_use_are_counted_at_the_endpoint_of_their_model(worker: Worker) -> None:
    for _ in range(2):
        worker.calls.count_unusable(MODEL)
    assert worker.client.hget(endpoint_keys(MODEL.endpoint)[2], "failures:unusable") == b"2"


def test_a_refusal_is_not_cached_for_later_runs() -> None:
    worker = Worker()
    worker.of_run = {"response_cache": True}
    greedy = msgspec.structs.replace(JOB, reserved=Cost(calls=1, tokens=DAY_TOKENS + 1))
    assert [worker.ask(greedy), worker.ask()] == [Refused("real_day_spent"), GOOD]


@pytest.mark.parametrize(
    ("found", "then"),
    [(None, GOOD), (Failure(kind="connection"), Refused("breaker_open", "connection"))],
)
def test_a_probe_sends_no_prompt_and_closes_the_breaker_of_a_recovered_endpoint(
    found: Failure | None, then: ModelAnswer | Refused
) -> None:
    worker = Worker(breaker_failures=1, breaker_pause=1_000, breaker_longest_pause=1_000)
    down = ModelAnswer(usage=Cost(calls=1), failure=Failure(kind="connection"))
    worker.models.answers, worker.models.found = [down, GOOD], found
    worker.ask()
    worker.calls.close()  # its reports are sent
    assert worker.ask() == Refused("breaker_open", "connection")
    worker.calls.probe("default")
    ((endpoint, within),) = worker.models.probed
    assert endpoint == "default"
    assert 0 < within <= PROBE_WITHIN
    assert len(worker.models.asked) == 1
    assert worker.ask() == then


def test_an_endpoint_that_this_process_cannot_call_is_left_to_others_to_probe() -> None:
    worker = Worker(breaker_failures=1, breaker_pause=1_000, breaker_longest_pause=1_000)
    worker.models.answers = [ModelAnswer(usage=Cost(calls=1), failure=Failure(kind="connection"))]
    worker.ask()
    worker.calls.close()  # its reports are sent
    for worker.models.unready in (ConfigurationError("no key"), KeyError("theirs")):
        worker.calls.probe("default")
    assert worker.models.probed == []


def entered(claim: dict[str, Any], model: dict[str, Any], **settings: Any) -> list[str]:
    """The layers that a call enters, in their order."""
    models: Any = Models()
    calls = Calls(FakeRedis(), Settings.tuned(**settings), models, threading.Event())
    changed = msgspec.structs.replace(claim_of(JOB), **claim)
    call = Call(changed, PROMPT, msgspec.structs.replace(MODEL, **model), CAP, 0.0)
    calls.ask(call)
    (options,) = calls._chains
    return [type(layer).__name__ for layer in calls._layers(options)]


@pytest.mark.parametrize(
    ("claim", "model", "settings", "first", "later"),
    [
        ({}, {}, {}, [], []),
        ({"source_recorded": True}, {}, {}, ["SourceAnswers"], []),
        ({"response_cache": True}, {}, {}, ["ResponseCache"], []),
        ({}, {}, {"real_day_tokens": 10_000}, [], ["RealDayLimit"]),
        ({}, {}, {"real_day_usd": 1.0}, [], ["RealDayLimit"]),
        ({}, {"pack": "auto"}, {}, [], ["Packing"]),
        ({}, {"service_tier": "auto"}, {}, [], ["ServiceTiers"]),
        ({}, {"pack": "auto"}, {"real_day_tokens": 10_000}, [], ["RealDayLimit", "Packing"]),
        ({}, {"batch": "auto"}, {}, [], []),  # this process has no desk that would send a batch
    ],
)
def test_a_call_enters_only_the_layers_that_its_run_model_and_worker_ask_for(
    claim: dict[str, Any], model: dict[str, Any], settings: dict[str, Any], first: list[str], later: list[str]
) -> None:
    plain = {"pack": "off", "service_tier": "standard", "batch": "off"}
    expected = [*first, "Sharing", "Preparing", *later, "Gating"]
    assert entered(claim, plain | model, concurrency=4, **settings) == expected


def test_the_only_job_of_a_process_waits_for_no_others() -> None:
    assert "Packing" not in entered({}, {"pack": "auto"}, concurrency=1)
