"""A worker loads Celery's command `worker` alone, and takes its options."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cogitate.workers.processes.supervisor import USAGE, worker_command
from tests.patience import LONGEST


def test_a_worker_loads_none_of_celerys_other_commands() -> None:
    code = (
        "import sys; from celery.bin import worker; from cogitate.workers import app;"
        "import cogitate.workers.processes.celery_worker;"
        "unused = {'celery.bin.celery', 'click_repl', 'flower', 'prompt_toolkit', 'tornado'} & set(sys.modules);"
        "assert not unused, unused"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LONGEST, check=False)
    assert done.returncode == 0, done.stderr


def test_the_command_of_a_worker_takes_the_options_of_celerys() -> None:
    command = [*worker_command("me@%h"), "--help"]
    environment = os.environ | {"COGITATE_REDIS_URL": "redis://localhost:1/0"}  # named, and not connected to
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert done.returncode == 0, done.stderr
    assert "--concurrency" in done.stdout
    assert "--queues" in done.stdout


@pytest.mark.parametrize("option", ["--detach", "-D", "-ED"])
def test_a_supervised_worker_refuses_to_detach(option: str) -> None:
    environment = os.environ | {"COGITATE_REDIS_URL": "redis://localhost:1/0"}  # named, and not connected to
    command = [*worker_command("me@%h"), option]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert done.returncode == USAGE, "an exit with 0 would be restarted"
    assert "celery -A cogitate worker --detach" in done.stderr
