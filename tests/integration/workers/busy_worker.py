"""A real worker whose jobs run until a file appears: `python busy_worker.py FOLDER`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import cogitate.workers.jobs.process_lane
from cogitate.workers import app
from cogitate.workers.jobs.process_lane import RunnableHint
from cogitate.workers.jobs.runner import Outcome

FOLDER = Path(sys.argv[1])


def run_hint(hint: RunnableHint) -> None:
    hint.run(run_job)


def run_job(job_id: str) -> Outcome:
    name = job_id.replace("/", "-")
    (FOLDER / f"{name}.begun").touch()
    while not (FOLDER / "release").exists():
        time.sleep(0.02)  # poll: the test, in another process, makes the file
    (FOLDER / f"{name}.ended").touch()
    return Outcome("ready")


if __name__ == "__main__":
    cogitate.workers.jobs.process_lane.run_hint = run_hint
    app.worker_main(["worker", "--loglevel", "info", "--without-mingle", "--without-gossip"])
