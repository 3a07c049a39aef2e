"""The worlds of the command line: which one a run gets, and that a resumed run gets the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from cogitate.memory.profile import Location, Profile
from cogitate.ops.world_choice import WorldChoice, settings_for
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.simulation.story.people import SETTINGS
from cogitate.simulation.story.story import Story
from cogitate.simulation.town.perception import Perception
from cogitate.simulation.town.town import Town
from cogitate.simulation.world import StillWorld


@pytest.mark.parametrize(
    "choice",
    [
        WorldChoice(agents=3, seed=7),
        WorldChoice(story=True, seed=4, minutes_per_tick=5),
        WorldChoice(unchanged=30),
        WorldChoice(still=True, minutes_per_tick=5, start_minute=90_000),
    ],
)
def test_a_resumed_run_gets_the_world_that_it_began_with(choice: WorldChoice) -> None:
    assert WorldChoice.of_description("mine", choice.describe()) == choice


def test_a_still_world_is_its_dump() -> None:
    home = Location(id="forge", name="The forge")
    world = StillWorld({"agent:ada": Profile(name="Ada", home="forge")}, [home], minutes_per_tick=7)
    other = WorldChoice(still=True, minutes_per_tick=7).open()
    other.load(world.dump())
    assert (other.owners(), other.locations, other.dump()) == (world.owners(), (home,), world.dump())
    assert other.brief("agent:ada") == {"location": "forge", "activity": ""}
    assert other.brief("agent:joined-later") == {"location": "", "activity": ""}
    assert other.ticks_per_day == 206
    with pytest.raises(ValueError, match="not a dump of a world in which nothing happens"):
        other.load(b'{"turn": 7}')


def test_a_run_of_another_program_has_no_world_here() -> None:
    with pytest.raises(ConfigurationError, match="'mine' was not created by `cogitate run`"):
        WorldChoice.of_description("mine", {"minutes_per_tick": "1"})


def test_a_run_keeps_the_cooldown_of_unchanged_observations() -> None:
    usual, often = WorldChoice(agents=2).open(), WorldChoice(agents=2, unchanged=10).open()
    assert isinstance(usual, Town)
    assert isinstance(often, Town)
    assert usual._setting.perception == Perception()
    assert often._setting.perception == Perception(unchanged=10)
    assert "unchanged" not in WorldChoice(agents=2).describe(), "as runs of older versions are described"


def test_the_story_suggests_settings_and_the_users_go_before(tmp_path: Path) -> None:
    story = Story()
    suggested = settings_for(story, Settings(data_dir=tmp_path))
    assert {name: getattr(suggested, name) for name in SETTINGS} == dict(SETTINGS)
    own = settings_for(story, Settings(data_dir=tmp_path, cells=2, policies={}))
    assert (own.cells, own.policies, own.token_limit) == (2, {}, SETTINGS["token_limit"])
    town = WorldChoice(agents=2).open()
    assert settings_for(town, own) is own
