"""A pytest fixture for the tests of a host: a tick loop that needs no server and no processes.

    def test_the_smith_plans_his_day(cogitate_loop):
        loop = cogitate_loop(owners={"agent:smith": Profile(name="Ada Smith")}, ticks=400)
        plans = [change for tick in loop for change in tick.applied if change.kind == "plan"]
        assert plans

pytest imports this module in every project of its environment. So it has a unique top-level name, outside the package,
and imports nothing from `cogitate` until a test requests the fixture.
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

    A loop runs its jobs at once in this process, on a separate Redis in memory, and reaches the same digest as with
    worker processes. It asks no model and reads neither `COGITATE_*` variables nor `cogitate.toml`, unless the test
    gives `settings`. All loops are closed at the end of the test.
    """
    from cogitate import TickLoop
    from cogitate.hosting.redis_in_memory import redis_in_memory
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
            stack.callback(loop.close, commit=False)  # the test may have failed within a tick
            return loop

        yield make
