"""The values that a host derives from its run's settings, at the start and when they change during the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cogitate.memory.routing.routing import Routing
from cogitate.scheduler.budget.budget import BudgetView
from cogitate.scheduler.budget.rules import Rules
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.journal.changes import Conditions


class Terms(NamedTuple):
    """The rules, limits and constants that follow from a run's settings."""

    rules: Rules
    view: BudgetView
    routing: Routing
    facts: Callable[[Facts], Facts]  # returns the run's new constants, given the old ones


TermsOf = Callable[[Conditions], Terms]
