"""`cogitate fork`: begin a run with another run's ticks, and continue from there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from redis import Redis

from cogitate.ops.command_options import SharedOptions, data_dir_option
from cogitate.ops.commands.run import host, options_again
from cogitate.ops.commands.run_choice import RunChoice, forked_run
from cogitate.ops.fork_changes import read_set, read_template
from cogitate.scheduler.config.settings import ConfigurationError, check_run_name


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
