"""Opens a run: creates, resumes, replaces or forks it, with the terms that follow from its settings."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, NamedTuple, Self, get_args

import msgspec
from redis import Redis

from cogitate.memory import typed_json
from cogitate.memory.errors import quoted
from cogitate.scheduler.budget.rules import rules_of, view_of
from cogitate.scheduler.budget.settings_checks import check_prices
from cogitate.scheduler.config.facts import Facts, keep_settings, kept_settings, with_conditions
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.inspection.endpoint_vitals import unreachable_endpoints, usual_seconds
from cogitate.scheduler.journal.changes import Change, Conditions, Fork
from cogitate.scheduler.journal.exported import ExportedJournal, journal_folder, remove_exported
from cogitate.scheduler.journal.fork_source import ForkSource, source_of
from cogitate.scheduler.journal.origin import origin_of
from cogitate.scheduler.latency.due_ticks import prior_of
from cogitate.scheduler.latency.latencies import LatencyPrior
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.errors import LedgerError, RunRolledBack
from cogitate.scheduler.ledger.ledger import HostLedger, Value
from cogitate.scheduler.ledger.presence import check_unheld
from cogitate.scheduler.ledger.run_store import RunStore, run_exists
from cogitate.scheduler.tick.arguments import Arguments, Terms, TermsOf, check_flag
from cogitate.scheduler.tick.commit import CommitThread, SendCommit, commit_at_once
from cogitate.scheduler.tick.doubts import unused_settings
from cogitate.scheduler.tick.run_end import let_go
from cogitate.tasks.registry import kinds

Exist = Literal["create", "resume", "replace"]
World = Literal["repeat", "present"]


class Opened(NamedTuple):
    """A run that this host holds."""

    ledger: HostLedger
    resumed: bool  # the run existed already


class RunOpening:
    """A block that sets up a run's host. If it raises, the host releases the run."""

    def __init__(self, ledger: HostLedger) -> None:
        self._ledger = ledger
        self.done = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not self.done:
            let_go(self._ledger, "stopped")


def open_commits(settings: Settings, ledger: HostLedger, resources: ExitStack) -> SendCommit:
    """Return the function that commits ticks: in a thread if the run has a pace or repeats another, else directly.

    Args:
        resources: stops the thread.
    """
    if settings.tick_rate is None and origin_of(ledger.store) is None:
        return commit_at_once  # the next boundary needs the reply at once
    thread = CommitThread()
    resources.callback(thread.close)
    return thread


def check_opening(
    *, exist: Exist, world: World, take_over: bool, in_memory: bool = False, fork: object = None, resume: object = None
) -> None:
    """Check that the arguments about an existing run are consistent.

    Args:
        in_memory: whether the run's state ends with this process.

    Raises:
        ConfigurationError, InputError: with the remedy.
    """
    check_flag("take_over", take_over)
    if fork is not None and not _is_fork(fork):
        raise ConfigurationError(
            f"fork={quoted(fork)} is invalid: give a Fork(run=…, tick=…), the name of a run and the number of a tick"
        )
    if resume is not None:
        raise ConfigurationError(f'resume={quoted(resume)} was removed: give exist="create" or exist="resume"')
    if exist not in get_args(Exist):
        raise ConfigurationError(f'exist={quoted(exist)} is invalid: give "create", "resume" or "replace"')
    if world not in get_args(World):
        raise ConfigurationError(f'world={quoted(world)} is invalid: give "repeat" or "present"')
    if world == "present" and exist != "resume":
        raise ConfigurationError('world="present" applies to a resumed run only: add exist="resume"')
    if in_memory and exist == "resume":
        raise ConfigurationError(
            'inline=True keeps the run in memory, so exist="resume" finds no run: leave inline out, or share a server '
            "(client=redis.Redis.from_url(...))"
        )
    if take_over and exist == "create":
        raise ConfigurationError(
            'take_over=True applies to an existing run only: add exist="resume" or exist="replace"'
        )


def check_not_cancelled(store: RunStore, run: str) -> None:
    """Check that a run may be resumed.

    Raises:
        LedgerError: when an operator has cancelled the run.
    """
    if store.field("state", "status") == b"cancelled":
        raise LedgerError(
            f"run {run!r} is cancelled and cannot be resumed: read it with `cogitate status {run}`, remove it with "
            f"`cogitate delete {run}`, or start another run"
        )


def _is_fork(given: object) -> bool:
    return (
        isinstance(given, Fork)
        and isinstance(given.run, str)
        and type(given.tick) is int
        and isinstance(given.changes, tuple)
        and isinstance(given.capsule, Path | None)
        and all(isinstance(change, Change) for change in given.changes)
    )


def open_run(
    client: Redis,
    run: str,
    settings: Settings,
    *,
    exist: Exist,
    take_over: bool,
    describe: Mapping[str, str],
    fork: Fork | None = None,
) -> Opened:
    """Create, resume, replace or fork a run, and hold it.

    Args:
        settings: the settings that a new run keeps.
        take_over: take the run even from an active host, which is then fenced.
        describe: strings that a new run keeps for its host.
        fork: the source of a new run, and the last tick to repeat.

    Raises:
        RunExists, NewerSchema, OlderSchema: from the ledger.
        RunHeld: when another host is active on the run and `take_over` is not set.
        LedgerError: when the run to resume is cancelled.
        ConfigurationError: when a new run has a limit in money and a model without a price, or is its own source.
    """
    if fork is not None and fork.run == run and fork.capsule is None:
        raise ConfigurationError(f"run {run!r} cannot be a fork of itself: give the fork another name")
    replaced = exist != "create" and run_exists(client, run)
    if replaced:
        if not take_over:
            check_unheld(RunStore.open(client, run), run, "take it over (take_over=True)")
        if exist != "replace":
            check_not_cancelled(RunStore.open(client, run), run)
            return Opened(HostLedger.resume(client, run), True)
    source = source_of(client, fork, settings) if fork is not None else None  # raises before the deletion
    if replaced:
        delete_run(client, run, force=True)
        remove_exported(settings.data_dir, run)
    if source is not None:
        return Opened(_fork(client, run, settings, source, describe), False)
    check_prices(settings)
    state: dict[str, Value] = {"settings": keep_settings(settings), "describe": json.dumps(dict(describe))}
    if settings.adapts():
        state["latency_prior"] = msgspec.json.encode(prior_now(client, settings))
    return Opened(HostLedger.create(client, run, state=state), False)


def _fork(client: Redis, run: str, settings: Settings, source: ForkSource, describe: Mapping[str, str]) -> HostLedger:
    """Create a fork, with the settings that its source keeps, and copy its source's journal."""
    prior = source.latency_prior
    paced = typed_json.decode(prior, LatencyPrior).tick_rate if prior else None
    if prior and paced != settings.tick_rate:
        raise ConfigurationError(
            f"run {source.origin.run!r} was paced at {paced} ticks a second: give its fork tick_rate={paced}, not "
            f"{settings.tick_rate}"
        )
    state: dict[str, Value] = {
        "settings": source.settings,
        "describe": json.dumps(source.description | dict(describe)),
        "origin": msgspec.json.encode(source.origin),
    }
    if prior:
        state["latency_prior"] = prior
    ledger = HostLedger.create(client, run, state=state)
    source.copy(ledger.store)
    return ledger


def resumed_settings(ledger: HostLedger, given: Settings) -> tuple[Settings, list[str]]:
    """Return the settings of a resumed run, and the names of the given settings that it ignores.

    Raises:
        RunRolledBack: when the server has lost the run since this host took it.
        ConfigurationError: when the run has a limit in money and a model without a price.
    """
    kept = ledger.store.field("state", "settings")
    if kept is None:
        raise RunRolledBack(f"run {ledger.run!r}: the ledger has lost it since this host opened it; start it again")
    resumed = kept_settings(kept, given)
    check_prices(resumed)
    return resumed, unused_settings(kept, given)


def prior_now(client: Redis, settings: Settings) -> LatencyPrior:
    """Return the latencies that a run assumes until its first answers, from its settings and endpoints."""
    from cogitate.workers.llm.requests.address import called_servers

    return prior_of(settings, usual_seconds(client, called_servers(settings)))


def doubtful_endpoints(client: Redis, settings: Settings, among: Collection[str]) -> list[str]:
    """Return those of these endpoints whose breaker is open at the address that the workers call."""
    if not among:
        return []
    from cogitate.workers.llm.requests.address import called_servers

    return unreachable_endpoints(client, among, called_servers(settings))


def description_of(client: Redis, run: str) -> dict[str, str]:
    """Return the description that a host gave when it created the run.

    Raises:
        RunMissing: when the run does not exist.
    """
    kept = RunStore.open(client, run).field("state", "describe")
    return dict(json.loads(kept or "{}"))


def check_model(settings: Settings) -> None:
    """Check the keys and endpoints of the run's models before anything starts.

    Raises:
        ConfigurationError: naming what is missing.
    """
    if settings.llm != "openai":
        return
    from cogitate.workers.llm.requests.address import address_of

    endpoints = settings.endpoint_table()
    for name in sorted({model.endpoint for model in settings.asked_models()}):
        if name not in endpoints:
            raise ConfigurationError(f"the run asks models at the endpoint {name!r}, which is no longer configured")
        address_of(endpoints[name])


def exported_journal(settings: Settings, ledger: HostLedger) -> ExportedJournal | None:
    """Return the file that receives the lines removed from the journal; None if the settings export none."""
    if not settings.journal_export:
        return None
    return ExportedJournal(journal_folder(settings.data_dir, ledger.run, ledger.incarnation))


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
