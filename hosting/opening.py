"""Opening a run: creates it, resumes one that exists, or replaces that."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Literal, NamedTuple, Self, get_args

import msgspec
from redis import Redis

from cogitate.memory.errors import quoted
from cogitate.scheduler.budget.rules import check_prices
from cogitate.scheduler.config.kept_settings import keep_settings, kept_settings
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.scheduler.journal.exported import ExportedJournal, journal_folder, remove_exported
from cogitate.scheduler.latency.latencies import LatencyPrior
from cogitate.scheduler.latency.prior import prior_of
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.errors import LedgerError, RunRolledBack
from cogitate.scheduler.ledger.ledger import HostLedger, Value
from cogitate.scheduler.ledger.presence import check_unheld
from cogitate.scheduler.ledger.run_store import RunStore, run_exists
from cogitate.scheduler.tick.arguments import check_flag
from cogitate.scheduler.tick.commit_thread import Carried, CommitThread, SendCommit
from cogitate.scheduler.tick.leaving import let_go
from cogitate.scheduler.tick.unused_arguments import unused_settings

Exist = Literal["create", "resume", "replace"]
World = Literal["repeat", "present"]


class Opened(NamedTuple):
    """A run that this host holds."""

    ledger: HostLedger
    resumed: bool  # it was there


class RunOpening:
    """A block in which the host of a run is set up; an error in it releases the run."""

    def __init__(self, ledger: HostLedger) -> None:
        self._ledger = ledger
        self.done = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not self.done:
            let_go(self._ledger, "stopped")


def open_commits(settings: Settings, resources: ExitStack) -> SendCommit:
    """Return how a host has its ticks committed: one with a pace goes on meanwhile. `resources` ends what it starts."""
    if settings.tick_rate is None:
        return Carried  # there is nothing to do before the next boundary, which needs the reply
    thread = CommitThread()
    resources.callback(thread.close)
    return thread


def check_opening(*, exist: Exist, world: World, take_over: bool, resume: object = None) -> None:
    """Check that the arguments about an existing run agree with each other.

    Raises:
        ConfigurationError, InputError: saying what to give instead.
    """
    check_flag("take_over", take_over)
    if resume is not None:
        raise ConfigurationError(f'resume={quoted(resume)} is no argument: give exist="create" or exist="resume"')
    if exist not in get_args(Exist):
        raise ConfigurationError(f'exist={quoted(exist)} is invalid: give "create", "resume" or "replace"')
    if world not in get_args(World):
        raise ConfigurationError(f'world={quoted(world)} is invalid: give "repeat" or "present"')
    if world == "present" and exist != "resume":
        raise ConfigurationError('world="present" is about a resumed run: give exist="resume" with it')
    if take_over and exist == "create":
        raise ConfigurationError(
            'take_over=True is about an existing run: give exist="resume" or exist="replace" with it'
        )


def check_not_cancelled(store: RunStore, run: str) -> None:
    """Check that a run may be resumed.

    Raises:
        LedgerError: when an operator has cancelled it.
    """
    if store.field("state", "status") == b"cancelled":
        raise LedgerError(
            f"run {run!r} is cancelled: nothing resumes it; read it with `cogitate status {run}`, remove it with "
            f"`cogitate delete {run}`, or begin another"
        )


def open_run(
    client: Redis,
    run: str,
    settings: Settings,
    *,
    exist: Exist,
    take_over: bool,
    describe: Mapping[str, str],
) -> Opened:
    """Take a run.

    Args:
        settings: those that a new run keeps.
        take_over: also from a host that is at work on it; that host is fenced.
        describe: strings that a new run keeps for its host.

    Raises:
        RunExists, NewerSchema, OlderSchema: from the ledger.
        RunHeld: when a host is at work on the run and `take_over` is not given.
        LedgerError: when the run is cancelled and would be resumed.
        ConfigurationError: when a limit in money cannot bind the models of a new run.
    """
    if exist != "create" and run_exists(client, run):
        if not take_over:
            check_unheld(RunStore.open(client, run), run, "take it over (take_over=True)")
        if exist != "replace":
            check_not_cancelled(RunStore.open(client, run), run)
            return Opened(HostLedger.resume(client, run), True)
        delete_run(client, run, force=True)
        remove_exported(settings.data_dir, run)
    check_prices(settings)
    state: dict[str, Value] = {"settings": keep_settings(settings), "describe": json.dumps(dict(describe))}
    if settings.adapts():
        state["latency_prior"] = msgspec.json.encode(prior_now(client, settings))
    return Opened(HostLedger.create(client, run, state=state), False)


def resumed_settings(ledger: HostLedger, given: Settings) -> tuple[Settings, list[str]]:
    """Return the settings that a resumed run goes on with, and those given ones that it does not use, by name.

    Raises:
        RunRolledBack: when the server has lost the run since this host took it.
        ConfigurationError: when a limit in money cannot bind the run's models.
    """
    kept = ledger.store.field("state", "settings")
    if kept is None:
        raise RunRolledBack(f"run {ledger.run!r}: the ledger has forgotten it since this host took it; start it anew")
    resumed = kept_settings(kept, given)
    check_prices(resumed)
    return resumed, unused_settings(kept, given)


def prior_now(client: Redis, settings: Settings) -> LatencyPrior:
    """Return the latencies that a run assumes until it has seen answers: those of its settings and endpoints."""
    return prior_of(settings, {one.endpoint: one.usual for one in endpoint_vitals(client) if one.usual is not None})


def description_of(client: Redis, run: str) -> dict[str, str]:
    """Return the description that the host gave when it created a run.

    Raises:
        RunMissing: when there is no such run.
    """
    kept = RunStore.open(client, run).field("state", "describe")
    return dict(json.loads(kept or "{}"))


def check_model(settings: Settings) -> None:
    """Check that keys and endpoints of the run's models are usable, before anything is started.

    Raises:
        ConfigurationError: saying what is missing.
    """
    if settings.llm != "openai":
        return
    from cogitate.workers.llm.requests.address import address_of

    endpoints = settings.endpoint_table()
    for name in sorted({model.endpoint for model in settings.asked_models()}):
        if name not in endpoints:
            raise ConfigurationError(f"the run asks models at the endpoint {name!r}, which is not configured any more")
        address_of(endpoints[name])


def exported_journal(settings: Settings, ledger: HostLedger) -> ExportedJournal | None:
    """Return where lines that are removed from the journal go; None: nowhere."""
    if not settings.journal_export:
        return None
    return ExportedJournal(journal_folder(settings.data_dir, ledger.run, ledger.incarnation))
