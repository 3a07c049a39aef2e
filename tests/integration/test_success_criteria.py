"""Spec 3's success criteria over three days of a town: without a model, with one, and with one that dies at noon."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fakeredis import FakeRedis

from memory.clock import DAY
from memory.conversations import conversations
from ops.drive import drive
from ops.fake_llm import FakeEndpoint
from ops.host import TickLoop
from scheduler.audit import audit
from scheduler.history import read_journal
from scheduler.loop import Tick
from scheduler.settings import Settings
from scheduler.summary import prefix_of
from simulation.town import Town
from tasks.act import Act
from tasks.kind import Prompt

DAYS, LONG = 3, 10  # minutes a tick
NOON = DAY + 720  # of the second day


@pytest.mark.parametrize("model", ["none", "alive", "dies at noon"])
def test_three_days_of_a_town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    prompts: list[Prompt] = []
    ask = Act.prompt

    def recorded(self: Act, *args: Any, **more: Any) -> Prompt:
        prompts.append(ask(self, *args, **more))
        return prompts[-1]

    monkeypatch.setattr(Act, "prompt", recorded)
    world, client, served = Town(5, seed=3, minutes_per_tick=LONG), FakeRedis(), ExitStack()
    chosen: dict[str, Any] = {"act_interval": 6, "latency": dict.fromkeys(("plan", "reflect", "act", "summarise"), 1)}
    with served:
        if model != "none":
            url = served.enter_context(FakeEndpoint()).url
            chosen |= {"llm": "openai", "base_url": url, "api_key": "any", "limit_tokens": 50_000_000, "claim_cap": 1}
        settings = Settings(data_dir=tmp_path, minutes_per_tick=LONG, limits={}, job_deadline=0.5, **chosen)
        with TickLoop(
            run="town", owners=world.owners(), settings=settings, locations=world.locations, brief=world.brief,
            ticks=DAYS * world.ticks_per_day, inline=True, client=client,
        ) as loop:  # fmt: skip

            def check(tick: Tick) -> None:
                if model == "dies at noon" and tick.minute == NOON:
                    served.close()
                for owner, stream in loop.mind.streams.items():
                    assert stream.observed() <= 200
                    assert stream.count("reflection") <= 50
                    oldest = min((talk.oldest for talk in conversations(owner, stream.live())), default=tick.minute)
                    assert tick.minute - oldest <= 48 * 60

            drive(loop, world, on_tick=check)
    for stream in loop.mind.streams.values():
        plans = [e for e in stream.entries.values() if e.type == "plan"]
        assert [plan.minute // DAY for plan in plans] == [0, 1, 2]
        assert all(360 <= plan.minute % DAY < 360 + 3 * LONG and 5 <= len(plan.items) <= 8 for plan in plans)
        reflected = {e.minute for e in stream.entries.values() if e.type == "reflection"}
        assert DAYS <= len(reflected) <= 2 * DAYS
    sources: Counter[tuple[str, str]] = Counter()
    for line in read_journal(client, prefix_of(client, "town"), 1, loop.tick):
        when = "before" if line.core.minute <= NOON else "after"
        sources.update((when, note.source) for note in line.notes.ended if note.key.kind in ("plan", "reflect", "act"))
    assert (sources["before", "llm"] > 0, sources["after", "llm"] > 0) == (model != "none", model == "alive")
    assert sources["after", "heuristic"] > 0 or model == "alive"
    assert model == "none" or any("Present plan item: " in prompt.user for prompt in prompts)
    assert audit(client, "town") == []
