"""Which run a host opens: a new one, one that is there, or a new one in the place of one that is there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Self, get_args

import msgspec
from redis import Redis

from memory.errors import quoted
from scheduler.config.kept_settings import keep_settings
from scheduler.config.settings import ConfigurationError, Settings
from scheduler.inspection.endpoint_vitals import endpoint_vitals
from scheduler.journal.exported import remove_exported
from scheduler.latency.latencies import LatencyPrior
from scheduler.latency.prior import prior_of
from scheduler.ledger.deletion import delete_run
from scheduler.ledger.keys import incarnation_key
from scheduler.ledger.ledger import HostLedger, Value
from scheduler.ledger.presence import check_unheld
from scheduler.ledger.run_names import prefix_of
from scheduler.tick.arguments import check_flag
from scheduler.tick.loop import let_go

Exist = Literal["refuse", "resume", "replace"]


class Opened(NamedTuple):
    """A run that this host holds."""

    ledger: HostLedger
    resumed: bool  # it was there


class RunOpening:
    """A block in which a run's host is made: if that fails, the run is given back."""

    def __init__(self, ledger: HostLedger) -> None:
        self._ledger = ledger
        self.done = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not self.done:
            let_go(self._ledger, "stopped")


def check_opening(*, resume: bool, exist: Exist, take_over: bool) -> None:
    """Refuse what cannot be meant together.

    Raises:
        ConfigurationError, InputError: saying what to give instead.
    """
    check_flag("take_over", take_over)
    if exist not in get_args(Exist):
        raise ConfigurationError(f'exist={quoted(exist)} is none of "refuse", "resume" and "replace"')
    if resume and exist != "refuse":
        raise ConfigurationError(
            f'resume=True wants a run that is there, exist="{exist}" takes one that is not there too: give one of them'
        )
    if take_over and not resume and exist == "refuse":
        raise ConfigurationError(
            'take_over=True is about a run that is there: give resume=True, exist="resume" or exist="replace" with it'
        )


def open_run(
    client: Redis,
    run: str,
    settings: Settings,
    *,
    resume: bool,
    exist: Exist,
    take_over: bool,
    describe: Mapping[str, str],
) -> Opened:
    """Take a run.

    Args:
        settings: those that a new run keeps.
        take_over: also from a host that is at work on it; that host is fenced.
        describe: what a new run remembers of its host.

    Raises:
        RunExists, RunMissing, NewerSchema: from the ledger.
        RunHeld: when a host is at work on the run and `take_over` is not given.
    """
    there = exist != "refuse" and bool(client.exists(incarnation_key(run)))
    if resume or there:
        if not take_over:
            check_unheld(client, run, prefix_of(client, run), "take it over (take_over=True)")
        if exist != "replace":
            return Opened(HostLedger.resume(client, run), True)
        delete_run(client, run, force=True)
        remove_exported(settings.data_dir, run)
    state: dict[str, Value] = {"settings": keep_settings(settings), "describe": json.dumps(dict(describe))}
    if settings.adapts():
        state["latency_prior"] = msgspec.json.encode(prior_now(client, settings))
    return Opened(HostLedger.create(client, run, state=state), False)


def prior_now(client: Redis, settings: Settings) -> LatencyPrior:
    """Return what a run with these settings goes by until it has seen answers, by what was seen of its endpoints."""
    return prior_of(settings, {one.endpoint: one.usual for one in endpoint_vitals(client) if one.usual is not None})


def description_of(client: Redis, run: str) -> dict[str, str]:
    """What the host that created a run said of it.

    Raises:
        RunMissing: when there is no such run.
    """
    kept: Any = client.hget(prefix_of(client, run) + "state", "describe")
    return dict(json.loads(kept or "{}"))
