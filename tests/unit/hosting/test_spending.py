"""`loop.spent`: what the accounts say, and where each limit stands."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from redis.exceptions import ConnectionError as NoConnection

from cogitate import Profile, TickLoop
from cogitate.errors import LedgerUnavailable
from cogitate.scheduler.budget.budget_lines import budget_lines
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.tasks.job import Cost

Loops = Callable[..., TickLoop]
LIMITS = {"run.run.tokens": 100_000, "day.run.calls": 40, "day.owner:*.jobs": 9, "tick.run.jobs": 5}


def test_spent_shows_the_limits_and_totals_that_readers_see(cogitate_loop: Loops) -> None:
    settings = PinnedSettings(limits=LIMITS)
    loop = cogitate_loop(owners={"agent:ada": Profile(name="Ada")}, ticks=400, settings=settings)
    named = {("run:0", "run", "tokens"), ("day:0", "run", "calls"), ("tick:0", "run", "jobs")}
    assert {(line.window, line.scope, line.unit) for line in loop.spent.limits} >= named, "before the first tick too"
    for tick in loop:
        if tick.number == 380:
            break
    loop.close()
    pipeline = loop.ledger.client.pipeline()
    for name, value in (("calls", 2), ("tokens", 900), ("usd_micros", 1_500_000)):
        pipeline.hincrby(loop.ledger.store.window_key("run:0"), f"run|{name}|spent", value)
    pipeline.execute()
    spent = loop.spent
    assert (spent.calls, spent.tokens, spent.usd_micros, spent.usd) == (2, 900, 1_500_000, 1.5)
    assert Cost(*spent[:3]) == summarise_run(loop.ledger.client, "test").spent
    seen = {line for line in budget_lines(loop.ledger.store, loop.state.view.table.limit_of) if line.limit is not None}
    ours = {line for line in spent.limits if line.reserved or line.spent}
    assert ours == {line for line in seen if line.window in ("run:0", "day:0", "tick:380")}
    assert {(line.scope, line.unit) for line in ours} >= {("owner:agent:ada", "jobs"), ("run", "tokens")}


def test_without_redis_spent_raises_ledger_unavailable(cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> None:
        raise NoConnection("Connection refused")

    loop = cogitate_loop(owners={}, ticks=2)
    with monkeypatch.context() as away:
        away.setattr(type(loop.ledger.store), "window", gone)
        with pytest.raises(LedgerUnavailable, match="Redis does not answer: Connection refused"):
            _ = loop.spent


def test_the_bill_is_read_after_the_end_of_the_loop(cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> None:
        raise NoConnection("the loop's server has ended with it")

    with cogitate_loop(owners={"agent:ada": Profile(name="Ada")}, ticks=2) as loop:
        for _ in loop:
            pass
        inside = loop.spent
    with monkeypatch.context() as away:
        away.setattr(type(loop.ledger.store), "window", gone)
        assert loop.spent == inside
