"""Options that several commands share, and the settings and state that they select.

A command may take a dataclass as one parameter; Typer reads an option for each of its fields.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer
from redis import Redis

from cogitate.hosting import logs
from cogitate.memory.errors import InputError, quoted
from cogitate.scheduler.budget.settings_checks import check_spending
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.inspection.job_records import JobQuery, JobState
from cogitate.scheduler.ledger.connect import PATIENCE, check_soon, connect_to_read
from cogitate.workers.processes.embedded import EmbeddedServer

CAPSULE = ".capsule"  # suffix of a capsule's file, which a command may read in place of a run


def is_capsule(name: str) -> bool:
    """Return whether a user named a capsule's file in place of a run."""
    return name.endswith(CAPSULE)


def of_server(run: str) -> str:
    """Return the name of a run on the server.

    Raises:
        InputError: when it names a file; the message lists the commands that read files.
    """
    if is_capsule(run):
        raise InputError(
            f"{quoted(run)} is a file, but this command needs a run on the server: status, report, minds, compare, "
            "memory, plan, jobs, job, export and verify read files, and fork continues from one"
        )
    return run


RunName = Annotated[str, typer.Argument(metavar="RUN", help="The run's name.", callback=of_server)]
RunOrFile = Annotated[str, typer.Argument(metavar="RUN", help="The run's name, or the file of its capsule (.capsule).")]
OwnerName = Annotated[str, typer.Argument(metavar="OWNER", help="The owner, such as agent:isabella.")]
Llm = Annotated[
    Literal["heuristic", "openai"] | None, typer.Option(help="Think by heuristics or with a model (default heuristic).")
]
LimitUsd = Annotated[float | None, typer.Option(metavar="X", help="The run's limit in dollars.")]
LimitTokens = Annotated[int | None, typer.Option(metavar="N", help="The run's limit in tokens.")]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", metavar="DIR", help="The folder of the runs and the embedded server.", show_default=False
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line on stdout.")]
EveryOwner = Annotated[bool, typer.Option("--all", help="List every owner, even if all have the same limit.")]
Verbose = Annotated[
    int,
    typer.Option("-v", "--verbose", count=True, help="Log more on stderr; -vv logs everything.", show_default=False),
]


@dataclass(frozen=True)
class SharedOptions:
    """The options of every command that reads a run."""

    data_dir: DataDir = None
    as_json: AsJson = False
    verbose: Verbose = 0

    def settings(self, **flags: Any) -> Settings:
        """Return the effective settings, as `read_settings` does, and configure logging."""
        return read_settings(self.verbose, data_dir=self.data_dir, **flags)


@dataclass(frozen=True)
class RequestOptions:
    """The options of every command that sends a request to a run's host."""

    reason: Annotated[
        str,
        typer.Option("--reason", metavar="TEXT", help="The reason, for the run's audit trail.", show_default=False),
    ] = ""
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait until the run's host applies it.")] = False


@dataclass(frozen=True)
class JobFilters:
    """The options that filter the jobs of a run."""

    state: Annotated[
        JobState | None, typer.Option("--state", help="The state of an open job, or the end or reason of an ended one.")
    ] = None
    kind: Annotated[str | None, typer.Option("--kind", metavar="KIND", help="The kind of job, such as plan.")] = None
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="OWNER", help="The owner, such as agent:isabella.")
    ] = None
    model: Annotated[str | None, typer.Option("--model", metavar="MODEL", help="The model that was asked.")] = None
    worker: Annotated[
        str | None,
        typer.Option("--worker", metavar="WORKER", help="The worker that holds the job, or returned its result."),
    ] = None
    first: Annotated[
        int | None,
        typer.Option(
            "--from", min=0, metavar="TICK", help="The first tick of a job's end, or of an open job's request."
        ),
    ] = None
    last: Annotated[int | None, typer.Option("--to", min=0, metavar="TICK", help="The last such tick.")] = None
    minutes: Annotated[
        int | None, typer.Option("--minutes", min=1, metavar="N", help="Only the last N minutes of real time.")
    ] = None

    def query(self) -> JobQuery:
        """Return the query for jobs that match all filters."""
        return JobQuery(**asdict(self))


def read_settings(verbose: int | None = None, /, **flags: Any) -> Settings:
    """Return the effective settings: flags override `COGITATE_*` variables, which override cogitate.toml and defaults.

    Args:
        verbose: the number of -v flags, to configure logging; None: logging is configured already.

    Raises:
        ConfigurationError: when a value is invalid, or a variable or the file cannot be read.
    """
    if verbose is not None:
        logs.configure(verbose)
    settings = Settings(**{name: value for name, value in flags.items() if value is not None})
    logs.follow(settings)
    return settings


def check_limited(settings: Settings) -> None:
    """Check that a run with a model has a limit on all of its calls.

    Raises:
        ConfigurationError: when it has no limit; a note names the flags.
    """
    try:
        check_spending(settings)
    except ConfigurationError as error:
        error.add_note("the flags are --limit-usd and --limit-tokens")
        raise


def program_name() -> str:
    """Return the command that starts this program."""
    script = Path(sys.argv[0])
    if script.name != "cogitate":
        return f"{Path(sys.executable).name} -m cogitate.ops"
    on_path = shutil.which("cogitate")
    if on_path is not None and Path(on_path).absolute() == script.absolute():
        return "cogitate"
    relative = os.path.relpath(script)
    return relative if not relative.startswith("..") else str(script)


def data_dir_option(settings: Settings) -> str:
    """Return the option for a data folder other than the default, for use in suggested commands."""
    return "" if settings.data_dir == Settings.model_fields["data_dir"].default else f" --data-dir {settings.data_dir}"


Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]


def is_confirmed(command: str, run: str, question: str) -> bool:
    """Ask the user. Ctrl-C and the end of the input mean no.

    Raises:
        ConfigurationError: without a terminal.
    """
    if not sys.stdin.isatty():
        raise ConfigurationError(
            f"{command} changes run {run!r} for good and cannot ask for confirmation without a terminal: give --yes"
        )
    try:
        return typer.confirm(question, err=True)
    except typer.Abort:
        return False


@contextmanager
def open_state(settings: Settings, *, create: bool = False) -> Iterator[Redis]:
    """Yield a client of the state. A running embedded server is adopted; otherwise one is started for the block.

    Args:
        create: create the data folder if it is missing.

    Raises:
        ServerSilent: when a server accepts connections but does not answer.
        ConfigurationError: when the data folder is missing, or a server can be neither started nor reached.
    """
    with ExitStack() as resources:
        if not settings.embedded:
            url = settings.state_url()
        else:
            if not create and not settings.data_dir.is_dir():
                raise ConfigurationError(
                    f"data folder {settings.data_dir} does not exist, so it has no runs: start one with `cogitate run` "
                    "or name another folder with --data-dir"
                )
            url = resources.enter_context(EmbeddedServer(settings.data_dir, patience=PATIENCE)).url
        check_soon(url)
        client = connect_to_read(url, settings.socket_timeout)
        resources.callback(client.close)
        yield client


def ungrouped(command: Callable[..., int]) -> Callable[..., int]:
    """Return a command as Typer reads it, with the options of each group in place of the group."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    options = list[Parameter]()
    for name, parameter in signature(command).parameters.items():
        if name in groups:
            types = get_type_hints(groups[name], include_extras=True)
            options += [
                Parameter(option.name, Parameter.KEYWORD_ONLY, default=option.default, annotation=types[option.name])
                for option in fields(groups[name])
            ]
        else:
            options.append(parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**given: Any) -> int:
        grouped = {
            name: group(**{option.name: given.pop(option.name) for option in fields(group)})
            for name, group in groups.items()
        }
        return command(**given, **grouped)

    run.__signature__ = Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run
