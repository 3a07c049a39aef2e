"""What a host reads back of a run that another has left: everything that its ticks went by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from redis.exceptions import ResponseError

from cogitate import Observation, Profile, TickLoop
from cogitate.errors import LedgerError
from cogitate.memory import typed_json
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.engine.corrections import Corrections
from cogitate.scheduler.engine.run_data import Deferred, LoopState
from cogitate.scheduler.engine.triggers import ScopeTrigger
from cogitate.scheduler.ledger.errors import RunUnreadable
from cogitate.scheduler.tick.restore import restore
from cogitate.tasks.job import Request

Loops = Callable[..., TickLoop]

ADA, BOB, INN, WORLD = "agent:ada", "npc:bob", "location:inn", "world"
OWNERS = {name: Profile(name=name) for name in (ADA, BOB, INN, WORLD)}
LEFT = 14  # the last tick of the first host


def lived(loops: Loops, **more: Any) -> TickLoop:
    """A run that an owner has left, and in which jobs are open, deferred and triggered."""
    settings = PinnedSettings(limits={"tick.run.jobs": 1}, latency={"plan": 9, "reflect": 9, "recount": 9})
    usual = {"owners": OWNERS, "ticks": 99, "start_minute": 350, "settings": settings}
    with loops(**(usual | more)) as loop:
        for tick in loop:
            for owner in (ADA, WORLD):
                text = f"It struck {tick.number}."
                loop.observe(owner, Observation(text=text, minute=tick.minute, type="message", location="inn"))
            if tick.number == 3:
                loop.leave(BOB)
            if tick.number in (4, 6):
                loop.join(f"agent:{tick.number}", Profile(name=f"Number {tick.number}"))
            if tick.number in (5, 8):
                loop.story_event("fire")
            if tick.number == 9:
                loop.request("reflect", ADA)
            loop.checkpoint(b"at %d" % tick.number)
            if tick.number == LEFT:
                break
    return loop


def known(loop: TickLoop) -> dict[str, Any]:
    """What a host knows of its run, as values that can be compared."""
    state = loop.state
    return {
        "charged": loop._loop.engine.part(Corrections).charged,
        "streams": {owner: stream.seal() for owner, stream in state.streams.items()},
        "profiles": state.profiles,
        "retired": state.retired,
        "facts": state.facts,
        "version": state.facts_version,
        "facts at": state.facts_at,
        "open": {key: msgspec.json.encode(item) for key, item in state.open.items()},
        "deferred": state.deferred,
        "triggers": state.triggers,
        "view": state.view.held,
        "mode": state.steering.mode,
        "throttle": state.steering.throttle.state,
    }


def test_a_restored_loop_knows_what_the_previous_one_knew(cogitate_loop: Loops) -> None:
    loop = lived(cogitate_loop)
    before = known(loop)
    for part in ("retired", "facts at", "open", "triggers", "view"):
        assert before[part], f"there is {part} to be read back"
    resumed = cogitate_loop(client=loop.ledger.client, owners={}, exist="resume")
    after = known(resumed)
    for part, value in before.items():
        if isinstance(value, dict):
            for key in value | after[part]:
                assert after[part].get(key) == value.get(key), (part, key)
        assert after[part] == value, part
    assert resumed._loop._committer.windows == loop._loop._committer.windows
    assert resumed.tick == LEFT
    assert resumed._loop._committer.position[1:3] == loop._loop._committer.position[1:3]
    assert resumed.restored == b"at 14"
    assert resumed._loop.checkpoint_tick == LEFT


def test_separately_stored_values_are_unchanged_after_a_read(cogitate_loop: Loops) -> None:
    loop = lived(cogitate_loop)
    resumed = cogitate_loop(client=loop.ledger.client, owners={}, exist="resume")
    for part in resumed._loop.engine.parts:
        assert [write.args for write in part.take_writes() if write.key != "state"] == [], type(part).__name__


def test_each_tick_seals_its_outcome(cogitate_loop: Loops) -> None:
    loop = lived(cogitate_loop)
    store, streams = loop.ledger.store, loop.state.streams
    assert store.field("state", "sealed") == b"%d" % LEFT
    sealed = {name.decode(): seal.decode() for name, seal in store.mapping("seals").items()}
    assert {owner: sealed[owner] for owner in streams} == {owner: stream.seal() for owner, stream in streams.items()}
    assert sealed.keys() - streams.keys() >= {":facts", ":owners"}


@pytest.mark.parametrize("who", ["joins", "leaves"])
def test_owners_that_joined_or_left_in_the_last_tick_are_sealed_with_it(cogitate_loop: Loops, who: str) -> None:
    """An NPC that joins changes no facts: it has no name that others know."""
    with cogitate_loop(owners=OWNERS, ticks=9) as loop:
        for tick in loop:
            if tick.number == 3:
                if who == "joins":
                    loop.join("npc:guard", Profile(name="Guard"))
                else:
                    loop.leave(BOB)
                break
    resumed = cogitate_loop(client=loop.ledger.client, owners={}, exist="resume")
    assert ("npc:guard" in resumed.state.profiles) == (who == "joins")
    assert resumed.state.retired == ({BOB} if who == "leaves" else set())


def test_every_part_of_the_engine_is_restored(cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = lived(cogitate_loop)
    keeping = loop._loop.engine.parts
    read: list[object] = []
    for part in keeping:
        monkeypatch.setattr(part, "load", lambda *given, part=part: read.append(part))
    restore(loop.ledger, loop.state, loop._loop.engine.parts)
    assert sorted(map(id, read)) == sorted(map(id, keeping))
    assert len(keeping) > 4


def test_deferrals_and_triggers_are_restored(cogitate_loop: Loops) -> None:
    loop = lived(cogitate_loop)
    deferred, trigger = Deferred(20, Request(kind="reflect", owner=ADA)), ScopeTrigger(scope=WORLD, minute=3)
    kept = LoopState(loop.state.facts_version, (deferred,), (trigger,))
    loop.ledger.store.client.hset(loop.ledger.store.key("state"), "loop", msgspec.json.encode(kept))
    restore(loop.ledger, loop.state, loop._loop.engine.parts)
    assert (loop.state.deferred, loop.state.triggers) == ([deferred], [trigger])


def test_a_resumed_host_writes_the_loops_state_only_if_it_changes(cogitate_loop: Loops) -> None:
    loop = lived(cogitate_loop)
    kept = loop.ledger.store.field("state", "loop")
    state = typed_json.decode(kept or b"", LoopState)
    assert (state.facts_version, list(state.deferred), list(state.triggers)) == (
        loop.state.facts_version,
        loop.state.deferred,
        loop.state.triggers,
    )


def test_a_state_without_owners_is_that_of_an_empty_run() -> None:
    state = typed_json.decode(b"{}", LoopState)
    assert (state.facts_version, state.deferred, state.triggers) == (0, (), ())


def test_a_new_run_is_empty(cogitate_loop: Loops) -> None:
    loop = cogitate_loop(owners=OWNERS, ticks=3)
    found = restore(loop.ledger, loop.state, loop._loop.engine.parts)
    assert (found.tick, found.digest, found.chain, found.checkpoint, found.checkpoint_tick) == (0, "", "", None, 0)
    assert found.windows == set()


DAMAGE: list[tuple[str, Callable[[Any], object]]] = [
    ("ValidationError", lambda store: store.client.hset(store.key("state"), "loop", "[]")),
    ("DecodeError", lambda store: store.client.hset(store.key("owners"), ADA, "{")),
    ("ValueError", lambda store: store.client.hset(store.key("state"), "tick", "soon")),
    ("ResponseError", lambda store: (store.client.delete(store.key("view")), store.client.set(store.key("view"), "x"))),
]


@pytest.mark.parametrize(("told", "damage"), DAMAGE)
def test_an_unreadable_run_is_refused_with_the_cause(
    cogitate_loop: Loops, told: str, damage: Callable[[Any], object]
) -> None:
    loop = lived(cogitate_loop)
    damage(loop.ledger.store)
    with pytest.raises(RunUnreadable, match=told):
        restore(loop.ledger, loop.state, loop._loop.engine.parts)


@pytest.mark.parametrize("error", [TypeError, LookupError, AttributeError, RecursionError, ResponseError])
def test_an_error_while_reading_is_a_damaged_run_except_for_the_ledgers(
    cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    loop = lived(cogitate_loop)
    for raised, told in ((error("odd"), RunUnreadable), (LedgerError("gone"), LedgerError)):

        def fails(raised: Exception = raised, **_: Any) -> Any:
            raise raised

        monkeypatch.setattr("cogitate.scheduler.tick.restore.load_world", lambda store, fails=fails: fails())
        with pytest.raises(told) as seen:
            restore(loop.ledger, loop.state, loop._loop.engine.parts)
        assert isinstance(seen.value, RunUnreadable) is (told is RunUnreadable)
