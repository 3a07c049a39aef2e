"""The tick loop as a host opens it: with its server and its workers, all stopped when the loop is closed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from redis import Redis

from hosting import logs
from hosting.opening import Exist, RunOpening, check_opening, description_of, open_run, prior_now
from memory.profile import Location, Profile
from memory.routing.routing import EventRule, Strategy
from scheduler.budget.briefs import Brief
from scheduler.budget.rules import (
    check_limits,
    check_models,
    check_spending,
    facts_of,
    rules_of,
    use_prompts,
    view_of,
)
from scheduler.config.kept_settings import kept_settings
from scheduler.config.kind_modules import load_kinds
from scheduler.config.settings import ConfigurationError, Settings
from scheduler.config.tiers import TierRule
from scheduler.inspection.endpoint_vitals import unreachable_endpoints
from scheduler.journal.exported import ExportedJournal, journal_folder
from scheduler.ledger.errors import RunRolledBack
from scheduler.ledger.ledger import HostLedger
from scheduler.ledger.outage import outage_of
from scheduler.ledger.presence import Presence
from scheduler.tick.arguments import check_arguments
from scheduler.tick.loop import Tick
from scheduler.tick.narration import NarratedLoop
from scheduler.tick.result_collector import Publish
from scheduler.tick.unused_arguments import tell_ignored, tell_strangers, unused_arguments, unused_settings
from tasks.registry import kind_names, kinds

if TYPE_CHECKING:
    from hosting.endpoint_watch import EndpointWatch

PATIENT = 15.0  # seconds that a boundary waits for results, from which on it may wait for workers to start as well


class TickLoop(NarratedLoop):
    """One run, ready to be iterated.

    Without a Redis URL in the settings an embedded Valkey is started in the data folder, and worker processes beside
    it; closing the loop stops what it started.

    Args:
        run: the run's name, 1 to 64 letters, digits, '.', '_' or '-'.
        owners: who is there at the start, by owner name ("agent:isabella"). Ignored when a run is resumed.
        settings: everything else; the defaults work.
        locations: the places that plans may name.
        brief: what to say of an owner when a job is made for it: {"location": …, "status": {…}}.
        tier_of: the tier, "routine" or "strong", that a request deserves, given its owner as it is now; by default
            plans, urgent requests and thoughts about decisive memories get the strong one.
        event_types: what becomes of the host's own types of events, beside those that are known.
        ticks: how many ticks the run has; None: until the body breaks.
        start_minute: game time of tick 0, total minutes.
        resume: go on with a run that is there; its settings go before those that are given.
        exist: what becomes of a run of this name that is there, where `resume` is not given: "refuse" to create
            another, "resume" it, or "replace" it, which deletes it with all that it remembers. If there is none, it is
            created.
        take_over: also from a host that is at work on it; that host is fenced and stops.
        describe: what the host wants to remember with a new run, such as its own arguments; `description_of` reads it.
        inline: no server and no processes: jobs run at once in this one, on a Redis in memory.
        client: inline only: a Redis to use instead of one in memory.

    Raises:
        ConfigurationError: when a setting cannot be used or the embedded server cannot be started.
        TemplateError: when a template is missing or broken.
        RunExists, RunMissing, NewerSchema: from the ledger.
        RunUnreadable, RunAltered: when somebody has damaged or changed the run that is to be resumed.
        Fenced, RunRolledBack, LedgerUnavailable: from the ledger, also while the loop lives.
        UnknownKind: when the run has jobs of a kind that is not registered.
        RunHeld: when a host is at work on the run that is to be resumed or replaced, and `take_over` is not given.
    """

    tells = True  # of what does not fit at its start, of shortfalls at its end; `cogitate run` shows these itself

    def __init__(
        self,
        *,
        run: str,
        owners: Mapping[str, Profile],
        settings: Settings | None = None,
        locations: Sequence[Location] = (),
        brief: Brief | None = None,
        tier_of: TierRule | None = None,
        event_types: Mapping[str, Strategy | EventRule] | None = None,
        ticks: int | None = None,
        start_minute: int = 0,
        resume: bool = False,
        exist: Exist = "refuse",
        take_over: bool = False,
        describe: Mapping[str, str] | None = None,
        inline: bool = False,
        client: Redis | None = None,
    ) -> None:
        logs.quiet()
        given = check_arguments(
            run=run, owners=owners, settings=settings, locations=locations, brief=brief, tier_of=tier_of,
            event_types=event_types, ticks=ticks, start_minute=start_minute, resume=resume, describe=describe,
            inline=inline, client=client,
        )  # fmt: skip
        settings = given.settings
        check_opening(resume=resume, exist=exist, take_over=take_over)
        check_spending(settings)
        use_prompts(settings)
        load_kinds(settings)
        check_limits(settings, kinds())
        check_models(settings, kinds())
        asks_here = inline or settings.workers > 0  # otherwise the key and the endpoint are other machines' matter
        if asks_here:
            _check_model(settings)
        self._resources = ExitStack()
        publish: Publish
        with self._resources:
            if inline:
                from fakeredis import FakeRedis  # here, as below: only what this way of running needs is loaded

                from workers.jobs.inline import InlinePublisher

                client = given.client or FakeRedis()
                publisher = InlinePublisher(client, settings)
                self._resources.callback(publisher.close)
                publish, pool = publisher.publish, None
            else:
                from hosting.services import open_processes

                client, publish, settings, pool = open_processes(settings, self._resources)
            ledger, resumed = open_run(
                client, given.run, settings, resume=resume, exist=exist, take_over=take_over, describe=given.describe
            )
            opening = self._resources.enter_context(RunOpening(ledger))
            if not inline:
                ledger.outage = outage_of(settings, run, client.ping)
                presence = Presence(ledger, settings.lease)
                presence.start()
                self._resources.callback(presence.stop)
            if resumed:
                kept: Any = client.hget(ledger.prefix + "state", "settings")
                if kept is None:
                    raise RunRolledBack(
                        f"run {run!r}: the ledger has forgotten it since this host took it; start it anew"
                    )
                unused = unused_settings(kept, settings)
                settings = kept_settings(kept, settings)
                if asks_here:
                    _check_model(settings)
            doubtful = unreachable_endpoints(client, {model.endpoint for model in settings.asked_models()})
            readiness = None
            if doubtful or not inline:
                from workers.processes.readiness import Readiness

                readiness = Readiness(ledger, publish, kinds=kind_names(), endpoints=doubtful, pool=pool)
            super().__init__(
                ledger,
                owners=given.owners,
                facts=facts_of(settings, given.locations, given.start_minute),
                rules=rules_of(settings, kinds(), given.brief, given.tier_of),
                view=view_of(settings),
                publish=publish,
                apply=settings.apply,
                wait=settings.wait_seconds(),
                tick_rate=settings.tick_rate,
                lease=settings.lease,
                hint_interval=settings.hint_interval,
                ticks=given.ticks,
                workers_left=readiness.workers_left if readiness is not None else None,
                journal_keep=settings.journal_keep,
                exported=_exported(settings, ledger),
            )
            if resumed and settings.adapts():
                prior = prior_now(client, settings)
                if prior.tick_rate != self.mind.latencies.prior.tick_rate:
                    self.mind.latencies.begin_anew(prior)
            self.settings = settings
            self.routing = settings.routing().with_types(given.event_types)
            if resumed:
                tell_ignored(self.mind, [*unused, *unused_arguments(self.mind, given, description_of(client, run))])
            tell_strangers(self.mind, settings, given.owners)
            if settings.metrics_port is not None:
                self._serve_metrics(client)
            if settings.llm == "openai":
                from hosting.endpoint_watch import EndpointWatch

                endpoints = {model.name: model.endpoint for model in settings.asked_models()}
                said = readiness.unreachable if readiness is not None else set()
                watch = EndpointWatch(run, endpoints, said)
                self.watchers.append(watch.committed)
                self._resources.callback(self._tell_shortfalls, watch)
            self._readiness = readiness
            self._begins_without_workers = inline or settings.wait_seconds() >= PATIENT
            if readiness is not None:
                readiness.ask()
            opening.done = True
            self._resources = self._resources.pop_all()

    def __iter__(self) -> Iterator[Tick]:
        ticks = super().__iter__()
        if self.tells:
            self._tell_pace()
        if self._readiness is not None:
            self._readiness.wait(lambda: self.stopping, for_workers=not self._begins_without_workers)
        return ticks

    def _tell_pace(self) -> None:
        from hosting.pace_fit import is_paced, log_unfit_kinds, usual_seconds

        if is_paced(self.settings):
            usual = usual_seconds(self.ledger.client)
            log_unfit_kinds(self.ledger.run, self.settings, self.mind.latencies, len(self.mind.streams), usual)

    def _serve_metrics(self, client: Redis) -> None:
        from hosting.metrics import HostMetrics
        from workers.jobs.metrics import serve

        metrics = HostMetrics(client, self.ledger.run)
        server = serve(self.settings, metrics.registry)
        self._resources.callback(server.server_close)
        self._resources.callback(server.shutdown)
        self.watchers.append(metrics.committed)

    def _tell_shortfalls(self, watch: EndpointWatch) -> None:
        from workers.llm.address import servers_of

        if self.tells:
            watch.tell_shortfalls(servers_of(self.settings))

    def close(self, *, commit: bool = True) -> None:
        """Leave the run, and stop what this loop started. The run stays in the data folder, to be resumed or replayed.

        A tick that is open is committed: the body that had it has ended. With `commit=False`, or where an error that
        came up in the body is being handled, it is not; then it never happened, as after an error in the `with` block.

        Raises:
            Fenced, LedgerUnavailable: when the open tick cannot be committed; its processes stop all the same.
        """
        if self.forked:
            self._resources.pop_all()  # they are the parent's: its server and its workers go on
            return
        with self._resources:
            if commit and not self.body_failed:
                self.finish()
            else:
                self.abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or self.forked:
            self.close()
            return
        try:
            self.abandon()
        finally:
            # An error does not wait for jobs in flight; what they spent and cannot report stays charged in full.
            self._resources.__exit__(kind, error, trace)


def _check_model(settings: Settings) -> None:
    """Where models are to be asked, their keys and endpoints must be usable before anything is started.

    Raises:
        ConfigurationError: saying what is missing.
    """
    if settings.llm != "openai":
        return
    from workers.llm.address import address_of

    endpoints = settings.endpoint_table()
    for name in sorted({model.endpoint for model in settings.asked_models()}):
        if name not in endpoints:
            raise ConfigurationError(f"the run asks models at the endpoint {name!r}, which is not configured any more")
        address_of(endpoints[name])


def _exported(settings: Settings, ledger: HostLedger) -> ExportedJournal | None:
    """Where lines removed from the journal go."""
    if not settings.journal_export:
        return None
    return ExportedJournal(journal_folder(settings.data_dir, ledger.run, ledger.incarnation))
