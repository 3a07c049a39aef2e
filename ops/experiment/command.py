"""`cogitate sweep`: run an experiment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from cogitate.hosting import logs
from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import AsJson, Verbose
from cogitate.ops.error_messages import FAILED
from cogitate.ops.experiment.runner import FolderHeld
from cogitate.ops.experiment.statistics import sentences
from cogitate.ops.experiment.summary import ends, money_lines, own_first, progress_line, thoughts_line
from cogitate.ops.experiment.sweeping import Sweep
from cogitate.ops.experiment.sweeping import sweep as run_sweep
from cogitate.ops.formatting.budget import by_unit
from cogitate.ops.formatting.charts import figure
from cogitate.ops.signals import interruptible
from cogitate.scheduler.ledger.errors import LedgerUnavailable


def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The experiment, as TOML.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="The folder of its runs and results (default FILE without .toml).",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Run an experiment: every condition several times, on shared workers, within one limit.

    The same command continues an experiment that was interrupted, killed or stopped at its limit. The exit code is 1 if
    runs remain.
    """
    logs.configure(verbose)
    err, console = Terminal(stderr=True), Terminal(stderr=as_json)
    stop_requests: list[bool] = []
    with (
        interruptible(err.print) as interruption,
        interruption.softened(lambda: stop_requests.append(True), "leaving the runs, which can be continued"),
    ):
        try:
            result = run_sweep(
                file,
                out=out,
                watch=lambda progress: err.print(progress_line(progress)),
                stop=lambda: bool(stop_requests),
            )
        except (LedgerUnavailable, FolderHeld) as error:
            if not stop_requests:
                raise
            held = isinstance(error, FolderHeld)
            what = "another process ran the experiment" if held else "its server did not answer"
            err.print(f"stopped while {what}; run the same command to continue")
            return interruption.exit_code
    _print(console, result)
    if as_json:
        print(json.dumps(_json(result)), flush=True)
    if stop_requests:
        return interruption.exit_code
    return 0 if result.complete else FAILED


def _print(console: Terminal, result: Sweep) -> None:
    shown = [one for one in own_first(result.comparisons) if not one.base and not one.empty]
    if shown:
        table = Table("measure", "condition", "runs", "mean", "difference from the base")
        for one in shown:
            apart = "" if one.difference is None else f"{figure(one.difference.mean)}, {ends(one.difference)}"
            table.add_row(one.measure, one.condition, str(one.value.n), figure(one.value.mean), apart)
        console.print(table)
    for line in sentences(result.comparisons):
        console.print(line)
    progress = result.progress
    parts = [f"{progress.done:,} of {progress.runs:,} runs", thoughts_line(result.results)]
    console.print("; ".join([*parts, *money_lines(progress.spent)]))
    if result.stopped:
        console.print("stopped at its limit: raise limit_tokens or limit_usd, and run the same command to continue")
    for run in progress.failed:
        console.print(f"the host of run {run} failed: see {result.files[0].parent / 'logs' / run}.log")
    console.print(f"written: {', '.join(str(path) for path in result.files)}")


def _json(result: Sweep) -> dict[str, object]:
    return {
        "runs": result.progress.runs,
        "done": result.progress.done,
        "failed": list(result.progress.failed),
        "stopped_at_limit": result.stopped,
        "spent": by_unit(result.progress.spent.spent),
        "summary": list(result.summary),
        "files": [str(path) for path in result.files],
    }
