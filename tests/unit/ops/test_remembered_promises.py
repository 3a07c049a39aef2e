"""The promises of an agent as several remember them: each once, and with what any of them knows came of it."""

from __future__ import annotations

from cogitate.memory.entry import Entry
from cogitate.memory.stream import Stream
from cogitate.ops.report.minds_promises import of_others, promises_data, remembered_promises
from tests.unit.tasks.kind_cases import ISABELLA, KLAUS, MARIA, WORLD

GIVEN = Entry(type="message", text="Maria Lopez: I promise to lend you my ladder.", minute=600, subjects=(MARIA, KLAUS))
KEPT = Entry(type="message", text="Maria Lopez: I kept my word.", minute=900, subjects=(MARIA, KLAUS))


def told_of(who: str, memories: dict[str, list[Entry]]) -> list[tuple[str, str, str]]:
    """Return who remembers a promise of an agent ("": of any), its state, and who tells what came of it."""
    streams = {owner: Stream(owner) for owner in memories}
    for owner, entries in memories.items():
        for entry in entries:
            streams[owner].append(entry, 1)
    found = {
        owner: remembered_promises(owner, stream.entries.values(), WORLD.names) for owner, stream in streams.items()
    }
    everything = [one for promises in found.values() for one in promises]
    told = promises_data(found[who], of_others(everything).get(who, ())) if who else promises_data((), everything)
    return [(one["by"], one["state"], one.get("teller", "")) for one in told]


def test_a_promise_of_both_memories_is_told_once_with_what_either_knows() -> None:
    assert told_of(KLAUS, {KLAUS: [GIVEN], MARIA: [GIVEN]}) == [(KLAUS, "open", "")]
    assert told_of(KLAUS, {KLAUS: [GIVEN], MARIA: [GIVEN, KEPT]}) == [(KLAUS, "kept", MARIA)]
    assert told_of(KLAUS, {KLAUS: [GIVEN, KEPT], MARIA: [GIVEN]}) == [(KLAUS, "kept", KLAUS)]


def test_what_only_others_remember_is_told_once_by_the_one_who_knows_most() -> None:
    assert told_of(KLAUS, {KLAUS: [], MARIA: [GIVEN], ISABELLA: [GIVEN, KEPT]}) == [(ISABELLA, "kept", ISABELLA)]
    assert told_of(ISABELLA, {KLAUS: [GIVEN], MARIA: [GIVEN], ISABELLA: []}) == [], "others' promises to others"


def test_each_promise_of_anybody_is_told_once() -> None:
    other = Entry(type="message", text="Klaus Mueller: I promise to sell my boat.", minute=700, subjects=(MARIA, KLAUS))
    memories = {KLAUS: [GIVEN, other], MARIA: [GIVEN, other, KEPT], ISABELLA: [GIVEN]}
    assert told_of("", memories) == [(MARIA, "kept", MARIA), (KLAUS, "open", "")]


def test_a_promise_that_is_made_again_when_it_was_kept_is_another() -> None:
    again = Entry(type="message", text=GIVEN.text, minute=1_000, subjects=(MARIA, KLAUS))
    memories = {KLAUS: [GIVEN, KEPT], MARIA: [GIVEN, KEPT, again], ISABELLA: [again]}
    assert told_of("", memories) == [(KLAUS, "kept", KLAUS), (MARIA, "open", "")]
    assert told_of(KLAUS, memories) == [(KLAUS, "kept", KLAUS), (MARIA, "open", "")]
