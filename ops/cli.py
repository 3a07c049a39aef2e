"""The command line of `cogitate`: finds a command by its name.

Results go to stdout, everything else to stderr. Exit codes: 0 success, 1 a run or a verification failed, 2 the command
or the configuration is invalid, 130 and 143 stopped by Ctrl-C or SIGTERM.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from cogitate.ops.command_options import ungrouped

WIDEST = 10_000  # the most columns or lines of a terminal; libraries accept any number in COLUMNS and LINES


def prepare_streams() -> None:
    """Replace closed standard streams by the null device; make the others escape characters that they cannot encode.

    Unset COLUMNS and LINES if they hold an impossible size of the terminal.
    """
    for name in ("COLUMNS", "LINES"):
        size = os.environ.get(name, "")
        if not (size.isascii() and size.isdigit() and len(size) <= 5 and 0 < int(size) <= WIDEST):
            os.environ.pop(name, None)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            _open_null(number)
            setattr(sys, name, open(number, "r+" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115
        elif number and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def leave_streams() -> None:
    """Flush the output, and discard what cannot be written: the interpreter would try again and print a traceback."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):  # full, closed by its reader, or closed here
            _open_null(number)


def _open_null(number: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    if null != number:
        os.dup2(null, number)
        os.close(null)


class Command(NamedTuple):
    """The location of a command's function. Its module is imported on first use, since most modules import much."""

    module: str
    function: str
    examples: tuple[str, ...]
    passes_on: bool  # passes unknown options on to Celery


def _command(module: str, function: str, *examples: str, passes_on: bool = False) -> Command:
    return Command(module, function, examples, passes_on)


GROUPS = {
    "Run and host": {
        "run": _command(
            "commands.run",
            "run",
            "cogitate run --town 10 --days 2 --workers 3",
            "cogitate run --story --seed 4",
            "cogitate run --recorded DIR --llm openai --limit-usd 0.50",
        ),
        "fork": _command(
            "commands.run",
            "fork",
            "cogitate fork town-1 --at 'day 1 12:00' --run noon",
            "cogitate fork town-1 --at 720 --run poor --set day.tokens=20000",
            "cogitate fork town-1.capsule --at 720 --run other",
        ),
        "worker": _command(
            "commands.serve",
            "worker",
            "COGITATE_REDIS_URL=redis://localhost:6379/0 cogitate worker",
            "cogitate worker --concurrency 16 --queues plan,reflect",
            passes_on=True,
        ),
        "flower": _command(
            "commands.serve",
            "flower",
            "cogitate flower --port=5555",
            "cogitate flower --basic-auth=operator:secret --url-prefix=flower --origin=http://ops.example:8080",
            passes_on=True,
        ),
        "gateway": _command(
            "commands.serve", "gateway", "cogitate gateway", "cogitate gateway --address 0.0.0.0 --tokens hosts.txt"
        ),
        "host": _command("commands.serve", "host", "cogitate host --stdio"),
    },
    "Read a run": {
        "runs": _command("commands.runs", "runs", "cogitate runs --data-dir .cogitate"),
        "status": _command("commands.runs", "status", "cogitate status town-1", "cogitate status town-1 --watch"),
        "memory": _command(
            "commands.memory", "memory", "cogitate memory town-1 agent:ada --query 'What happened at the market?'"
        ),
        "plan": _command("commands.memory", "plan", "cogitate plan town-1 agent:isabella"),
        "jobs": _command(
            "commands.jobs",
            "jobs",
            "cogitate jobs town-1 --state late --kind plan",
            "cogitate jobs town-1 --owner agent:isabella --last 10",
            "cogitate jobs town-1 --model small --from 420 --to 480",
        ),
        "job": _command("commands.jobs", "job", "cogitate job town-1/360/plan/agent:isabella/0/0"),
        "report": _command(
            "report.command",
            "report",
            "cogitate report town-1",
            "cogitate report town-1 --out reports/monday.html --json",
        ),
        "minds": _command(
            "commands.minds", "minds", "cogitate minds town-1", "cogitate minds town-1.capsule --out monday.html"
        ),
        "compare": _command(
            "commands.compare",
            "compare",
            "cogitate compare town-1 town-2",
            "cogitate compare town-1 town-2 --since 720 --html difference.html",
            "cogitate compare town-1 theirs.capsule --svg difference.svg",
        ),
        "sweep": _command("experiment.command", "sweep", "cogitate sweep rain.toml", "cogitate sweep rain.toml --json"),
        "export": _command(
            "commands.export",
            "export",
            "cogitate export town-1 --what memories --out memories.jsonl",
            "cogitate export town-1 --format capsule --out town-1.capsule",
        ),
        "import": _command(
            "exchange.command",
            "import_memories",
            "cogitate import memories.jsonl --run village",
            "cogitate import storage/July1_the_ville_isabella_maria_klaus-step-3-20 --run ville",
            "cogitate import locomo10.json --sample conv-26 --run talk",
            "cogitate import agent.af --run companion",
        ),
    },
    "Steer a run": {
        "budget": _command(
            "commands.budget",
            "budget",
            "cogitate budget town-1 set day.tokens 200000",
            "cogitate budget town-1 set run.usd 0.50",
            "cogitate budget town-1 unset day.kind:reflect.calls",
        ),
        "throttle": _command(
            "commands.steer",
            "throttle",
            "cogitate throttle town-1 reflect 0.5",
            "cogitate throttle town-1 reflect 0.25 --pin",
            "cogitate throttle town-1 reflect --auto",
        ),
        "pause": _command("commands.steer", "pause", "cogitate pause town-1"),
        "resume": _command("commands.steer", "resume", "cogitate resume town-1"),
        "drain": _command("commands.steer", "drain", "cogitate drain town-1"),
        "cancel": _command("commands.steer", "cancel", "cogitate cancel town-1 --yes"),
        "cancel-jobs": _command(
            "commands.job_requests",
            "cancel_jobs",
            "cogitate cancel-jobs town-1/360/plan/agent:isabella/0/0 --reason 'it asks for too much'",
            "cogitate cancel-jobs town-1 --kind reflect --reason 'the endpoint is too slow today'",
        ),
        "retry": _command(
            "commands.job_requests",
            "retry",
            "cogitate retry town-1/360/plan/agent:isabella/0/0",
            "cogitate retry town-1 --state failed --kind plan --reason 'the model is back'",
        ),
        "move": _command("commands.runs", "move", "cogitate move town-1 --to redis://second:6379/0"),
        "delete": _command("commands.runs", "delete", "cogitate delete town-1 --yes"),
    },
    "Prove, estimate, load-test": {
        "replay": _command("commands.verify", "replay_run", "cogitate replay town-1 --verify"),
        "verify": _command("commands.verify", "verify", "cogitate verify town-1.capsule"),
        "audit": _command("commands.verify", "audit_run", "cogitate audit town-1"),
        "estimate": _command(
            "estimate.command",
            "estimate_run",
            "cogitate estimate --agents 100 --days 7 --llm openai --limit-usd 5",
            "cogitate estimate --agents 25 --reflect-every 360 --json",
        ),
        "load": _command(
            "load.load_command",
            "load",
            "cogitate load --profile outage",
            'cogitate load --profile steady --agents 100 --assert "late_share<0.05" --json',
            "cogitate load --demand job_demand.csv",
        ),
        "capacity": _command(
            "load.capacity_command",
            "capacity",
            "cogitate capacity --agents 50 --up-to 20",
            'cogitate capacity --raise cadence --level "late_share<=0.02" --json',
        ),
        "fake-llm": _command(
            "fake_llm.command",
            "fake_llm",
            "cogitate fake-llm --port 8000 --latency 0.8 --jitter 0.4 --fault 429=0.1 --fault hang=0.01",
        ),
    },
    "Set up": {
        "doctor": _command(
            "doctor.command",
            "doctor",
            "cogitate doctor",
            "COGITATE_REDIS_URL=redis://localhost:6379/0 cogitate doctor --json",
        ),
        "config": _command("commands.config", "config", "COGITATE_WORKERS=4 cogitate config"),
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
        single = typer.Typer(add_completion=False, rich_markup_mode="rich")
        single.command(
            name,
            epilog="\n\n".join([*(f"Example: {line}" for line in command.examples), getattr(module, "NOTES", "")]),
            context_settings=passing_on if command.passes_on else None,
            rich_help_panel=_GROUP_OF[name],
        )(ungrouped(getattr(module, command.function)))
        return typer.main.get_command(single)

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
        sys.stdout.flush()  # here, where an error is reported
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
