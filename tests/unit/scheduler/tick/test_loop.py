"""The loop between two ticks: its pace, its pauses, what it hands over again, trims, counts and says at its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from structlog.testing import capture_logs

from cogitate import Observation, Profile, TickLoop
from cogitate.errors import InputError, LedgerError, UsageError, WorldDiverged
from cogitate.memory.unreadable import LeftOut
from cogitate.scheduler.config.controls import SetMode
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.steering.operators import ask
from cogitate.scheduler.tick.commit import Position
from cogitate.scheduler.tick.loop import RunLoop
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.scheduler.tick.trimming import JournalTrimmer

Loops = Callable[..., TickLoop]

ADA = "agent:ada"
OWNERS = {ADA: Profile(name="Ada Smith")}


def opened(loops: Loops, **more: Any) -> TickLoop:
    return loops(**({"owners": OWNERS, "ticks": 9, "start_minute": 100} | more))


def observe(loop: TickLoop, tick: Tick, text: str = "The bell struck {}.") -> None:
    loop.observe(ADA, Observation(text=text.format(tick.number), minute=tick.minute))


def state(loop: TickLoop, *fields: str) -> list[Any]:
    return [None if value is None else value.decode() for value in loop.ledger.store.state(*fields)]


# -- pace --------------------------------------------------------------------------------------------


class Clock:
    """Time that passes in sleeps and in turns of the world."""

    def __init__(self) -> None:
        self.now, self.slept = 50.0, list[float]()

    def module(self) -> Any:
        return SimpleNamespace(monotonic=lambda: self.now, perf_counter=lambda: self.now)

    def event(self) -> Any:
        """An event that is never set: waiting for it is sleeping."""
        return SimpleNamespace(wait=self.sleep, is_set=lambda: False)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def clock_of_loops(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Give loops a simulated clock, and return it."""
    made = Clock()
    monkeypatch.setattr("cogitate.scheduler.tick.loop.time", made.module())
    threads = SimpleNamespace(Event=made.event, Thread=threading.Thread, RLock=threading.RLock)
    monkeypatch.setattr("cogitate.scheduler.tick.loop.threading", threads)
    return made


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return clock_of_loops(monkeypatch)


def paced(loops: Loops, clock: Clock, turns: Sequence[float], rate: float = 2.0) -> tuple[list[float], list[float]]:
    """When each tick began, and how many ticks the run was behind, where the turns of its world take so long."""
    began, behind = list[float](), list[float]()
    with opened(loops, ticks=len(turns), settings=PinnedSettings(tick_rate=rate)) as loop:
        for turn, _ in zip(turns, loop, strict=False):
            began.append(clock.now - 50.0)
            clock.now += turn
        behind.append(loop.behind)
    return began, behind


def test_a_paced_run_starts_each_tick_on_time(cogitate_loop: Loops, clock: Clock) -> None:
    began, behind = paced(cogitate_loop, clock, [0.0, 0.25, 0.5, 0.0])
    assert began == [0.0, 0.5, 1.0, 1.5]
    assert clock.slept == [0.5, 0.25]
    assert behind == [0]


def test_a_late_run_catches_up_and_states_the_ticks(cogitate_loop: Loops, clock: Clock) -> None:
    began, behind = paced(cogitate_loop, clock, [3.0, 0.0, 0.0])
    assert began == [0.0, 3.0, 3.0]
    assert behind == [4], "the third tick was due at one second"
    assert clock.slept == []


def test_a_run_without_a_pace_never_sleeps(cogitate_loop: Loops, clock: Clock) -> None:
    with opened(cogitate_loop) as loop:
        for _ in loop:
            clock.now += 1.0
        assert (loop.tick, clock.slept, loop.behind) == (9, [], 0)


def test_a_changed_pace_counts_from_the_tick_in_whose_turn_it_was_changed(cogitate_loop: Loops, clock: Clock) -> None:
    began = list[float]()
    with opened(cogitate_loop, ticks=6, settings=PinnedSettings(tick_rate=2.0)) as loop:
        for tick in loop:
            began.append(clock.now - 50.0)
            clock.now += 0.25
            if tick.number in (2, 4):
                loop.change_pace(8.0 if tick.number == 2 else 0.5)
    assert began == [0.0, 0.5, 0.75, 1.0, 2.75, 4.75], "the fourth, late by a quarter, was due at 0.75"


def test_another_pace_restarts_the_learning_of_latencies(cogitate_loop: Loops) -> None:
    settings = PinnedSettings(llm="openai", api_key="any", limit_tokens=1_000, tick_rate=4.0, wait=0.0)
    with opened(cogitate_loop, settings=settings) as loop:
        next(iter(loop))
        before = loop.state.latencies.prior
        loop.change_pace(8.0)
        after = loop.state.latencies.prior
    assert (before.tick_rate, after.tick_rate) == (4.0, 8.0)
    assert after.usual == {model: 2 * ticks for model, ticks in before.usual.items()} != {}


@pytest.mark.parametrize(
    ("rate", "given", "why"),
    [(None, 2.0, "has no pace"), (2.0, 0, "more than 0"), (2.0, float("nan"), "more than 0"), (2.0, True, "a second")],
)
def test_an_invalid_pace_is_refused(cogitate_loop: Loops, rate: float | None, given: Any, why: str) -> None:
    with (
        opened(cogitate_loop, settings=PinnedSettings(tick_rate=rate)) as loop,
        pytest.raises(InputError, match=f"change_pace.*{why}"),
    ):
        loop.change_pace(given)


def test_the_ledger_keeps_the_lag_and_the_hosts_own_work_of_the_tick_before(
    cogitate_loop: Loops, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(cogitate_loop, settings=PinnedSettings(tick_rate=2.0)) as loop:
        end = loop._loop.engine.end

        def slow(*given: Any, **named: Any) -> Any:
            clock.now += 0.25
            return end(*given, **named)

        monkeypatch.setattr(loop._loop.engine, "end", slow)
        kept = []
        for _ in loop:
            kept.append(state(loop, "lag", "host_us"))
            clock.now += 2.0
    assert kept[:3] == [[None, None], ["0", "0"], ["3", "250000"]]
    assert list(loop._loop.tick_seconds)[:2] == [0.25, 0.25], "the world's turn does not count as the host's work"


def test_a_run_that_was_paused_does_not_catch_up(cogitate_loop: Loops, clock: Clock) -> None:
    with opened(cogitate_loop, settings=PinnedSettings(tick_rate=2.0), ticks=6) as loop:
        client, began = loop.ledger.client, list[float]()
        wait = loop._loop.ledger.wait_asked

        def an_hour_later(seconds: float) -> Any:
            clock.now += 3600.0
            ask(client, "test", [SetMode("running")], wait=0)
            return wait(0.001)

        loop._loop.ledger.wait_asked = an_hour_later  # type: ignore[method-assign, assignment]
        with capture_logs() as logs:
            for tick in loop:
                began.append(clock.now - 50.0)
                if tick.number == 2:
                    ask(client, "test", [SetMode("paused")], wait=0)
    assert began == [0.0, 0.5, 1.0, 3601.0, 3601.5, 3602.0]
    assert [(log["run"], log["tick"]) for log in logs if log["event"] == "run.paused"] == [("test", 3)]
    assert state(loop, "status") == ["finished"]


def test_a_paused_host_that_is_to_stop_leaves_at_once(cogitate_loop: Loops) -> None:
    with opened(cogitate_loop) as loop:

        def stop(seconds: float) -> None:
            loop.stop()

        loop._loop.ledger.wait_asked = stop  # type: ignore[method-assign, assignment]
        for tick in loop:
            if tick.number == 2:
                ask(loop.ledger.client, "test", [SetMode("paused")], wait=0)
    assert (loop.tick, state(loop, "tick")) == (3, ["3"]), "a request of one tick is taken with the next"


# -- ticks that are handed over again ----------------------------------------------------------------


def left(loops: Loops, upto: int = 4) -> TickLoop:
    with opened(loops) as loop:
        for tick in loop:
            observe(loop, tick)
            if tick.number == 2:
                loop.checkpoint(b"two")
            if tick.number == upto:
                break
    return loop


def test_the_ticks_since_the_worlds_checkpoint_are_handed_over_as_they_were(cogitate_loop: Loops) -> None:
    first = left(cogitate_loop)
    loop = opened(cogitate_loop, client=first.ledger.client, owners={}, exist="resume")
    assert (loop.restored, loop._loop.calls.boundary) == (b"two", 4)
    handed = []
    for tick in loop:
        handed.append((tick.number, tick.minute, tick.replayed))
        assert loop._loop.calls.redelivering is tick.replayed
        assert loop._loop.calls.boundary == max(4, tick.number), "memory is as of the last boundary"
        observe(loop, tick)
    assert handed == [(number, 100 + number, number < 5) for number in range(3, 10)]
    assert loop.digest == left(cogitate_loop, 9).digest


def test_a_fork_is_refused_among_redelivered_ticks(cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = opened(cogitate_loop, client=left(cogitate_loop).ledger.client, owners={}, exist="resume")
    ticks = iter(loop)
    observe(loop, next(ticks))
    with monkeypatch.context() as forked:
        forked.setattr("cogitate.scheduler.tick.world_calls.os.getpid", lambda: -1)
        with pytest.raises(UsageError, match="is a fork of it"):
            next(ticks)


@pytest.mark.parametrize("texts", [["Something else."], [], ["The bell struck {}.", "Something else."]])
def test_a_diverging_world_is_told_the_extent(cogitate_loop: Loops, texts: list[str]) -> None:
    first = left(cogitate_loop)
    loop = opened(cogitate_loop, client=first.ledger.client, owners={}, exist="resume")
    told = rf"tick 3: the resumed world observed {len(texts)} entries that differ from the 1 in the journal"
    ticks = iter(loop)
    first_again = next(ticks)
    for text in texts:
        observe(loop, first_again, text)
    with pytest.raises(WorldDiverged, match=told):
        next(ticks)


def test_a_divergence_counts_repeated_entries_of_the_journal(cogitate_loop: Loops) -> None:
    with opened(cogitate_loop) as first:
        for tick in first:
            for text in ("A cart.", "A cart.", "Rain {}."):
                observe(first, tick, text)
            if tick.number == 3:
                break
    lines = list(read_journal(first.ledger.store, 1, 3))
    assert [len(line.core.repeated) for line in lines] != [0, 0, 0], "some of them were only counted"
    loop = opened(cogitate_loop, client=first.ledger.client, owners={}, exist="resume")
    with pytest.raises(WorldDiverged, match="tick 1: the resumed world observed 0 entries that differ from the 3 in"):
        list(loop)


# -- trimming ----------------------------------------------------------------------------------------


class Trimmer(JournalTrimmer):
    """A trimmer that notes when it is asked."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.asked: list[tuple[int, int]] = []
        self.fails = fails

    def trim(self, at: Position, windows: Any) -> str:
        self.asked.append((at.tick, at.checkpoint_tick))
        if self.fails is not None:
            raise self.fails
        return at.chain


def trimming(loop: TickLoop, trimmer: Trimmer) -> RunLoop:
    run = loop._loop
    run._trimmer, trimmer._ledger, trimmer._state = trimmer, run.ledger, run.state
    return run


def test_the_journal_is_trimmed_between_two_ticks_with_the_worlds_last_checkpoint(cogitate_loop: Loops) -> None:
    loop, trimmer = opened(cogitate_loop, ticks=4), Trimmer()
    trimming(loop, trimmer)
    for tick in loop:
        if tick.number == 2:
            loop.checkpoint(b"two")
    assert trimmer.asked == [(0, 0), (1, 0), (2, 2), (3, 2)]


def test_nothing_is_trimmed_before_unreadable_data_is_journalled(cogitate_loop: Loops) -> None:
    loop, trimmer = opened(cogitate_loop, ticks=3), Trimmer()
    run = trimming(loop, trimmer)
    ticks = iter(loop)
    run.state.left_out = [LeftOut(ADA, 0, "odd")]
    next(ticks)
    assert trimmer.asked == []
    run.state.left_out = []
    next(ticks)
    assert trimmer.asked == [(1, 0)]


def test_an_error_of_the_ledger_while_trimming_ends_a_run_that_does_not_sit_out_outages(cogitate_loop: Loops) -> None:
    loop = opened(cogitate_loop)
    trimming(loop, Trimmer(RedisConnectionError("gone")))
    with pytest.raises(RedisConnectionError):
        next(iter(loop))


def test_a_run_that_sits_out_outages_trims_later(cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch) -> None:
    loop, error, missed = opened(cogitate_loop, ticks=2), RedisConnectionError("gone"), list[Exception]()
    trimmer = Trimmer(error)
    run = trimming(loop, trimmer)
    monkeypatch.setattr(run.ledger, "outage", SimpleNamespace(missed=missed.append, back=lambda: True))
    run._trim()
    assert (missed, len(trimmer.asked)) == ([error], 1)
    monkeypatch.setattr(type(run.ledger), "away", property(lambda self: True))
    run._trim()
    assert len(trimmer.asked) == 1, "it is not asked while its ledger is away"


def test_a_run_without_a_trimmer_has_nothing_that_could_not_be_exported(cogitate_loop: Loops) -> None:
    loop = opened(cogitate_loop)
    assert not loop._loop.unexported
    for unexported in (False, True):
        trimmer: Any = SimpleNamespace(unexported=unexported)
        assert trimming(loop, trimmer).unexported is unexported


# -- what a commit leads to --------------------------------------------------------------------------


def test_an_observation_needs_an_open_tick(cogitate_loop: Loops) -> None:
    loop = opened(cogitate_loop, ticks=2)
    for tick in loop:
        observe(loop, tick)
    with pytest.raises(UsageError, match="has no open tick"):
        observe(loop, tick)
    with opened(cogitate_loop) as again, again.next_tick() as tick:
        observe(again, tick)
        again._loop.commit()
        with pytest.raises(UsageError, match="has no open tick"):
            observe(again, tick)


def test_a_commit_returns_the_jobs_due_next(cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch) -> None:
    loop, given = opened(cogitate_loop, ticks=4), list[bool]()
    gather = loop._loop.collector.gather

    def gathered(tick: int, known: Any, jobs: Any) -> Any:
        given.append(known is not None)
        return gather(tick, known, jobs)

    monkeypatch.setattr(loop._loop.collector, "gather", gathered)
    list(loop)
    assert given == [False, True, True, True], "the first tick has none before it"


def test_windows_that_the_ledger_has_deleted_are_named_no_more(cogitate_loop: Loops) -> None:
    settings = PinnedSettings(limits={"tick.run.jobs": 9}, latency={"reflect": 1})
    with opened(cogitate_loop, settings=settings) as loop:
        for tick in loop:
            loop.request("reflect", ADA)
            named = [int(name[5:]) for name in loop._loop._committer.windows if name.startswith("tick:")]
            assert named == ([tick.number - 1] if tick.number > 1 else [])


# -- what is told ------------------------------------------------------------------------------------


def test_watchers_are_called_with_each_tick_once_it_is_committed(cogitate_loop: Loops) -> None:
    seen: list[tuple[int, int, bool]] = []

    def watch(tick: int, finished: Any, seconds: float) -> None:
        seen.append((tick, loop.tick, seconds >= 0))

    loop = opened(cogitate_loop, ticks=3, watchers=[watch])
    for _ in loop:
        pass
    assert seen == [(1, 1, True), (2, 2, True), (3, 3, True)]


def test_jobs_are_counted_by_how_they_ended(cogitate_loop: Loops) -> None:
    settings = PinnedSettings(limits={"run.kind:plan.jobs": 1}, latency={"plan": 1})
    with opened(cogitate_loop, settings=settings, owners={**OWNERS, "agent:ben": Profile(name="Ben")}) as loop:
        for tick in loop:
            if tick.number == 2:
                loop.request("plan", ADA)
                loop.request("plan", "agent:ben")
    assert sum(loop.ended.values()) == 2
    assert loop.ended["plan", "heuristic", "denied"] + loop.ended["plan", "none", "denied"] == 1
    granted = [grant.key.kind for line in read_journal(loop.ledger.store, 1, 9) for grant in line.notes.opened]
    assert granted == ["plan"], "a job without a grant has none in the journal"


def test_a_run_is_left_once(cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch) -> None:
    loop, left = opened(cogitate_loop, ticks=2), list[str]()
    finish = loop.ledger.finish
    monkeypatch.setattr(loop.ledger, "finish", lambda status: (left.append(status), finish(status)))
    for _ in loop:
        pass
    loop.close()
    loop.close(commit=False)
    assert left == ["finished"]


def test_a_fork_can_neither_stop_nor_finish_a_loop(cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = opened(cogitate_loop)
    next(iter(loop))
    monkeypatch.setattr("cogitate.scheduler.tick.world_calls.os.getpid", lambda: -1)
    for call in (loop._loop.stop, loop._loop.finish, lambda: iter(loop._loop), lambda: next(loop._loop._steps)):
        with pytest.raises(UsageError, match="is a fork of it"):
            call()
    loop._loop.abandon()
    monkeypatch.undo()
    assert (loop._loop.stopping, state(loop, "status")) == (False, ["running"])


def test_a_closed_loop_gives_no_iterator(cogitate_loop: Loops) -> None:
    loop = opened(cogitate_loop)
    loop._loop.finish()
    with pytest.raises(LedgerError, match="this loop is closed; open the run again"):
        iter(loop._loop)


@pytest.mark.parametrize(("ticks", "upto", "status"), [(3, 3, "finished"), (3, 2, "stopped"), (None, 2, "stopped")])
def test_the_status_tells_whether_the_run_is_over(
    cogitate_loop: Loops, ticks: int | None, upto: int, status: str
) -> None:
    with opened(cogitate_loop, ticks=ticks) as loop:
        for tick in loop:
            if tick.number == upto:
                loop.stop()
    assert state(loop, "status", "tick") == [status, str(upto)]


def test_a_run_cancelled_by_operators_says_so_at_any_tick(cogitate_loop: Loops) -> None:
    with opened(cogitate_loop, ticks=5) as loop:
        for tick in loop:
            if tick.number == 2:
                ask(loop.ledger.client, "test", [SetMode("cancelled")], wait=0)
    assert state(loop, "status") == ["cancelled"]
    assert loop.tick < 5
