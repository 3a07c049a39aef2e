"""Every job that a host requests ends before its eyes, once, under the id that the request returned."""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog
from fakeredis import FakeRedis
from structlog.testing import capture_logs

from cogitate import JobEnd, Profile, TickLoop
from cogitate.effects import SetCounter
from cogitate.kinds import register
from cogitate.memory.effects import Archive
from cogitate.scheduler.config.controls import SetMode
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.journal.ends import ends_of
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.steering.operators import ask
from tests.unit.tasks.own_kind_case import Own

Loops = Callable[..., TickLoop]
ADA, BEN = "agent:ada", "agent:ben"
OWNERS = {ADA: Profile(name="Ada"), BEN: Profile(name="Ben")}


def never(moment: Any) -> tuple[()]:
    return ()


def hums(**more: Any) -> None:
    register(Own(**({"asks": never, "wakes": lambda moment: None} | more)))


def ends(loop: TickLoop, turn: Callable[[TickLoop, int], object] = lambda loop, tick: None) -> dict[str, JobEnd]:
    """Pass all ticks, and return the ends by id."""
    found: dict[str, JobEnd] = {}
    for tick in loop:
        for end in tick.ended:
            assert end.id not in found, "a job ends once"
            found[end.id] = end
        turn(loop, tick.number)
    return found


def once(at: int, do: Callable[[TickLoop], object]) -> Callable[[TickLoop, int], object]:
    return lambda loop, tick: do(loop) if tick == at else None


def test_a_request_returns_the_id_under_which_the_job_ends(cogitate_loop: Loops) -> None:
    hums()
    asked: list[str] = []
    found = ends(cogitate_loop(owners=OWNERS, ticks=9), once(2, lambda loop: asked.append(loop.request("hum", ADA))))
    assert asked == ["test/2/hum/agent:ada/0/0"]
    (end,) = found.values()
    assert end[:-1] == (asked[0], "hum", ADA, "applied", "heuristic", "none", "", "")
    assert found == {asked[0]: end}
    assert [(change.owner, change.entry and change.entry.text) for change in end.applied] == [(ADA, "I hummed.")]


@pytest.mark.parametrize(
    ("made", "end", "why"),
    [
        (lambda case: 5, "refused", "): int is not a tuple of effects"),
        (lambda case: case.nothing, "refused", "kind 'hum': heuristic raised AttributeError in test_ends_of_jobs.py"),
        (lambda case: (Archive(ADA, (77,)),), "stale", "77"),
        (lambda case: (), "applied", ""),
        (lambda case: SetCounter(ADA, "tunes", 1), "applied", ""),
    ],
)
def test_a_job_without_effects_has_a_reason(cogitate_loop: Loops, made: Any, end: str, why: str) -> None:
    hums(makes=made)
    (found,) = ends(cogitate_loop(owners=OWNERS, ticks=9), once(2, lambda loop: loop.request("hum", ADA))).values()
    assert found.end == end
    assert why in found.why


def test_dropped_and_deferred_jobs_name_the_limit(cogitate_loop: Loops) -> None:
    def turn(loop: TickLoop, tick: int) -> None:
        if tick == 2:
            loop.request("hum", ADA)
            loop.request("sing", ADA)

    hums(on_denied="drop")
    hums(name="sing", order=91, on_denied="defer")
    limits = {"run.kind:hum.jobs": 0, "run.kind:sing.jobs": 0}
    found = ends(cogitate_loop(owners=OWNERS, ticks=40, settings=PinnedSettings(limits=limits)), turn)
    hum, *songs = found.values()
    assert (hum.end, hum.reason, hum.why) == (
        "dropped",
        "denied",
        "limit run.kind:hum.jobs has no room, unless it is raised",
    )
    assert [one.end for one in songs] == ["deferred", "deferred", "applied"], "at last by its heuristic"
    assert [one.next for one in songs] == [songs[1].id, songs[2].id, ""]


@pytest.mark.parametrize(
    ("limit", "named"),
    [("day.owner:*.jobs", [f"day.owner:{ADA}.jobs"]), ("run.run.jobs", ["run.run.jobs"]), ("tick.run.jobs", [])],
)
def test_the_log_names_once_the_limit_that_drops_jobs_of_a_kind(
    cogitate_loop: Loops, limit: str, named: list[str]
) -> None:
    hums(on_denied="drop")
    loop = cogitate_loop(owners=OWNERS, ticks=9, settings=PinnedSettings(limits={limit: 0}))
    with capture_logs() as logs:
        found = ends(loop, lambda loop, tick: loop.request("hum", ADA))
    assert {one.end for one in found.values()} == {"dropped"}
    assert [(one["kind"], one["owner"], one["why"]) for one in logs if one["event"] == "job.dropped"] == [
        ("hum", ADA, limit) for limit in named
    ], "a limit of a tick is free again with the next one"


@pytest.fixture
def at_info() -> Iterator[None]:
    """A host that has its logs show events of level info."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.INFO))
    yield
    structlog.reset_defaults()


@pytest.mark.usefixtures("at_info")
def test_each_tick_logs_whose_jobs_its_limit_drops(cogitate_loop: Loops) -> None:
    def turn(loop: TickLoop, tick: int) -> None:
        if tick in (2, 4):
            for _ in range(12):
                loop.request("hum", ADA)

    hums(on_denied="drop")
    loop = cogitate_loop(owners=OWNERS, ticks=9, settings=PinnedSettings(limits={"tick.kind:hum.jobs": 1}))
    with capture_logs() as logs:
        ends(loop, turn)
    told = [one for one in logs if one["event"] == "tick.limit_reached"]
    assert [(one["tick"], one["limit"], one["kind"], one["dropped"], one["owners"]) for one in told] == [
        (tick, "tick.kind:hum.jobs", "hum", 11, [ADA] * 10) for tick in (2, 4)
    ]
    assert {one["log_level"] for one in told} == {"info"}


@pytest.mark.parametrize(
    ("limit", "why"),
    [
        ("run.run.jobs", "limit run.run.jobs has no room, unless it is raised"),
        ("day.kind:hum.jobs", "limit day.kind:hum.jobs has no room in day 1; free again on day 2 at 00:00"),
        ("tick.owner:*.jobs", f"limit tick.owner:{ADA}.jobs has no room in tick 2; free again at tick 3"),
    ],
)
def test_a_heuristic_in_the_place_of_a_denied_job_is_told_with_the_limit(
    cogitate_loop: Loops, limit: str, why: str
) -> None:
    hums()
    client, settings = FakeRedis(), PinnedSettings(limits={limit: 0})
    loop = cogitate_loop(owners=OWNERS, ticks=9, client=client, settings=settings)
    (end,) = ends(loop, once(2, lambda loop: loop.request("hum", ADA))).values()
    assert (end.end, end.source, end.reason, end.why) == ("applied", "heuristic", "denied", why)
    again = [one for line in read_journal(loop.ledger.store, 1, 9) for one in ends_of("test", line)]
    assert again == [end], "with what it changed"


def test_a_resumed_host_learns_which_limit_denied_an_open_job(cogitate_loop: Loops) -> None:
    hums(latency=5)
    client, settings = FakeRedis(), PinnedSettings(limits={"run.run.jobs": 0})
    loop = cogitate_loop(owners=OWNERS, ticks=9, client=client, settings=settings)
    for _ in loop:
        loop.request("hum", ADA)
        break
    loop.close()
    (end,) = ends(cogitate_loop(client=client, exist="resume", ticks=9)).values()
    assert (end.reason, end.why) == ("denied", "limit run.run.jobs has no room, unless it is raised")


def test_an_owner_leaves_with_its_jobs_and_new_requests(cogitate_loop: Loops) -> None:
    def turn(loop: TickLoop, tick: int) -> None:
        if tick in (2, 3):
            loop.request("hum", ADA)
        if tick == 3:
            loop.leave(ADA)

    hums(latency=5)
    found = ends(cogitate_loop(owners=OWNERS, ticks=9), turn)
    assert {key: (one.end, one.why) for key, one in found.items()} == {
        "test/2/hum/agent:ada/0/0": ("cancelled", "its owner has left"),
        "test/3/hum/agent:ada/0/0": ("dropped", "left"),
    }


def lived(loop: TickLoop, seed: int, told: dict[str, JobEnd], asked: list[str]) -> None:
    """Request at random, beside a cadence that asks too."""
    for tick in loop:
        chance = random.Random(f"{seed} {tick.number}")
        for end in tick.ended:
            assert end.id not in told
            told[end.id] = end
        for _ in range(chance.choice((0, 0, 1, 3))):
            owner, kind = chance.choice((ADA, BEN)), chance.choice(("hum", "sing"))
            asked.append(loop.request(kind, owner, priority=chance.randrange(3), params={"n": chance.randrange(9)}))


@pytest.mark.parametrize("seed", range(4))
def test_every_requested_job_ends_once(cogitate_loop: Loops, seed: int) -> None:
    hums()
    hums(name="sing", order=91, on_denied="defer")
    client, settings = FakeRedis(), PinnedSettings(limits={"tick.kind:sing.jobs": 1})
    loop = cogitate_loop(owners=OWNERS, ticks=60, client=client, settings=settings)
    told: dict[str, JobEnd] = {}
    asked: list[str] = []
    lived(loop, seed, told, asked)
    assert len(set(asked)) == len(asked)
    by_id = {end.id: end for line in read_journal(loop.ledger.store, 1, 60) for end in ends_of("test", line)}
    assert set(asked) <= by_id.keys() | {item.job.id for item in loop.state.open.values()} | loop_deferred(loop)
    assert told.items() <= by_id.items()
    assert all(end.end in ("applied", "deferred") for end in told.values())
    assert audit(client, "test") == []


def loop_deferred(loop: TickLoop) -> set[str]:
    """Ids that were requested at the last tick."""
    return {f"test/60/{one.request.kind}/{one.request.owner}/0/0" for one in loop.state.deferred}


@pytest.mark.parametrize("world", ["repeat", "present"])
def test_a_resumed_host_learns_of_ends_after_its_last_turn(cogitate_loop: Loops, world: str) -> None:
    hums(on_denied="drop")
    client, settings = FakeRedis(), PinnedSettings(limits={"run.kind:hum.jobs": 0})
    loop = cogitate_loop(owners=OWNERS, ticks=9, client=client, settings=settings)
    for tick in loop:
        if tick.number == 3:
            asked = loop.request("hum", ADA)
            break
    loop.close()
    resumed = cogitate_loop(client=client, exist="resume", world=world, ticks=9)
    told = Counter(end.id for tick in resumed for end in tick.ended)
    assert told == {asked: 1}


def test_a_cancelling_operator_is_named_in_the_journal(cogitate_loop: Loops) -> None:
    hums(latency=5)
    loop = cogitate_loop(owners=OWNERS, ticks=9)
    for tick in loop:
        if tick.number == 2:
            loop.request("hum", ADA)
            ask(loop.ledger.client, "test", [SetMode("cancelled")], wait=0)
    lines = list(read_journal(loop.ledger.store, 1, int(loop.tick)))
    assert [one.end for line in lines for one in ends_of("test", line)] == ["cancelled"]
    assert [one.why for line in lines for one in ends_of("test", line)] == ["an operator cancelled the run"]
    assert loop.ended["hum", "none", "cancelled"] == 1
