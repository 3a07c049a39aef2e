"""Observations without importance are rated by what the run has learned, and a share of them by a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.effects import Rate, SetCounter
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.rate import FEWEST, LEAST
from tests.live_redis import empty_redis

ANN, BEN = "agent:ann", "agent:ben"
TICKS = 80
WHAT = ("a quarrel", "a wedding", "the weather", "tea", "a theft", "a parcel")
WHERE = ("at the mill", "by the river", "in the square", "at home", "at school")


def seen(tick: int, minute: int) -> Iterator[tuple[str, Entry]]:
    for owner, step in ((ANN, 1), (BEN, 3)):
        what, where = WHAT[tick * step % len(WHAT)], WHERE[tick // 2 % len(WHERE)]
        yield owner, Entry(type="observation", text=f"There was {what} {where}.", minute=minute)


def live(tmp_path: Path, client: Redis, *, until: int = TICKS, resume: bool = False, **settings: Any) -> TickLoop:
    loop = TickLoop(
        run="rated",
        owners={ANN: Profile(name="Ann"), BEN: Profile(name="Ben")},
        ticks=until,
        exist="resume" if resume else "create",
        settings=Settings.tuned(data_dir=tmp_path, **settings),
        inline=True,
        client=client,
        start_minute=600,
    )
    with loop:
        for tick in loop:
            for owner, entry in seen(tick.number, tick.minute):
                loop.observe(owner, entry)
    return loop


def journal(loop: TickLoop) -> list[ReadLine]:
    return list(read_journal(RunStore.open(loop.ledger.client, "rated"), 1, loop.tick))


@pytest.fixture(scope="module")
def model() -> Iterator[dict[str, Any]]:
    """Yield settings of a run that asks a model to rate three entries in ten."""
    with FakeEndpoint() as endpoint:
        yield {
            "llm": "openai",
            "base_url": endpoint.url,
            "api_key": "any",
            "limit_tokens": 10_000_000,
            "rate_share": 0.3,
            "limits": {},
        }


def test_without_a_model_every_entry_is_rated_at_once(tmp_path: Path) -> None:
    client = empty_redis()
    loop = live(tmp_path, client)
    for stream in loop.state.streams.values():
        observed = [e for e in stream.entries.values() if e.type == "observation"]
        assert len(observed) >= 10
        assert all(1 <= e.importance <= 10 and e.rated == e.tick for e in observed)
    assert not any(d.key.kind == "rate" for line in journal(loop) for d in line.core.decided)
    assert replay(client, "rated", empty_redis()).digest == loop.digest
    assert audit(client, "rated") == []


def test_a_model_rates_a_share_of_entries_in_batches(tmp_path: Path, model: dict[str, Any]) -> None:
    client = empty_redis()
    loop = live(tmp_path, client, **model)
    lines = journal(loop)
    paid = [
        (ended.key.owner, effect)
        for line in lines
        for ended in line.core.ended
        if ended.end == "applied"
        for effect in ended.effects
        if isinstance(effect, Rate) and effect.paid
    ]
    asked = sum(len(effect.numbers) for _, effect in paid)
    at_once = sum(len(line.core.rated) for line in lines)
    assert paid
    assert asked >= FEWEST * len(paid), "in batches"
    assert 0.1 < asked / (asked + at_once) < 0.6
    assert audit(client, "rated") == []
    assert replay(client, "rated", empty_redis()).digest == loop.digest


def test_a_models_rating_of_a_text_is_reused_for_every_owner(tmp_path: Path, model: dict[str, Any]) -> None:
    loop = live(tmp_path, empty_redis(), coalesce=False, **{**model, "rate_share": 1.0})
    paid: dict[str, int] = {}  # text -> the newest rating that was paid for
    reused = 0
    for line in journal(loop):
        for ended in line.core.ended:
            for effect in ended.effects:
                if isinstance(effect, Rate) and effect.paid:
                    entries = loop.state.streams[effect.owner].entries
                    paid |= {entries[n].text: r for n, r in zip(effect.numbers, effect.ratings, strict=True)}
        for rated in line.core.rated:
            text = loop.state.streams[rated.owner].entries[rated.number].text
            assert text in paid, "with a share of 1, only a text that was rated before needs no call"
            reused += 1
    assert reused > 20


@pytest.mark.parametrize("stopped", [3, 21, 55])
def test_a_resumed_run_rates_like_an_uninterrupted_one(tmp_path: Path, model: dict[str, Any], stopped: int) -> None:
    whole = live(tmp_path, empty_redis(), **model)
    client = empty_redis()
    live(tmp_path, client, until=stopped, **model)
    resumed = live(tmp_path, client, resume=True, **model)
    assert resumed.digest == whole.digest


def test_an_unreachable_model_leaves_predicted_ratings(tmp_path: Path, model: dict[str, Any]) -> None:
    loop = live(tmp_path, empty_redis(), **{**model, "base_url": "http://127.0.0.1:9/v1", "job_deadline": 0.3})
    effects = [e for line in journal(loop) for ended in line.core.ended for e in ended.effects if isinstance(e, Rate)]
    assert effects
    assert not any(effect.paid for effect in effects)
    assert all(1 <= rating <= 10 for effect in effects for rating in effect.ratings)


def test_a_batch_that_no_model_can_rate_is_halved_and_finally_predicted(tmp_path: Path) -> None:
    client = empty_redis()
    with FakeEndpoint(faults={"wrong_types": 1.0}) as endpoint:
        loop = live(
            tmp_path,
            client,
            llm="openai",
            base_url=endpoint.url,
            api_key="any",
            limit_tokens=10_000_000,
            rate_share=1.0,
            limits={},
            coalesce=False,
        )
    ended = [end for line in journal(loop) for end in line.core.ended if end.key.kind == "rate"]
    assert {end.reason for end in ended} == {"failed"}
    halved = [effect.value for end in ended for effect in end.effects if isinstance(effect, SetCounter)]
    assert halved, "some batch must have been large enough to halve"
    assert min(halved) >= LEAST
    assert any(isinstance(effect, Rate) and not effect.paid for end in ended for effect in end.effects)
    assert replay(client, "rated", empty_redis()).digest == loop.digest
    assert audit(client, "rated") == []
