"""The public face of Cogitate: what a host may import. Everything behind it can move.

from cogitate import Settings, TickLoop

with TickLoop(run="village", owners=village.profiles, settings=Settings(), ticks=1440) as loop:
    for tick in loop:                              # what is due has been applied
        for change in tick.applied: village.apply(change)
        for owner, entry in village.step(tick.minute): loop.observe(owner, entry)
        loop.checkpoint(village.dump())            # optional; committed with the tick
"""

import typing as _typing

from cogitate import _shadowing  # noqa: F401  # first: it checks that the imports below find our modules
from hosting.open_loop import open
from hosting.tick_loop import TickLoop
from memory.effects import (
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
from memory.entry import Character, Entry, PlanItem
from memory.errors import CogitateError, InputError, UsageError
from memory.profile import Location, Profile
from memory.retrieval.retrieval import Scored, ScorePart
from memory.routing.routing import Event, EventRule
from memory.summaries.conversations import Conversation
from memory.view import CurrentPlan, MemoryView, Relationship
from prompts.constraints import Constraint
from prompts.render import TemplateError
from scheduler.config.settings import ConfigurationError, Settings
from scheduler.intake.observations import Observation
from scheduler.journal.ends import JobEnd
from scheduler.journal.history import Change
from scheduler.journal.lines import JournalError
from scheduler.ledger.errors import (
    Fenced,
    LedgerError,
    LedgerUnavailable,
    NewerSchema,
    RunAltered,
    RunExists,
    RunHeld,
    RunMissing,
    RunRolledBack,
    RunUnreadable,
)
from scheduler.tick.loop import Tick, WorldDiverged
from tasks.job import Request
from tasks.kind import Case, Kind, Moment, Prompt
from tasks.kind_check import KindError
from tasks.meters import Meter
from tasks.own.cadences import daily, every
from tasks.own.choices import drawn, newest
from tasks.own.declaring import kind
from tasks.registry import UnknownKind, register

if _typing.TYPE_CHECKING:
    from celery import Celery as _Celery

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
        from workers.celery_app import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
