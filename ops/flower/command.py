"""`cogitate flower`: replaces this process by Flower with Cogitate's pages and this machine's settings."""

from __future__ import annotations

import os
import sys

import typer

from cogitate.ops.command_options import DataDir, read_settings
from cogitate.scheduler.ledger.connect import check_soon
from cogitate.workers.processes.supervisor import worker_environment

APP = "cogitate"

EXAMPLE = """
Example: cogitate flower --port=5555

Example: cogitate flower --basic-auth=operator:secret --url-prefix=flower --origin=http://ops.example:8080
"""


def flower(context: typer.Context, data_dir: DataDir = None) -> int:
    """Show tasks, budgets and cadence in a browser: `celery -A cogitate flower` with the settings filled in.

    Further options are Flower's. It listens on this machine only.
    """
    settings = read_settings(data_dir=data_dir)
    url = settings.state_url()
    check_soon(url)
    command = [sys.executable, "-m", "celery", "-A", APP, "flower", "--address=127.0.0.1", *context.args]
    sys.stdout.flush()
    os.execve(command[0], command, worker_environment(settings))
