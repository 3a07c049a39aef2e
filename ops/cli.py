"""The command line: each command of `cogitate`, by its name.

Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 a run or a verification failed, 2 the command or
the configuration cannot be used, 130 and 143 stopped by Ctrl-C or SIGTERM.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from ops import (
    audit_command,
    budget_command,
    config_command,
    delete_command,
    doctor_command,
    estimate_command,
    export_command,
    fake_llm_command,
    flower_command,
    job_command,
    jobs_command,
    load_command,
    memory_command,
    mode_commands,
    plan_command,
    replay_command,
    report_command,
    retry_command,
    run_command,
    runs_command,
    status_command,
    throttle_command,
    worker_command,
)
from ops.complaints import FAILED, complaint_of

app = typer.Typer(
    name="cogitate",
    help="Background cognition for simulations, on a budget. Start with: cogitate run",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("run", epilog=run_command.EXAMPLE)(run_command.run)
app.command(
    "worker",
    epilog=worker_command.EXAMPLE,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(worker_command.worker)
app.command(
    "flower",
    epilog=flower_command.EXAMPLE,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(flower_command.flower)
app.command("replay", epilog=replay_command.EXAMPLE)(replay_command.replay_run)
app.command("audit", epilog=audit_command.EXAMPLE)(audit_command.audit_run)
app.command("estimate", epilog=estimate_command.EXAMPLE)(estimate_command.estimate_run)
app.command("report", epilog=report_command.EXAMPLE)(report_command.report)
app.command("load", epilog=load_command.EXAMPLE)(load_command.load)
app.command("runs", epilog=runs_command.EXAMPLE)(runs_command.runs)
app.command("status", epilog=status_command.EXAMPLE)(status_command.status)
app.command("memory", epilog=memory_command.EXAMPLE)(memory_command.memory)
app.command("plan", epilog=plan_command.EXAMPLE)(plan_command.plan)
app.command("jobs", epilog=jobs_command.EXAMPLE)(jobs_command.jobs)
app.command("job", epilog=job_command.EXAMPLE)(job_command.job)
app.command("export", epilog=export_command.EXAMPLE)(export_command.export)
app.command("budget", epilog=budget_command.EXAMPLE)(budget_command.budget)
app.command("throttle", epilog=throttle_command.EXAMPLE)(throttle_command.throttle)
app.command("pause", epilog=mode_commands.PAUSE)(mode_commands.pause)
app.command("resume", epilog=mode_commands.RESUME)(mode_commands.resume)
app.command("drain", epilog=mode_commands.DRAIN)(mode_commands.drain)
app.command("cancel", epilog=mode_commands.CANCEL)(mode_commands.cancel)
app.command("retry", epilog=retry_command.EXAMPLE)(retry_command.retry)
app.command("delete", epilog=delete_command.EXAMPLE)(delete_command.delete)
app.command("fake-llm", epilog=fake_llm_command.EXAMPLE)(fake_llm_command.fake_llm)
app.command("doctor", epilog=doctor_command.EXAMPLE)(doctor_command.doctor)
app.command("config", epilog=config_command.EXAMPLE)(config_command.config)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"cogitate {version('cogitate')}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """The console script. Ends the process with its exit code; a user never sees a traceback."""
    try:
        code = app(standalone_mode=False)
    except Exception as error:
        complaint = complaint_of(error)
        if complaint is None:
            complain(f"this is a fault in cogitate: {type(error).__name__}: {error}; with -v it shows where")
            if {"-v", "-vv", "--verbose"} & set(sys.argv):
                raise
            code = FAILED
        else:
            complain(complaint.line)
            code = complaint.exit_code
    sys.exit(code or 0)


def complain(line: str) -> None:
    """One line on stderr."""
    if line:  # empty when help was shown instead
        print(f"cogitate: {line}", file=sys.stderr)
