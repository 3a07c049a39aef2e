"""The rules, facts and budget view that follow from a run's settings, including those that a fork changes later."""

from __future__ import annotations

import msgspec

from cogitate.scheduler.budget.rules import rules_of, view_of
from cogitate.scheduler.config.facts import Facts, kept_settings, with_conditions
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.journal.changes import Conditions
from cogitate.scheduler.journal.origin import origin_of
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.arguments import Arguments, Terms, TermsOf
from cogitate.tasks.registry import kinds


def terms_of(settings: Settings, given: Arguments, conditions: Conditions | None = None) -> Terms:
    """Derive a run's terms from its settings.

    Args:
        conditions: the conditions that begin now; None: the facts stay those of the first tick.
    """

    def facts(before: Facts) -> Facts:
        return before if conditions is None else with_conditions(before, settings, conditions.templates)

    return Terms(
        rules=rules_of(settings, kinds(), given.brief, given.tier_of),
        view=view_of(settings),
        routing=settings.routing().with_types(given.event_types),
        facts=facts,
    )


def later_terms(over: Settings, given: Arguments) -> TermsOf:
    """Return a function that derives the terms of later conditions.

    Args:
        over: this machine's settings, for all that a run does not keep.
    """
    return lambda conditions: terms_of(settings_under(conditions, over), given, conditions)


def settings_under(conditions: Conditions, over: Settings) -> Settings:
    return kept_settings(msgspec.json.encode(conditions.settings), over)


def settings_of_run(store: RunStore, settings: Settings) -> list[Settings]:
    """Return a run's present settings, then those of each later condition of a fork."""
    origin = origin_of(store)
    later = origin.conditions[1:] if origin is not None else ()
    return [settings, *(settings_under(conditions, settings) for conditions in later)]
