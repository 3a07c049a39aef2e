"""What the page Budgets reads: present limits, also before anything is spent, in dollars."""

from __future__ import annotations

from collections.abc import Callable

from fakeredis import FakeRedis

from cogitate import Profile, TickLoop
from cogitate.ops.flower.run_rows import budget_reading
from cogitate.scheduler.config.settings import PinnedSettings

LIMITS = {
    "day.kind:reflect.usd_micros": 2_500_000,
    "day.run.jobs": 90,
    "day.owner:agent:ada.jobs": 40,
    "day.owner:*.tokens": 9_000,
    "tick.run.calls": 5,
}


def test_todays_limits_are_listed_before_anything_is_spent(cogitate_loop: Callable[..., TickLoop]) -> None:
    client = FakeRedis()
    loop = cogitate_loop(
        owners={"agent:ada": Profile(name="Ada Smith")},
        ticks=300,
        start_minute=300,
        settings=PinnedSettings(limits=LIMITS, seconds_per_tick=300),
        client=client,
    )
    for _ in loop:
        pass
    loop.close()
    found = budget_reading(client, loop.ledger.run)
    assert found["minute"] // 1440 == 1, "the second day"
    listed = {f"{line['window']} {line['scope']} {line['unit']}": line for line in found["windows"]}
    unused = {f"{line['window']} {line['scope']} {line['unit']}": line for line in found["unused"]}
    assert listed.keys() & unused.keys() == set()
    assert "day:0 run jobs" in listed
    assert "day:1 run jobs" in listed.keys() | unused.keys()
    money = unused["day:1 kind:reflect usd_micros"]
    assert (money["limit"], money["spent"], money["forecast"]["outlook"]) == (2_500_000, 0, "lasts")
    assert money["limit_words"].startswith("$2.0000 + $0.5000 for retries")
    assert not [name for name in unused if name.startswith("tick:") or "*" in name]
    assert {line["window"] for line in found["owners"]["fullest"]} <= {"day:1", "run:0"}, "a past day's are over"
    assert found["limits"]["day.kind:reflect.usd_micros"] == money["limit_words"]
