"""`cogitate worker`: run one worker process with this machine's settings, and restart it when it dies."""

from __future__ import annotations

import os
import select
import sys

import typer

from cogitate.hosting import logs
from cogitate.ops.command_options import DataDir, read_settings
from cogitate.ops.signals import interruptible
from cogitate.scheduler.ledger.connect import check_soon
from cogitate.workers.processes.supervisor import WorkerPool, worker_command, worker_environment

POLL_INTERVAL = 0.5  # seconds
HELP = {"--help", "-h", "--version"}

EXAMPLE = """
Example: COGITATE_REDIS_URL=redis://localhost:6379/0 cogitate worker

Example: cogitate worker --concurrency 16 --queues plan,reflect
"""


def worker(context: typer.Context, data_dir: DataDir = None) -> int:
    """Run a worker: `celery -A cogitate worker` with the settings filled in. Further options are Celery's.

    A worker that dies is restarted. The first Ctrl-C or SIGTERM lets it finish its jobs, the second stops it at once.
    """
    logs.configure(0)
    settings = read_settings(data_dir=data_dir)
    url = settings.state_url()
    check_soon(url)
    if HELP.intersection(context.args):
        command = [*worker_command("worker@%h"), *context.args]
        sys.stdout.flush()
        os.execve(command[0], command, worker_environment(settings))
    stop_requested, request_stop = os.pipe()  # a pipe instead of an event, see `cogitate.ops.signals`
    with interruptible(lambda text: print(text, file=sys.stderr, flush=True)) as interruption:
        try:
            with (
                WorkerPool(settings, 1, arguments=context.args, shown=True) as pool,
                interruption.softened(lambda: os.write(request_stop, b"."), "the jobs that have begun"),
            ):
                while not select.select([stop_requested], [], [], POLL_INTERVAL)[0]:
                    if not pool.any_left():
                        return 1
                pool.stop()
        except KeyboardInterrupt:
            return interruption.exit_code
    return 0
