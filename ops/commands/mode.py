"""`cogitate pause`, `resume`, `drain` and `cancel`: what a run's host is to do, one command each."""

from __future__ import annotations

from hosting import logs
from ops.command_options import AsJson, DataDir, Verbose
from ops.commands.control_requests import NoWait, RunName, request_controls
from scheduler.config.controls import SetMode

PAUSE = "Example: cogitate pause town-1"
RESUME = "Example: cogitate resume town-1"
DRAIN = "Example: cogitate drain town-1"
CANCEL = "Example: cogitate cancel town-1"


def pause(
    run: RunName, no_wait: NoWait = False, data_dir: DataDir = None, as_json: AsJson = False, verbose: Verbose = 0
) -> int:
    """Let a run wait after its present tick: no tick goes by, no worker claims a job of it. Jobs in flight end.

    It waits until `cogitate resume`, whoever hosts it meanwhile.
    """
    return _set(run, SetMode("paused"), "pause", no_wait, data_dir, as_json, verbose)


def resume(
    run: RunName, no_wait: NoWait = False, data_dir: DataDir = None, as_json: AsJson = False, verbose: Verbose = 0
) -> int:
    """Let a paused or draining run go on as usual.

    A run without a host goes on with `cogitate run --run RUN --resume`.
    """
    return _set(run, SetMode("running"), "resume", no_wait, data_dir, as_json, verbose)


def drain(
    run: RunName, no_wait: NoWait = False, data_dir: DataDir = None, as_json: AsJson = False, verbose: Verbose = 0
) -> int:
    """Let a run finish its open jobs, admit no new one, and stop. It can be resumed, and goes on as usual then."""
    return _set(run, SetMode("draining"), "drain", no_wait, data_dir, as_json, verbose)


def cancel(
    run: RunName, no_wait: NoWait = False, data_dir: DataDir = None, as_json: AsJson = False, verbose: Verbose = 0
) -> int:
    """End a run for good after its present tick. Its open jobs are cancelled, what they cost stays charged."""
    return _set(run, SetMode("cancelled"), "cancel", no_wait, data_dir, as_json, verbose)


def _set(run: str, control: SetMode, verb: str, no_wait: bool, data_dir: DataDir, as_json: bool, verbose: int) -> int:
    logs.configure(verbose)
    return request_controls(
        run, [control], named=[f"{verb} {run}"], data_dir=data_dir, as_json=as_json, no_wait=no_wait
    )
