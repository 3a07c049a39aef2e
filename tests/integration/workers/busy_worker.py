"""A real worker whose jobs last until a file appears: `python busy_worker.py FOLDER`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import cogitate.workers.jobs.process_lane
from cogitate.workers import app

FOLDER = Path(sys.argv[1])


def run_job(job_id: str) -> None:
    name = job_id.replace("/", "-")
    (FOLDER / f"{name}.begun").touch()
    while not (FOLDER / "release").exists():
        time.sleep(0.02)  # between two looks: the test, another process, makes the file
    (FOLDER / f"{name}.ended").touch()


if __name__ == "__main__":
    cogitate.workers.jobs.process_lane.run_job = run_job
    app.worker_main(["worker", "--loglevel", "info", "--without-mingle", "--without-gossip"])
