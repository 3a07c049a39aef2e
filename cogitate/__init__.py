"""The names that most hosts need. Each is imported on first use.

from cogitate import Settings, TickLoop

with TickLoop(run="village", owners=village.profiles, settings=Settings(), ticks=1440) as loop:
    for tick in loop:                              # due results have been applied
        for change in tick.applied: village.apply(change)
        for owner, entry in village.step(tick.minute): loop.observe(owner, entry)
        loop.checkpoint(village.dump())            # optional; committed with the tick

The other names are in `cogitate.comparison`, `cogitate.effects`, `cogitate.errors`, `cogitate.experiment`,
`cogitate.forks`, `cogitate.kinds` and `cogitate.memory`. All other modules may move.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from cogitate import comparison as comparison
    from cogitate import effects as effects
    from cogitate import errors as errors
    from cogitate import experiment as experiment
    from cogitate import forks as forks
    from cogitate import kinds as kinds
    from cogitate import memory as memory
    from cogitate.hosting.open_loop import open
    from cogitate.hosting.tick_loop import TickLoop
    from cogitate.memory.errors import CogitateError
    from cogitate.memory.profile import Location, Profile
    from cogitate.memory.routing.routing import Event, EventRule
    from cogitate.memory.view import MemoryView
    from cogitate.scheduler.config.settings import Settings
    from cogitate.scheduler.intake.observations import Observation
    from cogitate.scheduler.journal.changes import Fork
    from cogitate.scheduler.journal.ends import Change, JobEnd
    from cogitate.scheduler.tick.tick_iterator import Tick
    from cogitate.tasks.own.cadences import daily, every
    from cogitate.tasks.own.choices import drawn, newest
    from cogitate.tasks.own.declaring import kind

    __version__: str

__all__ = [
    "Change",
    "CogitateError",
    "Event",
    "EventRule",
    "Fork",
    "JobEnd",
    "Location",
    "MemoryView",
    "Observation",
    "Profile",
    "Settings",
    "Tick",
    "TickLoop",
    "__version__",
    "daily",
    "drawn",
    "every",
    "kind",
    "newest",
    "open",
]

_MODULES = ("comparison", "effects", "errors", "experiment", "forks", "kinds", "memory")

_HOMES = {  # the module that defines each name; `celery -A cogitate` looks for `app`
    "Change": "cogitate.scheduler.journal.ends",
    "CogitateError": "cogitate.memory.errors",
    "Event": "cogitate.memory.routing.routing",
    "EventRule": "cogitate.memory.routing.routing",
    "Fork": "cogitate.scheduler.journal.changes",
    "JobEnd": "cogitate.scheduler.journal.ends",
    "Location": "cogitate.memory.profile",
    "MemoryView": "cogitate.memory.view",
    "Observation": "cogitate.scheduler.intake.observations",
    "Profile": "cogitate.memory.profile",
    "Settings": "cogitate.scheduler.config.settings",
    "Tick": "cogitate.scheduler.tick.tick_iterator",
    "TickLoop": "cogitate.hosting.tick_loop",
    "app": "cogitate.workers.celery_app",
    "daily": "cogitate.tasks.own.cadences",
    "drawn": "cogitate.tasks.own.choices",
    "every": "cogitate.tasks.own.cadences",
    "kind": "cogitate.tasks.own.declaring",
    "newest": "cogitate.tasks.own.choices",
    "open": "cogitate.hosting.open_loop",
}


def __getattr__(name: str) -> object:
    """Import a name from the module that defines it.

    Raises:
        ImportError: when only another public module has the name; the message says which.
        AttributeError: when no module has it.
    """
    if name in _HOMES:
        value: object = getattr(_importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = _importlib.import_module(f"{__name__}.{name}")
    elif name == "__version__":
        from importlib.metadata import version

        value = version(__name__)
    else:
        for module in _MODULES if name.isidentifier() and not name.startswith("_") else ():
            if name in _importlib.import_module(f"{__name__}.{module}").__all__:
                # `from cogitate import …` would replace the text of an AttributeError
                raise ImportError(f"`cogitate` has no {name}: import it from {__name__}.{module}", name=__name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
