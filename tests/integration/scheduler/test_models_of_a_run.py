"""Runs that ask several models at several endpoints: models, prices, and what the journal records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from structlog.testing import capture_logs

import cogitate.hosting.inline
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory import typed_json
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost
from cogitate.tasks.kind import Moment
from cogitate.workers.llm.client import ModelClient
from tests.live_redis import empty_redis

OWNERS = {"agent:ann": Profile(name="Ann"), "agent:bob": Profile(name="Bob", traits=("hero",))}


def settings_of(tmp_path: Path, near: FakeEndpoint, far: FakeEndpoint, **more: Any) -> Settings:
    return Settings.tuned(
        **{
            "data_dir": tmp_path,
            "llm": "openai",
            "limits": {},
            "limit_usd": 10.0,
            "act_interval": 0,
            "rate_share": 0.0,
            "repair_from": 1440,
            "endpoints": {
                "near": {"base_url": near.url, "api_key": "near-key"},
                "far": {"base_url": far.url, "api_key": "far-key"},
            },
            "models": {
                "small": {"endpoint": "near", "model": "qwen", "input_price": 1_000_000, "output_price": 1_000_000},
                "large": {"endpoint": "far", "model": "gpt", "input_price": 9_000_000, "output_price": 9_000_000},
            },
            "tiers": {"routine": "small", "strong": "large"},
        }
        | more
    )


def lived(settings: Settings, client: Redis, *, resume: bool = False, ticks: int = 12, **more: Any) -> TickLoop:
    """Run twelve ticks, in the first of which every owner plans."""
    with TickLoop(
        run="mixed",
        owners=OWNERS,
        settings=settings,
        ticks=ticks,
        start_minute=500,
        inline=True,
        client=client,
        exist="resume" if resume else "create",
        **more,
    ) as loop:
        for _ in loop:
            pass
    return loop


def lines(client: Redis, last: int) -> list[ReadLine]:
    return list(read_journal(RunStore.open(client, "mixed"), 1, last))


def strong_tier_for_heroes(request: object, moment: Moment) -> Any:
    return "strong" if "hero" in moment.profile.traits else "routine"


def test_each_job_uses_the_model_of_its_tier_at_its_price(tmp_path: Path) -> None:
    client = empty_redis()
    with FakeEndpoint() as near, FakeEndpoint() as far:
        loop = lived(settings_of(tmp_path, near, far), client, tier_of=strong_tier_for_heroes)
        served = {"small": near.stats(), "large": far.stats()}
    found = lines(client, loop.tick)
    decided = {d.key.owner: d.model for line in found for d in line.core.decided if d.key.kind == "plan"}
    assert decided == {"agent:ann": "small", "agent:bob": "large"}
    notes = {note.model: note for line in found for note in line.notes.ended if note.key.kind == "plan"}
    assert {name: note.source for name, note in notes.items()} == {"small": "llm", "large": "llm"}
    for name, price in (("small", 1), ("large", 9)):
        stats = served[name]
        assert stats.requests == 1
        assert notes[name].usage.tokens == stats.prompt_tokens + stats.completion_tokens
        assert notes[name].usage.usd_micros == price * notes[name].usage.tokens
        assert (count := notes[name].count) is not None  # from which the run learns its estimates
        assert count.reported == stats.prompt_tokens < count.estimated
    assert typed_json.decode(RunStore.open(client, "mixed").field("state", "tokens")).keys() == notes.keys()
    assert [m.name for line in found if line.core.facts for m in line.core.facts.models] == ["large", "small"]


def test_the_routine_model_answers_when_the_strong_endpoint_fails(tmp_path: Path) -> None:
    client = empty_redis()
    with FakeEndpoint() as near, FakeEndpoint(faults={"500": 1.0}) as far:
        loop = lived(settings_of(tmp_path, near, far), client, tier_of=strong_tier_for_heroes)
        refused = far.stats().requests
    (ended,) = (
        note
        for line in lines(client, loop.tick)
        for note in line.notes.ended
        if note.key.kind == "plan" and note.key.owner == "agent:bob"
    )
    assert (ended.source, ended.model, ended.attempts, refused) == ("llm", "small", 2, 1)
    assert ended.usage.usd_micros == ended.usage.tokens, "at the price of the model that answered"
    assert audit(client, "mixed") == []


def test_a_resumed_run_keeps_its_prices_and_names_a_missing_endpoint(tmp_path: Path) -> None:
    client = empty_redis()
    with FakeEndpoint() as near, FakeEndpoint() as far:
        settings = settings_of(tmp_path, near, far)
        lived(settings, client, ticks=0)
        cheaper = settings_of(tmp_path, near, far, models={}, tiers={}, api_key="any")
        loop = lived(cheaper, client, resume=True)
        kept = [note for line in lines(client, loop.tick) for note in line.notes.ended if note.key.kind == "plan"]
        assert {note.model for note in kept} == {"large"}  # plans use the strong tier by default
        assert all(note.usage.usd_micros == 9 * note.usage.tokens for note in kept)
        with pytest.raises(ConfigurationError, match="'far', which is no longer configured"):
            lived(Settings(data_dir=tmp_path, llm="openai", limit_usd=1.0, api_key="any"), client, resume=True)


def test_a_worker_without_the_endpoint_spends_nothing_and_warns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Elsewhere(cogitate.hosting.inline.InlinePublisher):
        """A publisher for workers on which only the near endpoint is configured."""

        def __init__(self, client: Redis, settings: Settings) -> None:
            endpoints = {"near": settings.endpoints["near"]}
            super().__init__(client, settings.model_copy(update={"endpoints": endpoints}))

    monkeypatch.setattr(cogitate.hosting.inline, "InlinePublisher", Elsewhere)
    client = empty_redis()
    with FakeEndpoint() as near, FakeEndpoint() as far, capture_logs() as logs:
        loop = lived(settings_of(tmp_path, near, far), client, tier_of=strong_tier_for_heroes)
        assert far.stats().requests == 0
    (note,) = [n for line in lines(client, loop.tick) for n in line.notes.ended if n.key.owner == "agent:bob"]
    assert (note.source, note.failure, note.usage.usd_micros) == ("heuristic", "unknown_endpoint", 0)
    (error,) = [entry for entry in logs if entry["event"] == "job.unknown_endpoint"]
    assert (error["log_level"], error["endpoint"], error["known"]) == ("error", "far", ["default", "near"])
    (warning,) = [entry for entry in logs if entry["event"] == "endpoint.not_on_worker"]
    assert (warning["log_level"], warning["endpoint"]) == ("warning", "far")
    assert all(name in warning["then"] for name in ("COGITATE_LLM", "COGITATE_BASE_URL", "COGITATE_MODEL"))


def test_a_worker_without_the_key_spends_nothing_and_warns_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Elsewhere(cogitate.hosting.inline.InlinePublisher):
        """A publisher for workers on which the key of the far endpoint is not set."""

        def __init__(self, client: Redis, settings: Settings) -> None:
            monkeypatch.delenv("FAR_KEY")
            far = settings.endpoints["far"].model_copy(update={"base_url": None, "api_key": None})
            endpoints = {**settings.endpoints, "far": far}
            super().__init__(client, settings.model_copy(update={"endpoints": endpoints}))

    monkeypatch.setattr(cogitate.hosting.inline, "InlinePublisher", Elsewhere)
    monkeypatch.setenv("FAR_KEY", "far-key")
    client = empty_redis()
    with FakeEndpoint() as near, FakeEndpoint() as far, capture_logs() as logs:
        endpoints = {
            "near": {"base_url": near.url, "api_key": "near-key"},
            "far": {"base_url": far.url, "api_key_variable": "FAR_KEY"},
        }
        settings = settings_of(tmp_path, near, far, endpoints=endpoints)
        loop = lived(settings, client, tier_of=lambda request, moment: "strong")
    notes = [note for line in lines(client, loop.tick) for note in line.notes.ended if note.key.kind == "plan"]
    assert [(note.source, note.failure, note.attempts, note.usage) for note in notes] == [
        ("heuristic", "unknown_endpoint", 1, Cost())
    ] * 2
    (error,) = [entry for entry in logs if entry["event"] == "job.unknown_endpoint"]
    assert (error["log_level"], error["endpoint"]) == ("error", "far")
    assert "FAR_KEY" in error["why"]
    assert [entry["event"] for entry in logs].count("endpoint.not_on_worker") == 1, "two jobs, one warning"


@pytest.mark.parametrize("step", ["get_ready", "ask"])
def test_an_error_while_asking_ends_the_job_and_charges_a_request_that_may_have_been_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def faulty(*_: Any, **__: Any) -> Any:
        raise LookupError("whatever it says")

    client = empty_redis()
    with FakeEndpoint() as near, FakeEndpoint() as far, capture_logs() as logs:
        monkeypatch.setattr(ModelClient, step, faulty)
        loop = lived(settings_of(tmp_path, near, far), client)
    found = lines(client, loop.tick)
    reserved = {note.key: note.reserved for line in found for note in line.notes.opened if note.key.kind == "plan"}
    notes = [note for line in found for note in line.notes.ended if note.key.kind == "plan"]
    assert [(note.source, note.failure, note.attempts) for note in notes] == [("heuristic", "asking_failed", 1)] * 2
    assert {note.key: note.usage for note in notes} == (reserved if step == "ask" else dict.fromkeys(reserved, Cost()))
    told = [entry for entry in logs if entry["event"] == "job.asking_failed"]
    assert [entry["error"] for entry in told] == ["LookupError"] * 2
    assert "whatever it says" not in repr(logs)


def test_api_keys_appear_in_no_stored_value_and_no_log(tmp_path: Path) -> None:
    client = empty_redis()
    with FakeEndpoint() as near, FakeEndpoint() as far, capture_logs() as logs:
        lived(settings_of(tmp_path, near, far), client)
    for name in client.keys("*"):
        assert b"far-key" not in (client.dump(name) or b"")
    assert "far-key" not in repr(logs)


def test_unreported_usage_is_charged_and_counted_as_a_warning(tmp_path: Path) -> None:
    client = empty_redis()
    with FakeEndpoint(faults={"no_usage": 1.0}) as near, FakeEndpoint() as far:
        loop = lived(settings_of(tmp_path, near, far), client, tier_of=strong_tier_for_heroes)
    notes = {note.model: note for line in lines(client, loop.tick) for note in line.notes.ended if note.model}
    assert (notes["small"].source, notes["small"].unreported, notes["small"].count) == ("llm", True, None)
    assert notes["small"].usage.usd_micros == notes["small"].usage.tokens > 0
    assert summarise_run(client, "mixed").warnings["job.usage_unreported"] == 1
