"""A pytest fixture for the tests of a host: a tick loop that needs no server and no processes.

    def test_the_smith_plans_his_day(cogitate_loop):
        loop = cogitate_loop(owners={"agent:smith": Profile(name="Ada Smith")}, ticks=400)
        plans = [change for tick in loop for change in tick.applied if change.kind == "plan"]
        assert plans

pytest imports this module in every project of the environment it is installed in. So its name is its own, it stands
outside the packages, whose names a project may use too, and it imports nothing of ours until the fixture is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from cogitate import TickLoop


@pytest.fixture
def cogitate_loop(tmp_path: Path) -> Iterator[Callable[..., TickLoop]]:
    """Make tick loops: the arguments are `TickLoop`'s, all of them optional.

    A loop runs its jobs in this process, at once, on a Redis in memory of its own, and comes to the same digest as
    with worker processes. It asks no model and reads neither `COGITATE_*` variables nor `cogitate.toml`, unless the
    test gives `settings` of its own. All loops are closed at the end of the test.
    """
    from cogitate import TickLoop
    from cogitate.hosting.inline import redis_in_memory
    from cogitate.scheduler.config.settings import PinnedSettings

    with ExitStack() as stack:

        def make(**arguments: Any) -> TickLoop:
            defaults: dict[str, Any] = {
                "run": "test",
                "owners": {},
                "settings": PinnedSettings(data_dir=tmp_path),
                "client": redis_in_memory(),
            }
            loop = TickLoop(**{**defaults, **arguments, "inline": True})
            stack.callback(loop.close, commit=False)  # the test is over, and may have failed in the midst of a tick
            return loop

        yield make
