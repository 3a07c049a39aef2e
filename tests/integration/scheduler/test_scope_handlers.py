"""A host's own handlers of locations and quests, as in the scopes design, call the loop."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cogitate import Tick, TickLoop
from cogitate.errors import InputError
from cogitate.memory.routing.scopes import WORLD
from tests.integration.scheduler.scopes_run_case import BOB, INN, ROAD, memories, played, recounts, say


class Handlers:
    """The part of a host that carries out a story's commands and reports them to the loop."""

    def __init__(self, loop: TickLoop) -> None:
        self.loop = loop
        self.location = "inn"

    def change_location(self, to: str) -> None:
        self.loop.left_location(self.location, [BOB])
        self.location = to

    def update_location_state(self, *, danger_level: str = "", complete_encounter: str = "") -> None:
        if danger_level == "CLEARED":
            self.loop.story_event("location_cleared", related={"location_id": self.location})
        if complete_encounter:
            related = {"location_id": self.location, "encounter_id": complete_encounter}
            self.loop.story_event("encounter_completed", related=related)

    def complete_objective(self, quest: str, objective: str) -> None:
        self.loop.story_event("objective_completed", related={"quest_id": quest, "objective_id": objective})

    def complete_quest(self, quest: str) -> None:
        self.loop.story_event("quest_completed", related={"quest_id": quest})

    def progress_act(self, act: str) -> None:
        self.loop.story_event("act_progressed", related={"act_id": act})


def carried_out(command: Callable[[Handlers], None]) -> TickLoop:
    """Run a story in which one command is carried out after a statement."""

    def script(loop: TickLoop, tick: Tick) -> None:
        if tick.number == 1:
            say(loop, "Bob drew his sword.", 1)
            command(Handlers(loop))

    return played(script, ticks=5)


def test_location_handler_change_location_calls_on_location_exit() -> None:
    loop = carried_out(lambda handlers: handlers.change_location("road"))
    assert len(memories(loop, INN)) == len(memories(loop, BOB)) == 1
    assert memories(loop, WORLD) == memories(loop, ROAD) == []
    with pytest.raises(InputError, match="location:nowhere"):
        carried_out(lambda handlers: handlers.loop.left_location("nowhere"))


@pytest.mark.parametrize(
    ("command", "tags", "ids"),
    [
        (lambda h: h.update_location_state(danger_level="CLEARED"), ("world:location_cleared",), ("", "", "inn")),
        (
            lambda h: h.update_location_state(complete_encounter="e1"),
            ("world:encounter_completed",),
            ("", "e1", "inn"),
        ),
        (lambda h: h.complete_objective("q1", "o1"), ("world:objective_completed", "objective:o1"), ("q1", "", "")),
        (lambda h: h.complete_quest("q1"), ("world:quest_completed",), ("q1", "", "")),
        (lambda h: h.progress_act("2"), ("world:act_progressed", "act:2"), ("", "", "")),
    ],
)
def test_quest_and_location_handlers_call_on_world_event(
    command: Callable[[Handlers], None], tags: tuple[str, ...], ids: tuple[str, str, str]
) -> None:
    loop = carried_out(command)
    (memory,) = memories(loop, WORLD)
    assert memory.tags == tags
    assert (memory.quest_id, memory.encounter_id, memory.location) == ids
    assert memories(loop, INN) == []


def test_location_handler_ignores_messages_without_a_clear() -> None:
    loop = carried_out(lambda handlers: handlers.update_location_state(danger_level="HIGH"))
    assert recounts(loop) == 0
