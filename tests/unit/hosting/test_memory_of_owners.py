"""`loop.memory`: what a host reads is as of the last boundary, changes nothing, and follows the run's settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate import Event, MemoryView, Profile, TickLoop
from cogitate.effects import Character, SetCharacter
from cogitate.errors import InputError, UsageError
from cogitate.memory.effects import Append
from cogitate.memory.entry import Entry
from cogitate.memory.retrieval.profiles import ProfileChoice
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.stored_memory import read_memory
from cogitate.tasks import registry
from cogitate.tasks.kind import Case
from cogitate.tasks.recall import recall
from tests.unit.tasks.own_kind_case import Own

ADA, BEN = "agent:ada", "agent:ben"
OWNERS = {ADA: Profile(name="Ada Smith"), BEN: Profile(name="Ben Cole")}
FAST = PinnedSettings(seconds_per_tick=300)
Loops = Callable[..., TickLoop]


def test_a_view_shows_the_last_boundary_and_a_kept_view_follows(cogitate_loop: Loops) -> None:
    loop = cogitate_loop(owners=OWNERS, ticks=3, start_minute=100)
    view = loop.memory(ADA)
    shown = [(view.minute, len(view))]
    for tick in loop:
        loop.observe(ADA, {"text": f"Cart {tick.number} went by.", "minute": tick.minute})
        shown.append((view.minute, len(view)))
    shown.append((view.minute, len(view)))
    assert shown == [(100, 0), (101, 0), (102, 1), (103, 2), (103, 3)]
    assert [entry.text for entry in view.recent(2)] == ["Cart 2 went by.", "Cart 3 went by."]


def test_a_memory_exists_from_the_tick_after_a_join_until_the_owner_leaves(cogitate_loop: Loops) -> None:
    loop = cogitate_loop(owners=OWNERS, ticks=4)
    for tick in loop:
        if tick.number == 1:
            with pytest.raises(InputError, match="there is no owner 'agent:cy'"):
                loop.memory("agent:cy")
            loop.join("agent:cy", Profile(name="Cy"))
            loop.observe("agent:cy", {"text": "I have come.", "minute": tick.minute})
            assert loop.memory("agent:cy").recent() == ()
        if tick.number == 2:
            view = loop.memory("agent:cy")
            assert [entry.text for entry in view.recent()] == ["I have come."]
            loop.leave("agent:cy")
            assert len(view) == 1, "it leaves with the tick"
    with pytest.raises(InputError, match="there is no owner 'agent:cy'"):
        loop.memory("agent:cy")
    with pytest.raises(InputError, match="owner 'agent:cy' has left this run"):
        view.recent()


def test_redelivered_ticks_show_the_last_committed_one(cogitate_loop: Loops) -> None:
    client = FakeRedis()

    def live(loop: TickLoop) -> list[tuple[bool, int, int]]:
        shown = []
        for tick in loop:
            loop.observe(ADA, {"text": f"Cart {tick.number} went by.", "minute": tick.minute})
            shown.append((tick.replayed, loop.memory(ADA).minute, len(loop.memory(ADA))))
            if tick.number == 1:
                loop.checkpoint(b"first")
        return shown

    live(cogitate_loop(owners=OWNERS, ticks=3, client=client))
    assert live(cogitate_loop(owners={}, ticks=4, client=client, exist="resume")) == [
        (True, 3, 3),
        (True, 3, 3),
        (False, 4, 3),
    ]


def read_everything(loop: TickLoop) -> None:
    for owner in sorted(loop.state.streams):
        view = loop.memory(owner, similarity=lambda query, entries: [float(len(entry.text)) for entry in entries])
        for profile in ("default", "dialogue", "spec", {"recency": 1.0, "support": 2.0}):
            view.recall("Who went to the cafe?", profile=profile, limit=5)
        view.recent(), view.by_type("message"), view.about(BEN), view.between(0, 10**6), view.reflections()
        view.conversations(), view.relationships(), view.plan(), view.summary, view.character.relationships.clear()
        view.context("cafe"), view.context()


def village_day(loop: TickLoop, read: Callable[[TickLoop], object]) -> str:
    """Two people talk all day, so that they plan, reflect, and have their talks summarised."""
    with loop:
        for tick in loop:
            if tick.number == 1:
                loop.apply(SetCharacter(ADA, Character(names=("Ben",), relationships={"Ben Cole": "a friend"})))
            if tick.minute // 60 % 4 == 2:  # an hour's talk, then three hours of silence
                speaker, text = (ADA, BEN)[tick.number % 2], f"I counted {tick.minute} sheep at the market today."
                for owner in (ADA, BEN):
                    said = {
                        "type": "message",
                        "source": "dialogue",
                        "text": text,
                        "minute": tick.minute,
                        "subjects": (speaker, BEN if speaker == ADA else ADA),
                    }
                    loop.observe(owner, said)
            read(loop)
    return loop.digest


def test_reading_changes_no_digest(cogitate_loop: Loops) -> None:
    def opened(client: FakeRedis) -> TickLoop:
        return cogitate_loop(owners=OWNERS, ticks=360, client=client, settings=FAST)

    first, second, ends = FakeRedis(), FakeRedis(), []
    quiet = village_day(opened(first), lambda loop: None)
    read = opened(second)
    read_digest = village_day(read, lambda loop: read_everything(loop) if loop.tick % 6 == 0 else None)
    assert quiet == read_digest
    assert audit(second, "test") == []
    ended = {kind for kind, _, _ in read.ended}
    assert {"plan", "reflect", "summarise"} <= ended, "the day has had everything that thinks"
    for owner in OWNERS:
        ends.append([read_memory(client, "test", owner).stream.seal() for client in (first, second)])
    assert all(one == other for one, other in ends)


def test_the_same_view_is_read_from_the_ledger(cogitate_loop: Loops) -> None:
    client = FakeRedis()
    settings = PinnedSettings(seconds_per_tick=300, retrieval="spec")
    loop = cogitate_loop(owners=OWNERS, ticks=240, client=client, settings=settings)
    village_day(loop, lambda loop: None)
    for owner in OWNERS:
        here, kept = loop.memory(owner), read_memory(client, "test", owner).view
        for read in READINGS:
            assert read(here) == read(kept)
        assert [part.name for part in kept.recall("sheep")[0].parts] == ["recency", "importance", "relevance"]
    earlier = read_memory(client, "test", ADA, tick=120).view
    assert earlier.minute == 600
    assert earlier.recent(1)[0].text == "I counted 600 sheep at the market today."
    assert len(earlier) < len(loop.memory(ADA))


READINGS: tuple[Callable[[MemoryView], object], ...] = (
    lambda view: (view.owner, view.minute, view.summary, view.character, len(view)),
    lambda view: view.recent(),
    lambda view: view.recall("Who counted sheep?"),
    lambda view: view.plan(),
    lambda view: view.reflections(),
    lambda view: view.conversations(),
    lambda view: view.relationships(),
    lambda view: view.context("sheep"),
    lambda view: view.about("Ben Cole"),
    lambda view: view.between(500, 700),
)


def test_a_fork_of_the_host_reads_nothing(cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = cogitate_loop(owners=OWNERS, ticks=1)
    view = loop.memory(ADA)
    monkeypatch.setattr("cogitate.scheduler.tick.world_calls.os.getpid", lambda: -1)
    for read in (lambda: loop.memory(ADA), view.recent, lambda: view.minute, lambda: len(view), view.plan):
        with pytest.raises(UsageError, match="is a fork of it"):
            read()
    monkeypatch.undo()
    assert view.recent() == ()


# -- the setting -------------------------------------------------------------------------------------


@pytest.fixture
def quoting() -> list[str]:
    """A kind that notes the two memories which its run's profile finds for "bread"."""
    noted: list[str] = []

    def quote(case: Case) -> Any:
        text = "; ".join(entry.text for entry in recall(case, "bread", 2, ("observation",)))
        noted.append(text)
        return (Append(case.job.key.owner, Entry(type="reflection", text=text or "-", minute=case.job.minute)),)

    def once(moment: Any) -> Any:
        return Own.asks(moment) if moment.owner == ADA and moment.tick == 50 else []

    kind = Own(makes=quote, asks=once, latency=3)
    kind.recalls = True  # type: ignore[attr-defined]
    registry.register(kind)
    return noted


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({}, "I baked bread."),
        ({"retrieval": "dialogue"}, "I baked bread."),
        ({"retrieval": {"recency": 1.0}}, "Rain."),
        ({"retrieval": "spec"}, "A wolf came."),
    ],
)
def test_worker_and_host_recall_by_the_profile_of_the_run(
    cogitate_loop: Loops, quoting: list[str], settings: dict[str, Any], found: str
) -> None:
    loop = cogitate_loop(owners=OWNERS, ticks=60, settings=PinnedSettings(**settings))
    for tick in loop:
        for number, (text, rating) in enumerate((("I baked bread.", 1), ("A wolf came.", 10), ("Rain.", 1))):
            if tick.number == 10 + number:
                loop.observe(ADA, {"text": text, "minute": tick.minute, "importance": rating})
        if tick.number == 51:  # a worker has run the job; if that were late, the host would do this
            (item,) = [item for item in loop.state.open.values() if item.job.key.kind == "hum"]
            here = registry.kind_of("hum").heuristic(loop.state.case_of(item))
    by_worker, by_host = quoting
    assert by_worker == by_host == here[0].entry.text
    assert by_worker.partition(";")[0] == found
    assert loop.memory(ADA).reflections()[0].text == by_worker


def test_a_run_keeps_its_profile(cogitate_loop: Loops) -> None:
    client = FakeRedis()
    choice: ProfileChoice = {"recency": 1.0, "importance": 0.5}
    first = cogitate_loop(
        owners=OWNERS,
        ticks=5,
        client=client,
        settings=PinnedSettings(retrieval=choice),
    )
    for _ in first:
        first.checkpoint(b"")
    resumed = cogitate_loop(
        owners={}, ticks=9, client=client, exist="resume", settings=PinnedSettings(retrieval="spec")
    )
    for _ in resumed:
        resumed.event(ADA, Event(kind="discussion_statement", text="It rains.", speaker=BEN))
    assert resumed.settings.retrieval == resumed.state.facts.retrieval == choice
    assert [part.name for part in resumed.memory(ADA).recall("rain")[0].parts] == ["importance", "recency"]
