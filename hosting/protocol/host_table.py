"""The runs that hosts have open in one process: opens, steers and closes them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, Self

import msgspec
import structlog
from redis import Redis
from redis.exceptions import RedisError

from cogitate.hosting.opening import check_model, description_of
from cogitate.hosting.protocol.answers import (
    Closed,
    Opened,
    Refusal,
    Status,
    Steered,
    Ticked,
    malformed,
    missing,
    not_open,
)
from cogitate.hosting.protocol.hosted_run import HostedRun, PostedLoop
from cogitate.hosting.protocol.messages import OpenRun, Steer, Turn
from cogitate.hosting.services import Processes, open_processes
from cogitate.memory.errors import quoted
from cogitate.scheduler.budget.settings_checks import check_prices, check_spending
from cogitate.scheduler.config.controls import FULL, Control, SetCadence, SetLimit, SetMode
from cogitate.scheduler.config.kind_modules import load_kinds
from cogitate.scheduler.config.limits import LimitError, parse_limit_name
from cogitate.scheduler.config.settings import ConfigurationError, Settings, check_run_name
from cogitate.scheduler.config.tables import fields_of
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.ledger.errors import RunExists
from cogitate.scheduler.ledger.run_store import RunStore, run_exists
from cogitate.scheduler.steering.operators import ask
from cogitate.scheduler.steering.throttle import KIND
from cogitate.tasks.registry import use_prompts

log = structlog.get_logger()

#: Keys of a run's description: the host that opened it, and the digest of the message that did.
HOST, OPENED = "host", "opened"


class HostTable:
    """The runs of a process that serves hosts; all share one server and one set of workers.

    A request about a run raises `Refusal` when the run is missing, not open, or belongs to another host.

    Args:
        settings: the process's settings; a host adds those of its run.
        client: a Redis in this process, in which jobs run at once; None: the server and workers of the settings.
    """

    def __init__(self, settings: Settings, client: Redis | None = None) -> None:
        check_spending(settings)
        check_prices(settings)
        use_prompts(settings.prompts)
        load_kinds(settings)
        check_model(settings)
        self._resources = ExitStack()
        self._runs: dict[str, HostedRun] = {}
        self._opening = threading.Lock()
        self._processes: Processes | None = None  # shared by all runs
        if client is None:
            with self._resources:
                self._processes = open_processes(settings, self._resources)
                self._resources = self._resources.pop_all()
            client = self._processes.client
        self._client = client
        self._settings = settings

    # -- runs ----------------------------------------------------------------------------------------

    def open(self, host: str, run: str, message: OpenRun) -> Opened:
        """Open a run for a host, and return its position. Repeating the same message has no further effect.

        Raises:
            Refusal: when the run belongs to another host.
            CogitateError: as `cogitate.open` raises them.
        """
        check_run_name(run)
        digest = message.digest()
        settings = settings_of_run(self._settings, message.settings, message.real_seconds_per_tick)
        with self._opening:
            here = self._found(host, run)
            if here is not None and (message.exist == "resume" or (here.opened == digest and here.loop.tick == 0)):
                return here.stand()
            if here is not None and message.exist == "create":
                raise RunExists(f"run {run!r} exists already, and is open")
            if here is not None:
                self._drop(here)
            exist: str = message.exist
            describe = {HOST: host, OPENED: digest}
            if run_exists(self._client, run):
                described = description_of(self._client, run)
                self._check_owner(host, run, described.get(HOST))
                if exist == "create" and described.get(OPENED) == digest and self._has_no_tick(run):
                    exist = "resume"  # this message created it, but its answer was lost
                if exist == "resume":
                    describe = described
            self._runs[run] = HostedRun(self._loop(run, message, settings, exist, describe), host, digest)
            log.info("host.opened", run=run, host=host)
            return self._runs[run].stand()

    def _loop(self, run: str, message: OpenRun, settings: Settings, exist: str, describe: dict[str, str]) -> PostedLoop:
        where: dict[str, Any] = {"processes": self._processes}
        if self._processes is None:
            where = {"inline": True, "client": self._client}
        if self._runs:
            settings = settings.model_copy(update={"metrics_port": None})  # the first run serves the port
        return PostedLoop(
            run=run,
            owners={owner: fields.profile() for owner, fields in message.owners.items()},
            settings=settings,
            locations=[fields.location() for fields in message.locations],
            ticks=message.ticks,
            start_minute=message.start_minute,
            event_types=message.event_types or None,
            exist=exist,
            take_over=message.take_over and exist != "create",
            describe=describe,
            **where,
        )

    def _has_no_tick(self, run: str) -> bool:
        (tick,) = RunStore.open(self._client, run).state("tick")
        return int(tick or 0) == 0

    def get(self, host: str, run: str) -> HostedRun:
        """Return a run that a host has open.

        Raises:
            Refusal: when the run is missing, not open, or belongs to another host.
        """
        found = self._found(host, run)
        if found is None:
            raise not_open(run) if self._exists(run) else missing(run)
        return found

    def _exists(self, run: str) -> bool:
        try:
            return run_exists(self._client, run)
        except RedisError:
            return True  # unknown: opening the run reports the error

    def _found(self, host: str, run: str) -> HostedRun | None:
        found = self._runs.get(run)
        if found is None:
            return None
        self._check_owner(host, run, found.host)
        if found.failed:
            self._drop(found)
            return None
        return found

    def _check_owner(self, host: str, run: str, owner: str | None) -> None:
        if owner != host:
            raise Refusal(
                403, "not_yours", f"run {run!r} was not opened by host {host!r}", "open a run with another name"
            )

    def _drop(self, run: HostedRun) -> Closed:
        if self._runs.get(run.name) is run:
            del self._runs[run.name]
            run.close()
        return Closed(run=run.name, tick=int(run.loop.tick), digest=run.loop.digest)

    # -- requests to a run ---------------------------------------------------------------------------

    def post(self, host: str, run: str, tick: int, turn: Turn) -> Future[Ticked]:
        """Take a turn, and return a future that holds its answer once the tick is committed."""
        return self.get(host, run).post(tick, turn)

    def steer(self, host: str, run: str, message: Steer) -> Steered:
        """Send a steering request to a run; it takes effect with the run's next tick.

        Raises:
            Refusal: for a message with no request, or with several.
            RunCancelled, TooManyRequests: from the run.
        """
        control = control_of(message)
        self.get(host, run)
        (outcome,) = ask(self._client, run, [control], wait=0.0)
        return Steered(state=outcome.state, detail=outcome.detail)

    def status(self, host: str, run: str) -> Status:
        self.get(host, run)
        return Status(run=run, summary=msgspec.to_builtins(summarise_run(self._client, run)))

    def close_run(self, host: str, run: str) -> Closed:
        """Leave a run, which can be opened again."""
        with self._opening:
            return self._drop(self.get(host, run))

    # -- leaving -------------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """End every wait for the next tick, before the process leaves its runs."""
        for run in tuple(self._runs.values()):
            run.loop.interrupt()

    def close(self) -> None:
        """Leave every run, and stop the server and workers that this process started."""
        with self._resources, self._opening, ExitStack() as leaving:
            for run in tuple(self._runs.values()):
                leaving.callback(self._drop, run)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def control_of(message: Steer) -> Control:
    """Return the request in a message.

    Raises:
        Refusal: when the message has no request, several, or an invalid one.
    """
    named = [name for name in ("mode", "limit", "throttle") if getattr(message, name) is not None]
    if len(named) != 1:
        raise malformed(f"give exactly one of mode, limit and throttle, not {' and '.join(named) or 'none'}")
    if message.limit is not None:
        try:
            parse_limit_name(message.limit)
        except LimitError as error:
            raise malformed(f"limit {quoted(message.limit)}: {error}") from error
        return SetLimit(message.limit, message.value)
    if message.throttle is not None:
        if message.throttle != KIND:
            raise malformed(
                f"throttle {quoted(message.throttle)}: only {KIND} can be throttled; set a limit for others"
            )
        factor = None if message.factor is None else round(message.factor * FULL)
        return SetCadence(kind=message.throttle, factor=factor, pinned=message.pinned)
    assert message.mode is not None, "one of three is given"
    return SetMode(message.mode)


#: Settings that a host may give. The gateway's settings determine all others.
GIVEN = fields_of("time", "jobs", "memory", "events") - {"tick_rate"} | {"limits"}


def settings_of_run(base: Settings, given: Mapping[str, Any], real_seconds_per_tick: float | None) -> Settings:
    """Merge the gateway's settings with those that the host gives for its run.

    A host can only tighten a limit: of two values, the lower one applies.

    Raises:
        ConfigurationError: for a setting that a host cannot give, or an invalid value.
    """
    for name in sorted(given):
        if name not in GIVEN:
            raise ConfigurationError(
                f"a host cannot set {quoted(name)}: set it where the gateway starts; "
                f"a host may set {', '.join(sorted(GIVEN))}"
            )
    kept = {name: getattr(base, name) for name in base.model_fields_set}
    paced = {} if real_seconds_per_tick is None else {"tick_rate": 1 / real_seconds_per_tick}
    chosen = Settings(**{**kept, **given, **paced}).changed(**asdict(base.tuning))
    if "limits" not in given:
        return chosen
    limits = dict(base.limits)
    for name, value in chosen.limits.items():
        limits[name] = min(value, limits.get(name, value))
    return chosen.changed(limits=limits)
