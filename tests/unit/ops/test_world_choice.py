"""The worlds of the command line: which one a run gets, and that a resumed run gets the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.world_choice import WorldChoice, event_types_of, settings_for
from scheduler.config.settings import ConfigurationError, Settings
from simulation.story.people import SETTINGS
from simulation.story.story import Story
from simulation.town.perception import Perception
from simulation.town.town import Town


@pytest.mark.parametrize(
    "choice",
    [WorldChoice(agents=3, seed=7), WorldChoice(story=True, seed=4, minutes_per_tick=5), WorldChoice(unchanged=30)],
)
def test_a_resumed_run_gets_the_world_that_it_began_with(choice: WorldChoice) -> None:
    assert WorldChoice.of_description("mine", choice.describe()) == choice


def test_a_run_of_another_program_has_no_world_here() -> None:
    with pytest.raises(ConfigurationError, match="'mine' was not created by `cogitate run`"):
        WorldChoice.of_description("mine", {"minutes_per_tick": "1"})


def test_the_cooldown_of_what_is_unchanged_is_a_setting_that_a_run_keeps() -> None:
    usual, often = WorldChoice(agents=2).open(), WorldChoice(agents=2, unchanged=10).open()
    assert isinstance(usual, Town)
    assert isinstance(often, Town)
    assert usual._setting.perception == Perception()
    assert often._setting.perception == Perception(unchanged=10)
    assert Settings().perceive_unchanged_after == Perception.unchanged
    assert "unchanged" not in WorldChoice(agents=2).describe(), "as runs of older versions are described"


def test_the_story_suggests_settings_and_the_users_go_before(tmp_path: Path) -> None:
    story = Story()
    suggested = settings_for(story, Settings(data_dir=tmp_path))
    assert {name: getattr(suggested, name) for name in SETTINGS} == dict(SETTINGS)
    own = settings_for(story, Settings(data_dir=tmp_path, cells=2, policies={}))
    assert (own.cells, own.policies, own.token_limit) == (2, {}, SETTINGS["token_limit"])
    assert event_types_of(story) == story.event_types
    town = WorldChoice(agents=2).open()
    assert settings_for(town, own) is own
    assert event_types_of(town) is None
