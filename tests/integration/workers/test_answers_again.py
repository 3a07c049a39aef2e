"""Answers that are repaired, shared, reused from an earlier run, or recorded."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from structlog.testing import capture_logs

import cogitate.hosting.inline
import cogitate.workers.jobs.call_layers
from cogitate.hosting.inline import InlinePublisher
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Location, Profile
from cogitate.ops.cli import main
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.prompts.render import neutral
from cogitate.scheduler.budget.budget import Cell
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import EndNote
from cogitate.scheduler.ledger.claims import Claim, Claims, Result, Settled
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.recorded_answers import RecordedAnswer
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, Job
from cogitate.tasks.kind import Prompt
from cogitate.tasks.plan import Plan
from cogitate.workers.jobs.stored_texts import AnswerRecord, ResponseCache, recorded_of
from cogitate.workers.llm.replies.failures import ModelAnswer
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.live_redis import empty_redis
from tests.patience import LONGEST

NAMES = ("Ann", "Bob", "Cleo", "Dan", "Eva", "Fay", "Gus", "Hal")
SAME = {"agent:ann": Profile(name="Ann"), "agent:nan": Profile(name="Ann")}  # two owners with equal questions


def settings_of(tmp_path: Path, endpoint: FakeEndpoint, **more: Any) -> Settings:
    return Settings.tuned(
        **{
            "data_dir": tmp_path,
            "llm": "openai",
            "limits": {},
            "limit_tokens": 1_000_000,
            "act_interval": 0,
            "rate_share": 0.0,
            "repair_from": 1440,
            "base_url": endpoint.url,
            "api_key": "any",
            "reflection_interval": 100_000,
            "input_price": 150_000,
            "output_price": 600_000,
        }
        | more
    )


def planned(settings: Settings, client: Redis, *, run: str = "town", owners: Any = None) -> TickLoop:
    """Run a town in which every owner plans once, at tick 1, and audit it."""
    owners = owners or {f"agent:{name.lower()}": Profile(name=name) for name in NAMES}
    with TickLoop(
        run=run, owners=owners, settings=settings, ticks=10, start_minute=500, inline=True, client=client
    ) as loop:
        for _ in loop:
            pass
    assert audit(client, run) == []
    return loop


def notes(client: Redis, run: str = "town") -> dict[str, EndNote]:
    lines = read_journal(RunStore.open(client, run), 1, 10)
    return {note.key.owner: note for line in lines for note in line.notes.ended}


def texts(client: Redis, settings: Settings, note: EndNote, run: str = "town") -> list[RecordedAnswer]:
    return recorded_of(RunStore.open(client, run), settings, note.key)


def spent(client: Redis, run: str = "town") -> dict[str, int]:
    lines = summarise_run(client, run).budget
    return {line.unit: line.spent for line in lines if line.window == "run:0" and line.scope == "run"}


# -- repair ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["wrong_types", "wrong_schema", "not_json", "broken_json", "length"])
def test_an_unusable_answer_is_sent_back_to_the_model_once(tmp_path: Path, fault: str) -> None:
    client = empty_redis()
    with FakeEndpoint(faults={fault: 0.6}) as endpoint:
        settings = settings_of(tmp_path, endpoint, record=True)
        planned(settings, client)
        served = endpoint.stats()
    found = notes(client)
    assert {(note.source, note.attempts) for note in found.values()} <= {("llm", 1), ("llm", 2), ("heuristic", 2)}
    assert len(NAMES) < served.requests == sum(note.attempts for note in found.values())
    assert spent(client)["tokens"] == served.prompt_tokens + served.completion_tokens
    for note in found.values():
        asked = texts(client, settings, note)
        assert [one.attempt for one in asked] == [*range(1, note.attempts + 1)]
        assert asked[-1].failure == note.failure.partition(":")[0]
        for first, second in pairwise(asked):
            assert first.failure
            fences = [one.user.splitlines().count("<answer>") for one in (first, second)]
            assert fences[0] == 0
            assert "Problem: " in second.user
            # A truncated answer leaves half of the cap for the prompt, which may be too little to show the answer.
            assert fences[1] == 1 or fault == "length"
            assert (neutral(first.answer)[:100] in second.user) == (fences[1] == 1)
            assert second.system.startswith(first.system)


class Invents:
    """Model clients that plan for an unknown place until the prompt says so."""

    def __init__(self, *args: Any) -> None:
        pass

    def of(self, endpoint: str) -> Invents:
        return self

    def context_of(self, model: Any) -> int:
        return 0

    def get_ready(self, prompt: Prompt, **options: Any) -> None:
        """Do nothing, since there is nothing to prepare."""

    def ask(self, prompt: Prompt, **options: Any) -> ModelAnswer:
        place = "cafe" if "no place is called 'Atlantis'" in prompt.user else "Atlantis"
        said = [
            {"time": f"{h}:00", "description": f"Bake {bread} for guests", "location": place, "priority": 3}
            for h, bread in zip(range(9, 15), ("rye", "oats", "spelt", "buns", "rolls", "pretzels"), strict=True)
        ]
        value = prompt.answer.model_validate({"activities": said})
        return ModelAnswer(usage=Cost(calls=1, tokens=500), value=value, text=value.model_dump_json())

    def close(self) -> None:
        """Do nothing, since nothing is open."""


def test_a_place_that_does_not_exist_is_repaired_and_never_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cogitate.workers.jobs.runner.ModelClients", Invents)
    client = empty_redis()
    with FakeEndpoint() as endpoint:
        settings = settings_of(tmp_path, endpoint)
    with TickLoop(
        run="town",
        owners=SAME,
        settings=settings,
        ticks=10,
        start_minute=500,
        inline=True,
        client=client,
        locations=[Location(id="cafe", name="Hobbs Cafe")],
    ) as loop:
        for _ in loop:
            pass
    assert {(note.source, note.attempts) for note in notes(client).values()} == {("llm", 2)}
    plan = loop.state.streams["agent:ann"].latest("plan")
    assert plan is not None
    assert {item.location for item in plan.items} == {"cafe"}
    assert audit(client, "town") == []


def test_without_a_retry_pool_there_are_no_repairs(tmp_path: Path) -> None:
    client = empty_redis()
    with FakeEndpoint(faults={"wrong_types": 1.0}) as endpoint:
        planned(settings_of(tmp_path, endpoint, retry_share=0.0), client)
        assert endpoint.stats().requests == len(NAMES)
    assert {note.source for note in notes(client).values()} == {"heuristic"}


# -- calls in flight ---------------------------------------------------------------------------------


class Together(cogitate.hosting.inline.InlinePublisher):
    """A publisher that runs the jobs of one tick concurrently."""

    def publish(self, jobs: Sequence[Job]) -> int:
        with ThreadPoolExecutor(len(jobs) or 1) as pool:
            return len(list(pool.map(lambda job: self._runner.run(job.id), jobs)))


@pytest.mark.parametrize("alike", [False, True])
def test_equal_questions_in_flight_are_one_call(tmp_path: Path, alike: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = threading.Event()

    class Awaited(Future[Any]):
        def result(self, timeout: float | None = None) -> Any:
            waiting.set()
            return super().result(timeout)

    monkeypatch.setattr(cogitate.workers.jobs.call_layers, "Future", Awaited)
    if alike:
        monkeypatch.setattr(Plan, "alike", lambda kind, case: str(case.job.minute))
    owners = {"agent:ann": Profile(name="Ann"), "agent:bob": Profile(name="Bob")} if alike else SAME
    monkeypatch.setattr(cogitate.hosting.inline, "InlinePublisher", Together)
    client = empty_redis()
    with FakeEndpoint() as endpoint, ThreadPoolExecutor(1) as pool:
        endpoint.hold()
        living = pool.submit(planned, settings_of(tmp_path, endpoint), client, owners=owners)
        assert waiting.wait(LONGEST)
        endpoint.release()
        loop = living.result()
        served = endpoint.stats()
    assert served.requests == 1
    tokens = served.prompt_tokens + served.completion_tokens
    found = notes(client)
    assert sorted((note.source, note.saved, note.usage.tokens) for note in found.values()) == [
        ("cached", True, tokens),
        ("llm", False, tokens),
    ]
    assert spent(client) == {
        "calls": 1,
        "tokens": tokens,
        "usd_micros": spent(client)["usd_micros"],
        "jobs": 2,
    }
    assert loop.state.view.get(Cell("run:0", "run"), "tokens") == 2 * tokens
    assert replay(client, "town", empty_redis()).digest == loop.digest


# -- answers of earlier runs -------------------------------------------------------------------------


def test_repeating_a_run_with_the_response_cache_costs_nothing(tmp_path: Path) -> None:
    client = empty_redis()
    with FakeEndpoint(faults={"wrong_types": 0.3}) as endpoint:
        settings = settings_of(tmp_path, endpoint, response_cache=True)
        first = planned(settings, client, run="first")
        asked = endpoint.stats().requests
        assert asked > len(NAMES), "some answers needed a repair"
        again = planned(settings, client, run="again")
        assert endpoint.stats().requests == asked
    assert again.digest == first.digest
    assert spent(client, "again") == {"calls": 0, "tokens": 0, "usd_micros": 0, "jobs": len(notes(client, "again"))}
    for owner, note in notes(client, "again").items():
        then = notes(client, "first")[owner]
        assert (note.usage, note.count, note.saved) == (then.usage, then.count, True)
        assert note.source == {"llm": "cached"}.get(then.source, then.source)


def test_equal_questions_of_one_run_are_cached_separately(tmp_path: Path) -> None:
    client = empty_redis()
    with FakeEndpoint() as endpoint:
        settings = settings_of(tmp_path, endpoint, response_cache=True)
        planned(settings, client, run="first", owners=SAME)
        assert endpoint.stats().requests == 2, "the second asks its own question"
        planned(settings, client, run="again", owners=SAME)
        planned(settings.model_copy(update={"model": "another"}), client, run="other", owners=SAME)
        assert endpoint.stats().requests == 4
    assert client.hlen("cogitate:{responses}") == 4
    assert spent(client, "again")["tokens"] == 0
    assert [note.source for note in notes(client, "again").values()] == ["cached", "cached"]


# -- recorded texts ----------------------------------------------------------------------------------


def test_texts_are_recorded_on_request_within_bounds_and_deleted_with_their_run(tmp_path: Path) -> None:
    client = empty_redis()
    with FakeEndpoint() as endpoint, capture_logs() as logs:
        planned(settings_of(tmp_path, endpoint), client, run="silent")
        assert not list(client.scan_iter("cogitate:{silent}:*recorded*"))
        most = 6_000
        settings = settings_of(tmp_path, endpoint, record=True, record_bytes=most)
        planned(settings, client)
    store = RunStore.open(client, "town")
    kept: dict[Any, Any] = client.hgetall(store.key("recorded"))
    assert 0 < sum(map(len, kept.values())) == int(client.get(store.key("recorded_bytes"))) <= most
    assert 0 < len(kept) < len(NAMES), "the oldest texts were dropped"
    assert all(0 < client.ttl(key) <= 30 * 86_400 for key in store.recorded_keys())
    (one,) = texts(client, settings, notes(client)["agent:hal"])
    assert "You plan for Hal" in one.user
    assert "activities" in one.answer
    assert "You plan for" not in repr(logs)
    client.zadd(store.key("recorded_at"), dict.fromkeys(kept, 1))
    assert texts(client, settings, notes(client)["agent:hal"]) == [], "a text past its retention is not shown"
    delete_run(client, "town", force=True)
    assert not list(client.scan_iter("cogitate:{town}:*"))


def test_the_command_shows_a_jobs_requests_and_answers(
    tmp_path: Path, valkey: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeEndpoint(faults={"wrong_schema": 1.0}) as endpoint, valkey.client() as client:
        planned(settings_of(tmp_path, endpoint, record=True), client, owners=SAME)
        job = f"town/{notes(client)['agent:nan'].key.text()}"
    monkeypatch.setenv("COGITATE_REDIS_URL", valkey.url)
    for options in (["--prompt"], ["--prompt", "--json"]):
        monkeypatch.setattr("sys.argv", ["cogitate", "job", job, *options, "--data-dir", str(tmp_path)])
        capsys.readouterr()
        with pytest.raises(SystemExit):
            main()
        told = capsys.readouterr()
        shown = told.out if "--json" not in options else told.err
        for part in ("attempt 1 (default): user", "attempt 2 (default): answer", "failed\nwrong_schema", "<answer>"):
            assert part in shown
    assert [one["attempt"] for one in json.loads(told.out)["texts"]] == [1, 2]


@pytest.mark.parametrize("layer", ["record", "cache", "settle"])
def test_a_worker_fault_after_a_call_settles_the_job_and_charges_the_call_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("somewhere")

    settle = Claims.settle

    def fail_to_write(self: Claims, claim: Claim, result: Result | None, used: Cost, failure: str = "") -> Settled:
        if result is not None and result.source == "llm":
            raise UnicodeError("somewhere")
        return settle(self, claim, result, used, failure)

    broken: dict[str, tuple[type, str, Any]] = {
        "record": (AnswerRecord, "keep", fail),
        "cache": (ResponseCache, "keep", fail),
        "settle": (Claims, "settle", fail_to_write),
    }
    with FakeEndpoint() as endpoint, EmbeddedServer(tmp_path / "server") as server:
        on = {"response_cache": layer == "cache", "record": layer == "record"}
        settings = settings_of(tmp_path, endpoint, redis_url=server.url, workers=0, **on)
        client = Redis.from_url(server.url)
        publisher = InlinePublisher(client, settings)
        monkeypatch.setattr(*broken[layer])
        owners = {"agent:ann": Profile(name="Ann")}
        with TickLoop(run="faults", owners=owners, settings=settings) as loop:
            loop._loop.collector._publish = publisher.publish
            with loop.next_tick():
                loop.request("plan", "agent:ann")
            for _ in range(4):  # repeated hints
                publisher.publish([item.job for item in loop.state.open.values()])
            store = loop.ledger.store
            states = {client.hget(store.job_key(key.decode()), "state") for key in client.smembers(store.key("jobs"))}
        publisher.close()
        client.close()
        assert (states, endpoint.stats().requests) == ({b"staged"}, 1)
