"""Reading ahead changes no insight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cogitate.memory.entry import Entry
from cogitate.simulation.town.town import Town
from cogitate.tasks.heuristics.insight import Insight, find_insight
from cogitate.tasks.heuristics.read_ahead import read_ahead
from cogitate.tasks.heuristics.recalled import Recalled
from cogitate.tasks.kind import WorldFacts
from tests.unit.tasks.heuristics.lived_days import lived
from tests.unit.tasks.kind_cases import KLAUS, MARIA, WORLD, message, observation, stream_of


def insight(owner: str, entries: Sequence[Entry], since: int, names: Mapping[str, str]) -> Insight:
    recent = [e for e in entries if e.number > since and e.type in ("observation", "message")]
    new = {e.number for e in recent}
    before = [e for e in entries if e.number not in new]
    minute = entries[-1].minute + 1
    return find_insight(
        Recalled(owner=owner, recent=recent, before=before, names=names, minute=minute, repeats={new.pop(): 2})
    )


def read(owner: str, entries: Sequence[Entry], since: int, world: WorldFacts) -> Insight:
    """Read the last entry ahead, and return what a reflection then tells, which must not depend on what was read."""
    read_ahead(entries[-1], owner, entries, world)
    found = insight(owner, entries, since, world.display_names)
    assert found == insight(owner, entries, since, {**world.display_names}), entries[-1].text
    return found


def test_an_insight_is_the_same_when_entries_were_read_ahead() -> None:
    town = Town(4)
    names = {owner: profile.name for owner, profile in town.owners().items()}
    world = WorldFacts(names=names, locations=town.locations)
    longest = max(lived(town, 1_440), key=lambda recalled: len(recalled.entries))
    entries, since = [*longest.entries], 0
    assert len(entries) > 40, "several periods"
    for upto in range(1, len(entries) + 1):
        read(longest.owner, entries[:upto], since, world)
        since = upto if upto % 15 == 0 else since


def test_a_promise_that_was_kept_is_told_no_more() -> None:
    entries = stream_of(
        message("I promise to mend the gate. The rain ruined it.", 400, speaker=KLAUS, hearer=MARIA, importance=6),
        observation("Klaus Mueller mended the gate.", 500, importance=3),
    ).live()
    assert "promise to mend" in read(KLAUS, entries[:1], 0, WORLD).text
    assert "promise to mend" not in read(KLAUS, entries, 0, WORLD).text
