"""The maximum length of an observation is a setting of the run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cogitate import Observation, Profile, Settings, TickLoop
from cogitate.errors import InputError


def test_a_text_longer_than_max_text_is_refused_and_changes_nothing(
    cogitate_loop: Callable[..., TickLoop], tmp_path: Path
) -> None:
    settings = Settings.tuned(data_dir=tmp_path, llm="heuristic", max_text=100)
    loop = cogitate_loop(owners={"agent:ada": Profile(name="Ada Smith")}, ticks=2, settings=settings)
    for tick in loop:
        loop.observe("agent:ada", Observation(text=f"{tick.number}" * 100, minute=tick.minute))
        with pytest.raises(InputError, match=r"101 characters.*at most 100 .*max_text"):
            loop.observe("agent:ada", {"text": "x" * 101, "minute": tick.minute})
    assert [len(e.text) for e in loop.state.streams["agent:ada"].live("observation")] == [100, 100]
