"""The command line of `cogitate`: finds a command by its name.

Results go to stdout, everything else to stderr. Exit codes: 0 success, 1 a run or a verification failed, 2 the command
or the configuration cannot be used, 130 and 143 stopped by Ctrl-C or SIGTERM.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from cogitate.ops.streams import leave_streams, prepare_streams


class Command(NamedTuple):
    """The location of a command's function. Its module is imported on first use, since most modules import much."""

    module: str
    function: str
    example: str = "EXAMPLE"  # the constant with the examples at the end of its help
    passes_on: bool = False  # passes unknown options on to Celery


GROUPS = {
    "Run and host": {
        "run": Command("commands.run", "run"),
        "worker": Command("commands.worker", "worker", passes_on=True),
        "flower": Command("flower.command", "flower", passes_on=True),
        "gateway": Command("commands.gateway", "gateway"),
        "host": Command("commands.host", "host"),
    },
    "Read a run": {
        "runs": Command("commands.runs", "runs"),
        "status": Command("commands.status", "status"),
        "memory": Command("commands.memory", "memory"),
        "plan": Command("commands.plan", "plan"),
        "jobs": Command("commands.jobs", "jobs", example="JOBS"),
        "job": Command("commands.jobs", "job", example="JOB"),
        "report": Command("report.command", "report"),
        "export": Command("commands.export", "export"),
        "import": Command("exchange.command", "import_memories"),
    },
    "Steer a run": {
        "budget": Command("commands.budget", "budget"),
        "throttle": Command("commands.throttle", "throttle"),
        "pause": Command("commands.mode", "pause", example="PAUSE"),
        "resume": Command("commands.mode", "resume", example="RESUME"),
        "drain": Command("commands.mode", "drain", example="DRAIN"),
        "cancel": Command("commands.mode", "cancel", example="CANCEL"),
        "retry": Command("commands.retry", "retry"),
        "delete": Command("commands.delete", "delete"),
    },
    "Prove, estimate, load-test": {
        "replay": Command("commands.replay", "replay_run"),
        "audit": Command("commands.audit", "audit_run"),
        "estimate": Command("estimate.command", "estimate_run"),
        "load": Command("load.load_command", "load"),
        "capacity": Command("load.capacity_command", "capacity"),
        "fake-llm": Command("fake_llm.command", "fake_llm"),
    },
    "Set up": {
        "doctor": Command("doctor.command", "doctor"),
        "config": Command("commands.config", "config"),
    },
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}
_GROUP_OF = {name: title for title, group in GROUPS.items() for name in group}


class _LazyCommands(Mapping[str, object]):
    """The commands as Typer expects them, each imported when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        command = COMMANDS[name]
        module = import_module(f"cogitate.ops.{command.module}")
        passing_on = {"allow_extra_args": True, "ignore_unknown_options": True}
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        alone.command(
            name,
            epilog=getattr(module, command.example),
            context_settings=passing_on if command.passes_on else None,
            rich_help_panel=_GROUP_OF[name],
        )(getattr(module, command.function))
        return typer.main.get_command(alone)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _CommandGroup(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": _LazyCommands()})


app = typer.Typer(
    name="cogitate",
    cls=_CommandGroup,
    help="Run background cognition for simulations on a budget. Start with: cogitate run",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _print_version(requested: bool) -> None:
    if requested:
        print(f"cogitate {version('cogitate')}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _check_moved(arguments: list[str]) -> None:
    """Refuse an option that has become a command, whatever the other options.

    Raises:
        TyperException: naming the command.
    """
    if arguments[:1] == ["load"] and "--find" in arguments:
        raise typer.BadParameter("--find is now a command: cogitate capacity, with the same options")


def main() -> None:
    """Run the console script, and exit with its code. Tracebacks appear only with -v."""
    prepare_streams()
    try:
        _check_moved(sys.argv[1:])
        code = app(standalone_mode=False)
        sys.stdout.flush()  # errors are reported from here on
    except BrokenPipeError:  # the reader has closed the pipe, as in `… | head`
        code = 1
    except Exception as error:
        from cogitate.memory.errors import text_of
        from cogitate.ops.error_messages import FAILED, error_message  # here: it imports every error class

        message = error_message(error)
        if message is None:
            print_error(f"this is a bug in cogitate: {type(error).__name__}: {text_of(error)}; -v shows the traceback")
            if {"-v", "-vv", "--verbose"} & set(sys.argv):
                raise
            code = FAILED
        else:
            print_error(message.line)
            code = message.exit_code
    leave_streams()
    sys.exit(code or 0)


def print_error(line: str) -> None:
    if line:  # empty if Typer printed the help
        from cogitate.memory.errors import printable

        print(f"cogitate: {printable(line)}", file=sys.stderr)
