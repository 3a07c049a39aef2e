"""`cogitate worker`: one worker process for this machine's settings, in the place of this one."""

from __future__ import annotations

import os
import sys

import typer

from ops.options import DataDir, read_settings
from scheduler.connect import check, connect
from workers.supervisor import worker_command, worker_environment

EXAMPLE = """
Example: COGITATE_REDIS_URL=redis://localhost:6379/0 cogitate worker

Example: cogitate worker --concurrency 16 --queues plan,reflect
"""


def worker(context: typer.Context, data_dir: DataDir = None) -> int:
    """Run a worker. Further options are Celery's: this is `celery -A workers worker` with the settings filled in."""
    settings = read_settings(data_dir=data_dir)
    url = settings.state_url()
    with connect(url, settings.socket_timeout) as client:
        check(client, url)
    command = [*worker_command(f"worker{os.getpid()}@%h"), *context.args]
    sys.stdout.flush()
    os.execve(command[0], command, worker_environment(settings))
