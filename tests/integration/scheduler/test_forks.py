"""A fork repeats its source without calls, equals it until something changes, and is otherwise an ordinary run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from redis import Redis

from cogitate.hosting.opening import Exist
from cogitate.hosting.redis_in_memory import redis_in_memory
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.ops.commands.compare import comparison_lines
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.world_choice import WorldChoice
from cogitate.ops.world_driver import drive
from cogitate.scheduler.config.controls import SetLimit
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.comparison import compare_runs
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import RunSummary, summarise_run
from cogitate.scheduler.journal.changes import Fork
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.origin import find_origin, origin_of
from cogitate.scheduler.journal.run_totals import spending
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.errors import Fenced, LedgerError
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.steering.operators import ask
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.simulation.town.town import Town
from cogitate.workers.processes.readiness import Readiness
from tests.integration.command import summary, typed
from tests.integration.scheduler.test_trimming import live as live_for_days
from tests.integration.scheduler.test_trimming import settings_of
from tests.live_redis import empty_redis

TICKS, NOON = 600, 360


@pytest.fixture(scope="module")
def endpoint() -> Iterator[FakeEndpoint]:
    """Start a stand-in for a model that sometimes fails, so that some outcomes are heuristics."""
    with FakeEndpoint(faults={"429": 0.1, "500": 0.1, "broken_json": 0.1}) as found:
        yield found


class Visited(Town):
    """A town in which one agent sees a stranger at the tick `at`, or never where it is 0."""

    def __init__(self, at: int, agents: int = 5, start_minute: int = 0) -> None:
        super().__init__(agents, 0, 2, start_minute)
        self._at = at

    def step(self, tick: int, minute: int) -> list[tuple[str, Entry]]:
        seen = super().step(tick, minute)
        if tick != self._at:
            return seen
        owner = min(owner for owner in self.owners() if owner.startswith("agent:"))
        return [*seen, (owner, Entry(type="observation", text="A stranger asks about the harbour.", minute=minute))]


def opened(town: Visited, endpoint: FakeEndpoint, folder: Path, given: dict[str, Any], **arguments: Any) -> TickLoop:
    """Open a loop for a town, with the given settings in addition to those common to all these towns."""
    settings = Settings(
        **{"seconds_per_tick": 120, "llm": "openai", "base_url": endpoint.url, "api_key": "none", "data_dir": folder},
        limits={"run.tokens": 10_000_000},
        **given,
    )
    return TickLoop(
        owners=town.owners(),
        settings=settings,
        locations=town.locations,
        brief=town.brief,
        start_minute=town.start_minute,
        **arguments,
    )


def hosted(
    client: Redis,
    endpoint: FakeEndpoint,
    folder: Path,
    run: str,
    *,
    fork: Fork | None = None,
    visit: int = 0,
    ticks: int = TICKS,
    exist: Exist = "create",
    on_tick: Callable[[Tick], None] | None = None,
    tick_rate: float | None = None,
    take_over: bool = False,
) -> RunSummary:
    """Host a town of five to its end, and check its ledger and its journal."""
    town = Visited(visit)
    with opened(
        town,
        endpoint,
        folder,
        {"tick_rate": tick_rate},
        run=run,
        ticks=ticks,
        inline=True,
        client=client,
        fork=fork,
        exist=exist,
        take_over=take_over,
    ) as loop:
        drive(loop, town, on_tick=on_tick)
    assert audit(client, run) == []
    replay(client, run, redis_in_memory())
    return summarise_run(client, run)


def digests(client: Redis, run: str) -> list[str]:
    """Return a run's digest after each tick."""
    store = RunStore.open(client, run)
    return [line.digest for line in read_journal(store, 1, store.tick())]


@pytest.fixture
def source(client: Redis, endpoint: FakeEndpoint, tmp_path: Path) -> RunSummary:
    found = hosted(client, endpoint, tmp_path, "source")
    assert found.spent.calls > 20
    return found


def test_an_unchanged_fork_makes_no_call_and_equals_its_source(
    client: Redis, endpoint: FakeEndpoint, tmp_path: Path, source: RunSummary
) -> None:
    fork = hosted(client, endpoint, tmp_path, "fork", fork=Fork(run="source", tick=NOON))
    assert digests(client, "fork") == digests(client, "source")
    assert fork.spent.calls == fork.spent.tokens == 0
    origin = origin_of(RunStore.open(client, "fork"))
    assert origin is not None
    assert (origin.run, origin.tick, origin.digest) == ("source", NOON, digests(client, "source")[NOON - 1])
    delete_run(client, "source", force=True)
    again = hosted(client, endpoint, tmp_path, "again", fork=Fork(run="fork", tick=NOON + 60))
    assert (again.digest, again.spent.calls) == (source.digest, 0)


class HourOfJobs(NamedTuple):
    """The jobs of an hour that were to be answered by a model."""

    jobs: int
    calls: int  # the calls spent on them


def test_a_changed_observation_costs_calls_only_for_the_jobs_that_it_affects(tmp_path: Path) -> None:
    noon, hour = 60, 30  # ticks of two minutes, from ten o'clock on

    def live(run: str, endpoint: FakeEndpoint, visit: int = 0, fork: Fork | None = None) -> HourOfJobs:
        town = Visited(visit, agents=25, start_minute=600)
        given = {"workers": 1, "act_interval": 10}
        with opened(town, endpoint, tmp_path, given, run=run, ticks=noon + hour, fork=fork) as loop:
            drive(loop, town)
            lines = [*read_journal(loop.ledger.store, noon + 1, noon + hour)]
        decided = [one for line in lines for one in line.core.decided if one.model]
        spent = [one for line in lines for one in spending(line.notes) if one.key.tick > noon]
        return HourOfJobs(len(decided), sum(one.cost.calls for one in spent))

    with FakeEndpoint() as endpoint:
        source = live("source", endpoint)
        same = live("same", endpoint, fork=Fork(run="source", tick=noon))
        changed = live("changed", endpoint, visit=noon + 1, fork=Fork(run="source", tick=noon))
    assert source.calls > 20
    assert same.calls == 0
    assert 0 < changed.calls <= 0.15 * changed.jobs


@pytest.mark.parametrize("how", ["observation", "limit"])
def test_a_changed_fork_diverges_at_the_change_and_pays_only_for_later_calls(
    client: Redis, endpoint: FakeEndpoint, tmp_path: Path, source: RunSummary, how: str
) -> None:
    seen = how == "observation"
    changes = () if seen else (SetLimit("day.run.tokens", 0),)
    fork = hosted(
        client,
        endpoint,
        tmp_path,
        "fork",
        fork=Fork(run="source", tick=NOON, changes=changes),
        visit=NOON + 1 if seen else 0,
    )
    mine, theirs = digests(client, "fork"), digests(client, "source")
    assert mine[:NOON] == theirs[:NOON]
    assert mine[NOON] != theirs[NOON]
    assert fork.spent.calls < source.spent.calls
    assert (fork.spent.calls > 0) == seen
    found = compare_runs(client, "source", "fork", tmp_path)
    assert [*found.origins] == ["b"]
    assert found.difference is not None
    assert (found.difference.tick, found.difference.cause) == (NOON + 1, "observation" if seen else "operator")
    assert f"fork is a fork of source at tick {NOON}" in comparison_lines(found)


def test_the_difference_of_two_forks_is_the_first_change_in_either(
    client: Redis, endpoint: FakeEndpoint, tmp_path: Path
) -> None:
    hosted(client, endpoint, tmp_path, "source", ticks=240)
    hosted(client, endpoint, tmp_path, "early", ticks=240, fork=Fork(run="source", tick=200), visit=215)
    hosted(
        client,
        endpoint,
        tmp_path,
        "poor",
        ticks=240,
        fork=Fork(run="source", tick=220, changes=(SetLimit("day.run.jobs", 0),)),
    )
    found = compare_runs(client, "early", "poor", tmp_path)
    assert {side: (origin.run, origin.tick) for side, origin in found.origins.items()} == {
        "a": ("source", 200),
        "b": ("source", 220),
    }
    assert found.difference is not None
    assert (found.difference.tick, found.difference.cause) == (215, "observation")
    assert "harbour" in found.difference.a


def test_a_fork_fails_if_its_host_differs_before_the_fork_tick(
    client: Redis, endpoint: FakeEndpoint, tmp_path: Path, source: RunSummary
) -> None:
    with pytest.raises(LedgerError, match="tick 100: this host acted differently from run 'source'"):
        hosted(client, endpoint, tmp_path, "fork", fork=Fork(run="source", tick=NOON), visit=100)


class Killed(Exception):
    """Ends a host in mid-tick, as a crash does."""


def killed_at(tick: int) -> Callable[[Tick], None]:
    def kill(now: Tick) -> None:
        if now.number == tick:
            raise Killed

    return kill


@pytest.mark.parametrize("tick", [120, 121, 200, 301])
def test_a_fork_whose_host_is_killed_resumes_and_equals_its_source(
    client: Redis, endpoint: FakeEndpoint, tmp_path: Path, tick: int
) -> None:
    def limit(now: Tick) -> None:
        if now.number == 120:
            ask(client, "source", [SetLimit("day.run.jobs", 100)], wait=0)

    source = hosted(client, endpoint, tmp_path, "source", ticks=300, on_tick=limit)
    fork = Fork(run="source", tick=210)
    with pytest.raises(Killed):
        hosted(client, endpoint, tmp_path, "fork", ticks=320, fork=fork, on_tick=killed_at(tick))
    hosted(client, endpoint, tmp_path, "fork", ticks=320, exist="resume")
    assert digests(client, "fork")[:300] == digests(client, "source")
    assert source.spent.calls > 0
    repeated = read_journal(RunStore.open(client, "fork"), 1, 300)
    assert sum(spent.cost.calls for line in repeated for spent in spending(line.notes)) == 0


def test_a_fork_that_cannot_be_made_does_not_replace_its_run(
    client: Redis, endpoint: FakeEndpoint, tmp_path: Path
) -> None:
    hosted(client, endpoint, tmp_path, "kept", ticks=20)
    for fork, error in ((Fork(run="kept", tick=10), ConfigurationError), (Fork(run="gone", tick=10), LedgerError)):
        with pytest.raises(error):
            hosted(client, endpoint, tmp_path, "kept", ticks=20, exist="replace", fork=fork)
    assert len(digests(client, "kept")) == 20


def test_a_fork_of_a_paced_run_equals_its_source(client: Redis, endpoint: FakeEndpoint, tmp_path: Path) -> None:
    source = hosted(client, endpoint, tmp_path, "source", ticks=240, tick_rate=100)
    assert source.spent.calls > 0
    with pytest.raises(ConfigurationError, match="give its fork tick_rate=100"):
        hosted(client, endpoint, tmp_path, "fork", ticks=240, fork=Fork(run="source", tick=200))
    fork = hosted(client, endpoint, tmp_path, "fork", ticks=240, fork=Fork(run="source", tick=200), tick_rate=100)
    assert (fork.digest, fork.spent.calls) == (source.digest, 0)


def test_a_paced_fork_waits_for_workers_only_after_the_repeated_ticks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[tuple[int, bool]] = []

    def lived(run: str, ticks: int, fork: Fork | None = None) -> None:
        owners = {"agent:ada": Profile(name="Ada")}
        settings = Settings(data_dir=tmp_path, workers=1, tick_rate=200)
        with TickLoop(run=run, owners=owners, settings=settings, ticks=ticks, fork=fork) as loop:
            wait = Readiness.wait

            def seen(ready: Readiness, stopping: Callable[[], bool], *, for_workers: bool) -> None:
                waits.append((loop.tick, for_workers))
                wait(ready, stopping, for_workers=for_workers)

            monkeypatch.setattr(Readiness, "wait", seen)
            for _ in loop:
                pass
            monkeypatch.setattr(Readiness, "wait", wait)

    lived("source", 40)
    assert waits == [(0, True)]
    waits.clear()
    lived("same", 40, Fork(run="source", tick=20))
    assert waits == [(0, False)]
    waits.clear()
    lived("longer", 60, Fork(run="source", tick=20))
    assert waits == [(0, False), (40, True)]


def test_a_trimmed_source_is_refused(tmp_path: Path) -> None:
    lived = live_for_days(empty_redis(), settings_of(tmp_path, 1))
    with pytest.raises(LedgerError, match="run with journal_keep unset"):
        find_origin(lived.store, "town", 60)


def test_a_fork_repeats_a_source_with_checkpoints_in_its_journal(tmp_path: Path) -> None:
    client = empty_redis()
    settings = settings_of(tmp_path, 30)
    lived = live_for_days(client, settings)
    assert lived.store.fields("journal_checkpoints"), "the journal has no checkpoints"
    last = lived.store.tick()
    world = WorldChoice(agents=2, seed=1, recorded=None, minutes_per_tick=60).open()
    with TickLoop(
        run="fork",
        owners=world.owners(),
        settings=settings,
        locations=world.locations,
        brief=world.brief,
        ticks=last,
        inline=True,
        client=client,
        fork=Fork(run="town", tick=last),
    ) as loop:
        drive(loop, world)
    assert loop.digest == lived.digest


def test_a_fork_taken_over_while_it_repeats_its_source_is_fenced(
    client: Redis, endpoint: FakeEndpoint, tmp_path: Path
) -> None:
    source = hosted(client, endpoint, tmp_path, "source", ticks=240)

    def taken(now: Tick) -> None:
        if now.number == 120:
            hosted(client, endpoint, tmp_path, "fork", ticks=240, exist="resume", take_over=True)

    with pytest.raises(Fenced):
        hosted(client, endpoint, tmp_path, "fork", ticks=240, fork=Fork(run="source", tick=200), on_tick=taken)
    assert digests(client, "fork") == digests(client, "source")
    assert summarise_run(client, "fork").spent.calls == 0 < source.spent.calls


def test_a_tick_that_the_source_has_not_reached_is_refused(
    client: Redis, endpoint: FakeEndpoint, tmp_path: Path, source: RunSummary
) -> None:
    with pytest.raises(LedgerError, match="give a tick from 1 to 600"):
        hosted(client, endpoint, tmp_path, "fork", fork=Fork(run="source", tick=TICKS + 1))


def test_a_fork_argument_of_another_type_is_refused(client: Redis, endpoint: FakeEndpoint, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="give a Fork"):
        hosted(client, endpoint, tmp_path, "fork", fork="source")  # type: ignore[arg-type]


def test_the_command_forks_at_a_game_time(tmp_path: Path) -> None:
    first = summary("run", "--town", 3, "--ticks", 500, "--run", "town", "--workers", 1, data_dir=tmp_path)
    half_past_seven = ("fork", "town", "--at", "day 1 7:30", "--workers", 1)
    fork = summary(*half_past_seven, "--run", "early", data_dir=tmp_path)
    assert fork["digest"] == first["digest"]
    poor = typed("fork", "town", "--at", "noon", "--run", "other", data_dir=tmp_path)
    assert poor.returncode == 2
    assert "give a tick such as 720, or a game time" in poor.stderr
