"""`cogitate run`: run a world whose agents think within a budget; `cogitate fork`: continue from a tick of a run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer
from redis import Redis
from redis.exceptions import RedisError

from cogitate.hosting.pace_fit import paced_lines
from cogitate.hosting.terminal import Terminal
from cogitate.hosting.tick_loop import TickLoop
from cogitate.ops.command_options import (
    LimitTokens,
    LimitUsd,
    Llm,
    SharedOptions,
    check_limited,
    data_dir_option,
    open_state,
    program_name,
)
from cogitate.ops.commands.progress import RunProgress
from cogitate.ops.commands.run_choice import RunChoice, forked_run, new_run, resumed_run
from cogitate.ops.commands.verify import audit_at_end, tick_auditor
from cogitate.ops.doctor.endpoints import warn_of_missing_models
from cogitate.ops.fork_changes import read_set, read_template
from cogitate.ops.formatting.budget import real_day_line
from cogitate.ops.formatting.run import Took, print_summary, report_json
from cogitate.ops.signals import Interruption, interruptible
from cogitate.ops.world_choice import (
    DEFAULT_AGENTS,
    WorldChoice,
    minutes_per_tick,
    settings_for,
    warnings_of,
)
from cogitate.ops.world_driver import drive, loop_of
from cogitate.prompts.render import check_templates
from cogitate.scheduler.budget.settings_checks import check_prices
from cogitate.scheduler.config.settings import ConfigurationError, Settings, check_run_name
from cogitate.scheduler.inspection.endpoint_vitals import usual_seconds
from cogitate.scheduler.inspection.summary import RunSummary, summarise_run
from cogitate.scheduler.ledger.errors import Fenced, LedgerError, RunExists, RunHeld
from cogitate.scheduler.ledger.real_day import RealDay
from cogitate.scheduler.ledger.run_store import run_exists
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.simulation.world import World
from cogitate.workers.llm.requests.address import called_servers, servers_of


def run(
    town: Annotated[int | None, typer.Option(metavar="N", help="Run a town of N agents (default 25).")] = None,
    story: Annotated[
        bool, typer.Option("--story", help="Run the story of a council and a tavern instead of a town.")
    ] = False,
    recorded: Annotated[Path | None, typer.Option(metavar="DIR", help="Play a recorded run instead.")] = None,
    days: Annotated[
        int | None, typer.Option(metavar="D", min=1, help="The length in game days (default 1, or as recorded).")
    ] = None,
    ticks: Annotated[int | None, typer.Option(metavar="N", min=1, help="The length in ticks instead of days.")] = None,
    name: Annotated[
        str | None, typer.Option("--run", metavar="NAME", help="The run's name (default town-1, …).")
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="S", help="The world's seed (default 0).")] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="W", help="Worker processes to start; 0: none, start them yourself.")
    ] = None,
    llm: Llm = None,
    limit_usd: LimitUsd = None,
    limit_tokens: LimitTokens = None,
    apply: Annotated[
        Literal["due", "ready"] | None, typer.Option(help="Apply results when due or as soon as ready (default due).")
    ] = None,
    wait: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="How long a tick waits for its results.")
    ] = None,
    tick_rate: Annotated[str | None, typer.Option(metavar="HZ|max", help="Ticks a second (default max).")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run named by --run.")] = False,
    take_over: Annotated[
        bool,
        typer.Option("--take-over", help="With --resume: take the run from a host that holds it; that host stops."),
    ] = False,
    audit: Annotated[
        bool, typer.Option("--audit", help="Check every budget window after each tick, and every invariant at the end.")
    ] = False,
    *,
    options: SharedOptions,
) -> int:
    """Run a world whose agents plan, reflect and remember within a budget. It needs no Redis, no model and no key."""
    settings = options.settings(
        workers=workers,
        llm=llm,
        limit_usd=limit_usd,
        limit_tokens=limit_tokens,
        apply=apply,
        wait=wait,
        tick_rate=tick_rate,
    )
    check_limited(settings)
    if not resume:  # a resumed run keeps its prices
        check_prices(settings)
    if name is not None:
        check_run_name(name)
    check_templates(settings.prompts)
    if resume and (name is None or town is not None or story or recorded is not None or seed is not None):
        raise ConfigurationError(
            "--resume continues the world of --run NAME: give --run, and no --town, --story, --recorded or --seed"
        )
    if resume and (llm, limit_usd, limit_tokens, apply) != (None,) * 4:
        raise ConfigurationError(
            "a resumed run keeps its --llm, --limit-usd, --limit-tokens and --apply: give none of them with --resume"
        )
    if take_over and not resume:
        raise ConfigurationError("--take-over takes a run from its host: give --run NAME --resume with it")
    if recorded is not None and (town is not None or story or seed is not None):
        raise ConfigurationError("--recorded plays a recording: give no --town, no --story and no --seed with it")
    if story and town is not None:
        raise ConfigurationError(f"give --town {town} or --story, not both")
    if days is not None and ticks is not None:
        raise ConfigurationError(f"give --days {days} or --ticks {ticks}, not both")
    choice = WorldChoice(
        agents=DEFAULT_AGENTS if town is None else town,
        seed=seed or 0,
        story=story,
        recorded=recorded,
        minutes_per_tick=minutes_per_tick(settings),
    )
    again = options_again(data_dir_option(settings), workers=workers, wait=wait, tick_rate=tick_rate, audit=audit)
    world = None if resume else choice.open()  # refuse an invalid world before anything starts
    if world is not None:
        settings = settings_for(world, settings)

    def choose(client: Redis) -> RunChoice:
        if world is not None:
            return new_run(client, choice, world, settings, name, days, ticks, again)
        return resumed_run(client, name or "", days, ticks, take_over)

    return host(settings, choose, again, named=name is not None, audit=audit, as_json=options.as_json)


def host(
    settings: Settings,
    choose: Callable[[Redis], RunChoice],
    again: str,
    *,
    named: bool,
    audit: bool = False,
    as_json: bool = False,
) -> int:
    """Host a run to its end or an interruption, print its summary, and return the exit code.

    Args:
        choose: returns the run to host; called once the server runs.
        again: the options that resume the run unchanged, each after a space.
        named: whether the user named the run; otherwise, if its name is taken meanwhile, it gets the next free one.
    """
    err, out = Terminal(stderr=True), Terminal(stderr=as_json)
    with interruptible(err.print) as interruption:
        loop: TickLoop | None = None
        try:
            began = time.monotonic()
            with open_state(settings, create=True) as client:
                while loop is None:
                    made = choose(client)
                    try:
                        loop = _host_run(client, made, settings, interruption, err, audit, again)
                    except RunExists:
                        if named:
                            raise  # otherwise another process took the free name: try the next one
                if audit:
                    audit_at_end(client, made.name, settings.outage_wait)
                summary = _with_warnings(summarise_run(client, made.name), made.world)
                day = RealDay(client, loop.settings).spending()
        except KeyboardInterrupt as stopped:
            if loop is not None and loop.tick < made.ticks:  # the loop was closed by the first signal
                stopped.add_note(_resume_hint(made.name, again))
            err.print("; ".join(["stopped at once", *getattr(stopped, "__notes__", ())]))
            return interruption.exit_code
        took = Took(
            wall_s=time.monotonic() - began, tick_seconds=loop.tick_seconds, ticks_per_day=made.world.ticks_per_day
        )
        print_summary(out, summary, took, servers_of(loop.settings))
        if day.limited and any(line.failure == "real_day_spent" for line in summary.shortfalls):
            out.print(real_day_line(day))
        _print_next_steps(out.print, summary, loop.settings, min(made.world.owners()), again)
        if as_json:
            print(json.dumps(report_json(summary, took)), flush=True)
        return (
            interruption.exit_code if loop.stopping and summary.status == "stopped" else 0
        )  # a drained run ended as requested


def _host_run(
    client: Redis,
    made: RunChoice,
    settings: Settings,
    interruption: Interruption,
    err: Terminal,
    audit: bool,
    again: str,
) -> TickLoop:
    """Host the run to its end or an interruption, and return its closed loop."""
    exists = made.resume
    try:
        with loop_of(
            made.world,
            made.name,
            settings,
            ticks=made.ticks,
            exist="resume" if made.resume else "create",
            take_over=made.take_over,
            fork=made.fork,
            describe=made.describe,
            log_warnings=False,
        ) as loop:
            exists = True
            warn_of_missing_models(loop.settings)
            usual = usual_seconds(loop.ledger.client, called_servers(loop.settings))
            for line in paced_lines(loop.settings, loop.state.latencies, len(made.world.owners()), usual):
                err.print(line)
            progress = RunProgress(loop, made.ticks, err)
            with interruption.softened(loop.stop), progress.drawn():
                check = tick_auditor(loop) if audit else None

                def watch(tick: Tick) -> None:
                    progress.update(tick)
                    if check is not None:
                        check(tick)

                drive(loop, made.world, on_tick=watch)
            return loop
    except (KeyboardInterrupt, LedgerError, RedisError, OSError) as error:
        # No hint after Fenced: to resume would take the run back from its new host.
        if not isinstance(error, RunExists | RunHeld | Fenced) and (exists or _exists(client, made.name)):
            error.add_note(_resume_hint(made.name, again))
        raise


def _exists(client: Redis, run: str) -> bool:
    try:
        return run_exists(client, run)
    except RedisError:
        return False


def _with_warnings(summary: RunSummary, world: World) -> RunSummary:
    warnings = warnings_of(world)
    warnings.update(summary.warnings)
    return msgspec.structs.replace(summary, warnings=dict(sorted(warnings.items())))


def options_again(data_dir: str, **given: object) -> str:
    """Return the options that resume a run unchanged, each after a space; the ledger keeps the others."""
    flags = {f"--{name.replace('_', '-')}": value for name, value in given.items() if value is not None}
    texts = [flag if value is True else f"{flag} {value}" for flag, value in flags.items() if value is not False]
    return "".join(f" {text}" for text in texts) + data_dir


def _resume_command(name: str, again: str) -> str:
    return f"{program_name()} run --run {name} --resume{again}"


def _resume_hint(name: str, again: str) -> str:
    return f"resume it with: {_resume_command(name, again)}"


def _print_next_steps(
    print_line: Callable[..., object], summary: RunSummary, settings: Settings, owner: str, again: str
) -> None:
    name = program_name()
    lines = []
    if summary.status == "stopped":
        lines.append(("resume it", _resume_command(summary.run, again)))
    lines.append(("read a mind", f"{name} memory {summary.run} {owner}{data_dir_option(settings)}"))
    lines.append(("verify it", f"{name} replay {summary.run} --verify{data_dir_option(settings)}"))
    if settings.llm == "heuristic":
        lines.append(("let a model think", f"OPENAI_API_KEY=… {name} run --llm openai --limit-usd 0.50"))
        of_your_own = "COGITATE_BASE_URL=http://localhost:11434/v1 COGITATE_MODEL=… COGITATE_API_KEY=none"
        lines.append(("or one of your own", f"{of_your_own} {name} run --llm openai --limit-tokens 100000"))
    lines.append(("see all settings", f"{name} config"))
    print_line("\nWhat to try next", style="bold")
    for what, command in lines:
        print_line(f"  {what:<18} {command}")


def fork(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's name, or the file of its capsule (.capsule).")],
    at: Annotated[str, typer.Option(metavar="TIME", help="The last tick to repeat: 720, or 'day 2 12:00'.")],
    name: Annotated[str, typer.Option("--run", metavar="NEW", help="The fork's name.")],
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A setting, or a limit of `cogitate budget`, from the next tick on."
        ),
    ] = None,
    template: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="A prompt template, from the next tick on."),
    ] = None,
    world: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Changes to what agents observe, and to their profiles.")
    ] = None,
    days: Annotated[
        int | None,
        typer.Option(metavar="D", min=1, help="The length in game days (default the source's)."),
    ] = None,
    ticks: Annotated[int | None, typer.Option(metavar="N", min=1, help="The length in ticks instead of days.")] = None,
    workers: Annotated[int | None, typer.Option(metavar="W", help="Worker processes to start; 0: none.")] = None,
    tick_rate: Annotated[
        str | None, typer.Option(metavar="HZ|max", help="Ticks a second: that of the source (default max).")
    ] = None,
    *,
    options: SharedOptions,
) -> int:
    """Repeat a run up to a tick, calling no model, and continue from there. An unchanged fork equals its source."""
    if days is not None and ticks is not None:
        raise ConfigurationError(f"give --days {days} or --ticks {ticks}, not both")
    settings = options.settings(workers=workers, tick_rate=tick_rate)
    check_run_name(name)
    changes = *map(read_set, change or ()), *map(read_template, template or ())
    again = options_again(data_dir_option(settings), workers=workers, tick_rate=tick_rate)

    def choose(client: Redis) -> RunChoice:
        return forked_run(client, run, at, name, changes, world, days, ticks, again)

    return host(settings, choose, again, named=True, as_json=options.as_json)
