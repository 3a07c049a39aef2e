"""What a tick does with observations: appended, repeated or rated."""

from __future__ import annotations

from typing import Any

import msgspec

from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.memory.stream import Stream
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.engine.world_turn import Remembering
from tests.unit.scheduler.engine.engine_case import Run
from tests.unit.scheduler.scheduler_case import ANN, BOB, seen


def test_an_observation_is_appended_or_counted_as_a_repeat() -> None:
    limits, streams = Facts().limits, {ANN: Stream(ANN)}
    remembering = Remembering(coalesce=True)

    def take(text: str, importance: int, minute: int = 5) -> Any:
        entry = Entry(type="observation", text=text, minute=minute, importance=importance)
        return remembering.take_in(streams, [(ANN, entry)], 1, limits)

    assert len(take("The forge is cold.", 6).observed) == 1
    for importance, counted in ((4, 4), (0, 6)):
        (repeat,) = take("The forge is cold.", importance).repeated
        assert (repeat.number, repeat.minute, repeat.importance) == (1, 5, counted)
    assert take("The forge is cold.", 7).repeated == (), "it matters more now"
    assert take("The forge is cold.", 4, minute=1445).repeated == (), "of another day"


def test_observations_of_a_former_owner_are_not_repeats() -> None:
    remembering, told = Remembering(coalesce=True), [(ANN, seen("The forge is cold.", 5))]
    for left in (False, True):
        streams = {ANN: Stream(ANN)}
        found = remembering.take_in(streams, told * 2, 1, Facts().limits)
        assert (len(found.observed), [repeat.number for repeat in found.repeated]) == (1, [1]), left
        assert [entry.text for entry in streams[ANN].live()] == ["The forge is cold."]
        remembering._indexes.pop(ANN, None)


def test_an_owner_that_leaves_is_forgotten_with_its_repeats() -> None:
    run = Run()
    run.turn(joins={ANN: Profile(name="Ann"), BOB: Profile(name="Bob")})
    run.turn(observed=[(ANN, seen("The forge is cold.", 1)), (BOB, seen("The forge is cold.", 1))])
    run.turn(leaves=[ANN])
    assert run.engine.part(Remembering)._indexes.keys() == {BOB}


def test_repeats_are_kept_where_each_statement_counts() -> None:
    for limits, owner, coalesce in (
        (msgspec.structs.replace(Facts().limits, policy="cells"), ANN, True),
        (Facts().limits, ANN, False),
    ):
        streams, remembering = {owner: Stream(owner)}, Remembering(coalesce=coalesce)
        observed = [(owner, seen("The forge is cold.", 5))] * 2
        assert len(remembering.take_in(streams, observed, 1, limits).observed) == 2


def test_owners_are_rated_in_the_order_of_their_names() -> None:
    run, owners = Run(), [f"agent:{letter}" for letter in "hgfedcba"]
    run.turn(joins={owner: Profile(name=owner) for owner in owners})
    done = run.turn(observed=[(owner, seen(f"Saw {owner}.", 3)) for owner in owners])
    assert [rated.owner for rated in done.core.rated] == sorted(owners)
