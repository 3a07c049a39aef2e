"""`cogitate pause`, `resume`, `drain` and `cancel`: set the mode of a run."""

from __future__ import annotations

from cogitate.hosting import logs
from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import AsJson, DataDir, RunName, Verbose, Yes, is_confirmed
from cogitate.ops.commands.control_requests import NoWait, request_controls
from cogitate.scheduler.config.controls import SetMode

PAUSE = "Example: cogitate pause town-1"
RESUME = "Example: cogitate resume town-1"
DRAIN = "Example: cogitate drain town-1"
CANCEL = "Example: cogitate cancel town-1 --yes"


def pause(
    run: RunName, no_wait: NoWait = False, data_dir: DataDir = None, as_json: AsJson = False, verbose: Verbose = 0
) -> int:
    """Pause a run after its present tick. Its workers claim no further job; jobs in flight end.

    The run stays paused until `cogitate resume`, also under another host.
    """
    return _set(run, SetMode("paused"), "pause", no_wait, data_dir, as_json, verbose)


def resume(
    run: RunName, no_wait: NoWait = False, data_dir: DataDir = None, as_json: AsJson = False, verbose: Verbose = 0
) -> int:
    """Resume a paused or draining run.

    To resume a run without a host, use `cogitate run --run RUN --resume`.
    """
    return _set(run, SetMode("running"), "resume", no_wait, data_dir, as_json, verbose)


def drain(
    run: RunName, no_wait: NoWait = False, data_dir: DataDir = None, as_json: AsJson = False, verbose: Verbose = 0
) -> int:
    """Stop a run once its open jobs have ended; it admits no new one. A resumed run admits jobs again."""
    return _set(run, SetMode("draining"), "drain", no_wait, data_dir, as_json, verbose)


def cancel(
    run: RunName,
    yes: Yes = False,
    no_wait: NoWait = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """End a run for good after its present tick and cancel its open jobs. Their cost stays charged.

    This cannot be undone: a cancelled run cannot be resumed. The exit code is 1 when you answer no.
    """
    if not yes and not is_confirmed("cancel", run, f"End run {run} for good? It cannot be resumed."):
        Terminal(stderr=True).print("the run continues", highlight=False)
        return 1
    return _set(run, SetMode("cancelled"), "cancel", no_wait, data_dir, as_json, verbose)


def _set(run: str, control: SetMode, verb: str, no_wait: bool, data_dir: DataDir, as_json: bool, verbose: int) -> int:
    logs.configure(verbose)
    return request_controls(
        run, [control], named=[f"{verb} {run}"], data_dir=data_dir, as_json=as_json, no_wait=no_wait
    )
