"""The public tick loop: opens a run with its server and workers, hands out its ticks, and stops what it started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self

from redis import Redis

from cogitate.hosting import logs
from cogitate.hosting.body_calls import BodyCalls
from cogitate.hosting.opening import (
    Exist,
    RunOpening,
    World,
    check_model,
    check_opening,
    description_of,
    doubtful_endpoints,
    exported_journal,
    later_terms,
    open_commits,
    open_run,
    prior_now,
    resumed_settings,
    settings_of_run,
    terms_of,
)
from cogitate.hosting.tick_handover import AsyncTicks, TickBlock, in_thread, one_by_one
from cogitate.hosting.worker_watch import worker_watch
from cogitate.memory.errors import InputError, UsageError, quoted
from cogitate.memory.profile import Location, Profile
from cogitate.memory.routing.routing import EventRule, Strategy
from cogitate.scheduler.budget.briefs import Brief
from cogitate.scheduler.budget.settings_checks import (
    check_cadences,
    check_limits,
    check_models,
    check_prices,
    check_spending,
)
from cogitate.scheduler.config.facts import facts_of
from cogitate.scheduler.config.kind_modules import hand_on_kinds, load_kinds
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.tiers import TierRule
from cogitate.scheduler.journal.changes import Fork
from cogitate.scheduler.ledger.connect import retrying
from cogitate.scheduler.ledger.outage import outage_of
from cogitate.scheduler.ledger.presence import Presence
from cogitate.scheduler.ledger.vectors import KeptSimilarity, RunVectors
from cogitate.scheduler.ledger.worker_signs import WorkerCount
from cogitate.scheduler.tick.arguments import Arguments
from cogitate.scheduler.tick.commit import commit_at_once
from cogitate.scheduler.tick.doubts import (
    UNUSED_OWNER,
    tell_ignored,
    tell_low_prices,
    tell_misspelt_variables,
    tell_small_limits,
    tell_strangers,
    tell_unasked,
    unused_arguments,
)
from cogitate.scheduler.tick.garbage import full_collections
from cogitate.scheduler.tick.loop import RunLoop, Watcher
from cogitate.scheduler.tick.result_collector import Publish
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.tasks.registry import kind_names, kinds, use_prompts
from cogitate.workers.telemetry import exporting

if TYPE_CHECKING:
    from cogitate.hosting.services import Processes

PATIENT = 15.0  # if boundaries wait at least this many seconds for results, that covers the start of the workers too


class TickLoop(BodyCalls):
    """One run, ready to be iterated.

    Without a Redis URL in the settings, the loop starts an embedded Valkey in the data folder, and worker processes;
    closing the loop stops what it started.

    Args:
        run: the run's name, 1 to 64 letters, digits, '.', '_' or '-'.
        owners: the profiles of the owners at the start, by owner name ("agent:isabella"). Ignored when a run is
            resumed.
        settings: everything else; the defaults work.
        locations: the places that plans may name.
        brief: returns the facts about an owner that its jobs receive: {"location": …, "status": {…}}.
        tier_of: returns the tier of a request, "routine" or "strong", given its owner's present state; by default
            plans, urgent requests and reflections on decisive memories are "strong".
        event_types: rules for the host's types of events, in addition to the built-in ones.
        ticks: the number of ticks of the run; None: the run continues until the body breaks.
        start_minute: game time of tick 0, in total minutes.
        exist: "create" a run, which must not exist; "resume" it if it exists, with the settings that it keeps, or
            create it; or "replace" it, which deletes it with all its memories.
        world: how the world of a resumed run continues. "repeat": it repeats the ticks since its last checkpoint.
            "present": it keeps its present state and continues with the tick after the last committed one.
        take_over: take the run even from an active host, which is then fenced and stops.
        describe: strings to keep with a new run, such as the host's arguments; `description_of` reads them.
        inline: use no server and no processes: jobs run immediately in this process, on an in-memory Redis.
        client: inline only: a Redis client to use instead of one in memory.
        log_warnings: log kinds that are too slow for the pace at the start, and endpoints that fail during the run.
        watchers: functions to call after each commit, with the tick, its outcome and its seconds.
        fork: the source of a new run, on this server or in a capsule, and the last tick to repeat, as
            `Fork(run="town", tick=720)`. Up to that tick the host must act as it did in the source, whose settings the
            new run keeps.
        resume: removed: give `exist="resume"`.

    Raises:
        ConfigurationError: when a setting is invalid or the embedded server cannot be started.
        TemplateError: when a template is missing or broken.
        RunExists, NewerSchema, OlderSchema: from the ledger.
        RunUnreadable, RunAltered: when the run to resume was damaged or changed.
        Fenced, RunRolledBack, LedgerUnavailable: from the ledger, also during the loop.
        UnknownKind: when the run has jobs of a kind that is not registered.
        RunHeld: when another host is active on the run to resume or replace, and `take_over` is not set.
    """

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
        exist: Exist = "create",
        world: World = "repeat",
        take_over: bool = False,
        describe: Mapping[str, str] | None = None,
        inline: bool = False,
        client: Redis | None = None,
        log_warnings: bool = True,
        watchers: Sequence[Watcher] = (),
        fork: Fork | None = None,
        resume: None = None,
    ) -> None:
        logs_are_ours = logs.quiet()
        given = Arguments(
            run=run,
            owners=owners,
            settings=settings,
            locations=locations,
            brief=brief,
            tier_of=tier_of,
            event_types=event_types,
            ticks=ticks,
            start_minute=start_minute,
            describe=describe,
            inline=inline,
            client=client,
        )
        settings = given.settings
        if logs_are_ours:
            logs.follow(settings)
        in_memory = inline and given.client is None
        check_opening(exist=exist, world=world, take_over=take_over, in_memory=in_memory, fork=fork, resume=resume)
        check_spending(settings)
        if not isinstance(watchers, Sequence) or not all(map(callable, watchers)):
            raise InputError(
                f"watchers is {quoted(watchers)}: give a list of functions of a tick, its outcome and its seconds"
            )
        if exist != "resume":  # an existing run keeps its prices
            check_prices(settings)
        use_prompts(settings.prompts)
        load_kinds(settings)
        check_limits(settings, kinds())
        check_cadences(settings, kinds())
        check_models(settings, kinds())
        starts_workers = inline or settings.workers > 0  # otherwise only other machines need the key and the endpoint
        if starts_workers:
            check_model(settings)
        self._resources = ExitStack()
        telemetry = exporting.start("cogitate-host")
        publish: Publish
        with self._resources, ExitStack() as while_opening:
            if inline:  # imported here, as below, so that each mode loads only what it needs
                from cogitate.hosting.inline import open_inline

                client, publish, pool = *open_inline(given.client, settings, self._resources), None
            else:
                client, publish, settings, pool, server_given_up = self._open_processes(settings)
                while_opening.enter_context(retrying(client))  # a loop waits for an outage to end; its opening does not
            ledger, resumed = open_run(
                client, given.run, settings, exist=exist, take_over=take_over, describe=given.describe, fork=fork
            )
            opening = self._resources.enter_context(RunOpening(ledger))
            watching: list[Watcher] = [*watchers]
            if not inline:
                ledger.outage = outage = outage_of(settings, run, client.ping, server_given_up)
                workers = WorkerCount(client, lambda: outage.lost)
                ledger.workers_alive = workers.alive
                watching.append(worker_watch(run, workers, pool).committed)
                presence = Presence(ledger, settings.tuning.lease, settings.tuning.worker_share)
                presence.start()
                self._resources.callback(presence.stop)
            unused: list[str] = []
            if resumed or fork is not None:
                settings, unused = resumed_settings(ledger, settings)
            present_and_later = settings_of_run(ledger.store, settings)
            if starts_workers:
                for each in present_and_later:
                    check_model(each)
            endpoints = {model.endpoint for each in present_and_later for model in each.asked_models()}
            unreachable = doubtful_endpoints(client, settings, endpoints)
            readiness = None
            if unreachable or not inline:
                from cogitate.workers.processes.readiness import Readiness

                readiness = Readiness(ledger, publish, kinds=kind_names(), endpoints=unreachable, pool=pool)
            if settings.metrics_port is not None:
                from cogitate.hosting.metrics import serve_metrics

                unexported = lambda: opening.done and self._loop.unexported  # noqa: E731 - scrapes may come earlier
                watching.append(serve_metrics(client, run, settings, unexported, self._resources).committed)
            if telemetry is not None:
                from cogitate.hosting.telemetry import JobSpans

                watching.append(JobSpans(telemetry, ledger).committed)
                self._resources.callback(telemetry.flush)
            if any(each.llm == "openai" for each in present_and_later):
                from cogitate.hosting.shortfalls import watch_endpoints

                warned = readiness.unreachable if readiness is not None else set()
                clock = lambda: self._loop.state.facts.clock  # noqa: E731 - the loop is created below
                watching.append(watch_endpoints(settings, run, warned, clock, log_warnings, self._resources).committed)
            terms = terms_of(settings, given)
            self._loop = RunLoop(
                ledger,
                owners=given.owners,
                facts=facts_of(settings, given.locations, given.start_minute, given.owners),
                rules=terms.rules,
                view=terms.view,
                publish=publish,
                routing=terms.routing,
                apply=settings.apply,
                wait=settings.wait_seconds(),
                tick_rate=settings.tick_rate,
                lease=settings.tuning.lease,
                hint_interval=settings.tuning.hint_interval,
                ticks=given.ticks,
                workers_left=readiness.workers_left if readiness is not None else None,
                journal_keep=settings.journal_keep,
                exported=exported_journal(settings, ledger),
                collections=full_collections if settings.tuning.collect_garbage == "idle" else None,
                redelivers=world == "repeat",
                send_commit=commit_at_once if inline else open_commits(settings, ledger, self._resources),
                watchers=watching,
                terms_of=later_terms(settings, given),
                await_workers=self._await_workers,
            )
            self._resources.callback(self._keep_spending)
            if resumed and settings.adapts():
                prior = prior_now(client, settings)
                if prior.tick_rate != self.state.latencies.prior.tick_rate:
                    self.state.latencies.begin_anew(prior)
            self.settings = settings
            self.pool = pool  # a load test stops the workers before it reads their spending
            self._log_warnings = log_warnings
            embeddings = self.state.facts.embeddings
            self._similarity = (
                KeptSimilarity(RunVectors(ledger.store, run, embeddings.model)) if embeddings is not None else None
            )
            advance = one_by_one(self._loop, lambda: iter(self))
            self._block = TickBlock(self._loop, advance)
            self._async_ticks = AsyncTicks(self._loop, advance)
            self._unused = unused  # settings and arguments that a resumed run or a fork ignores, for its first warning
            if resumed:
                self._unused = [*unused, *unused_arguments(self.state, given, description_of(client, run))]
            tell_strangers(self.state, settings, given.owners)
            self._loop.calls.doubts.look_at_profiles(self.state.profiles or given.owners)
            tell_unasked(run, settings, given.settings)
            tell_misspelt_variables(run)
            tell_low_prices(run, settings)
            tell_small_limits(run, self.state.rules, self.state.view)
            self._readiness = readiness
            self._begins_without_workers = inline or settings.wait_seconds() >= PATIENT
            if readiness is not None:
                readiness.ask()
            opening.done = True
            self._resources = self._resources.pop_all()

    def _expect_joins(self) -> None:
        """Do not warn of owners that a resumed run lacks, since an adapter joins them in the body."""
        self._unused = [name for name in self._unused if not name.startswith(UNUSED_OWNER)]

    def _open_processes(self, settings: Settings) -> Processes:
        """Start the server and the workers that this run needs; `_resources` stops them."""
        from cogitate.hosting.services import open_processes

        return open_processes(hand_on_kinds(settings) if settings.workers else settings, self._resources)

    def __iter__(self) -> Iterator[Tick]:
        """Iterate over the ticks. After a `break`, a new `for` continues with the next tick.

        Raises:
            LedgerError: when an error has ended this loop, or the loop is closed.
        """
        ticks = iter(self._loop)
        tell_ignored(self.state, self._unused)
        self._unused.clear()
        if self._log_warnings:
            from cogitate.hosting.pace_fit import tell_unfit_kinds

            agents, client = len(self.state.streams), self.ledger.client
            tell_unfit_kinds(self.ledger.run, self._loop.tick, self.settings, self.state.latencies, agents, client)
        self._await_workers()
        return ticks

    def _await_workers(self) -> None:
        """Wait for the workers that the next tick may need, and for endpoints that are being probed."""
        if self._readiness is not None:
            for_workers = not (self._begins_without_workers or self._loop.repeats)
            self._readiness.wait(lambda: self.stopping, for_workers=for_workers)

    def __aiter__(self) -> AsyncTicks:
        """Iterate over the ticks in asyncio, where other tasks run between them.

        `brief`, `tier_of` and `watchers` run in a separate thread. A cancelled task may iterate again; the end of
        `async with loop:` leaves the run, which can be resumed.
        """
        return self._async_ticks

    def next_tick(self) -> TickBlock:
        """Return the block of the next tick, for hosts that have their own loop: `with loop.next_tick() as tick:`.

        The end of the block commits the tick; an error in it discards the tick and leaves the run.

        Raises:
            UsageError: on entering it, when the run is over or another block is open.
            LedgerError: on entering it, when the loop is closed; on leaving it, when the tick cannot be committed.
        """
        return self._block

    # -- leaving -------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Leave the run after the current tick; workers stop claiming its jobs, and the run can be resumed."""
        self._loop.stop()

    def close(self, *, commit: bool = True) -> None:
        """Leave the run, and stop what this loop started. The run stays in the data folder, to resume or replay.

        An open tick is committed, since its body has ended. It is discarded with `commit=False`, and while an error of
        the body is handled, as an error in the `with` block discards it.

        Raises:
            Fenced, LedgerUnavailable: when the open tick cannot be committed; the processes stop anyway.
        """
        if self._loop.calls.forked:
            self._resources.pop_all()  # server and workers belong to the parent and keep running
            return
        with self._resources:
            if self._async_ticks.end() and commit and not self._loop.body_failed:
                self._loop.finish()
            else:
                self._loop.abandon()

    def __repr__(self) -> str:
        return f"<TickLoop of run {self.ledger.run!r} at tick {self._loop.tick}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or self._loop.calls.forked:
            self.close()
            return
        try:
            self._async_ticks.end()
            self._loop.abandon()
        finally:
            # After an error, do not wait for jobs in flight: those that cannot report stay charged in full.
            self._resources.__exit__(kind, error, trace)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await in_thread(lambda: self.__exit__(kind, error, trace))

    def __reduce__(self) -> NoReturn:
        raise UsageError(
            f"the loop of run {self.state.run!r} cannot be pickled or copied, since it owns connections and "
            "processes: use it where it was opened"
        )
