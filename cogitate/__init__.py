"""The public face of Cogitate: what a host may import. Everything behind it can move.

from cogitate import Settings, TickLoop

with TickLoop(run="village", owners=village.profiles, settings=Settings(), ticks=1440) as loop:
    for tick in loop:                              # what is due has been applied
        for change in tick.applied: village.apply(change)
        for owner, entry in village.step(tick.minute): loop.observe(owner, entry)
        loop.checkpoint(village.dump())            # optional; committed with the tick
"""

import typing as _typing
from importlib.metadata import version as _version

from cogitate.hosting.open_loop import open
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.effects import (
    AdvanceCursor,
    Append,
    Archive,
    Effect,
    MarkAccessed,
    ReplaceSummary,
    SetCharacter,
    SetCounter,
    SetPlanStatus,
    Tell,
)
from cogitate.memory.entry import Character, Entry, PlanItem
from cogitate.memory.errors import CogitateError, InputError, UsageError
from cogitate.memory.profile import Location, Profile
from cogitate.memory.retrieval.retrieval import Scored, ScorePart
from cogitate.memory.routing.routing import Event, EventRule
from cogitate.memory.summaries.conversations import Conversation
from cogitate.memory.view import CurrentPlan, MemoryView, Relationship
from cogitate.prompts.constraints import Constraint
from cogitate.prompts.render import TemplateError
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.intake.observations import Observation
from cogitate.scheduler.journal.ends import JobEnd
from cogitate.scheduler.journal.history import Change
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.ledger.errors import (
    Fenced,
    LedgerError,
    LedgerUnavailable,
    NewerSchema,
    OlderSchema,
    RunAltered,
    RunExists,
    RunHeld,
    RunMissing,
    RunRolledBack,
    RunUnreadable,
)
from cogitate.scheduler.tick.loop import Tick, WorldDiverged
from cogitate.tasks.job import Request
from cogitate.tasks.kind import Case, Kind, Moment, Prompt
from cogitate.tasks.kind_check import KindError
from cogitate.tasks.meters import Meter
from cogitate.tasks.own.cadences import daily, every
from cogitate.tasks.own.choices import drawn, newest
from cogitate.tasks.own.declaring import kind
from cogitate.tasks.registry import UnknownKind, register

if _typing.TYPE_CHECKING:
    from celery import Celery as _Celery

__version__ = _version("cogitate")

__all__ = [
    "AdvanceCursor",
    "Append",
    "Archive",
    "Case",
    "Change",
    "Character",
    "CogitateError",
    "ConfigurationError",
    "Constraint",
    "Conversation",
    "CurrentPlan",
    "Effect",
    "Entry",
    "Event",
    "EventRule",
    "Fenced",
    "InputError",
    "JobEnd",
    "JournalError",
    "Kind",
    "KindError",
    "LedgerError",
    "LedgerUnavailable",
    "Location",
    "MarkAccessed",
    "MemoryView",
    "Meter",
    "Moment",
    "NewerSchema",
    "Observation",
    "OlderSchema",
    "PlanItem",
    "Profile",
    "Prompt",
    "Relationship",
    "ReplaceSummary",
    "Request",
    "RunAltered",
    "RunExists",
    "RunHeld",
    "RunMissing",
    "RunRolledBack",
    "RunUnreadable",
    "ScorePart",
    "Scored",
    "SetCharacter",
    "SetCounter",
    "SetPlanStatus",
    "Settings",
    "Tell",
    "TemplateError",
    "Tick",
    "TickLoop",
    "UnknownKind",
    "UsageError",
    "WorldDiverged",
    "daily",
    "drawn",
    "every",
    "kind",
    "newest",
    "open",
    "register",
]


def __getattr__(name: str) -> "_Celery":
    """Return the Celery app, which `celery -A cogitate worker` and `celery -A cogitate flower` look for here."""
    if name == "app":
        from cogitate.workers.celery_app import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
