"""The jobs that one message hints at, several of them at a time.

A message for each job costs a worker more than a job that asks no model. So a host may put the hints of several jobs
into one (the setting `batch`), and whoever takes it runs them: the thread that Celery gives it, and others that help
where a job waits. How many ask a model at a time is the lane's matter, as with single hints.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from redis.exceptions import RedisError


class Batches:
    """The batches of one worker process. Thread-safe.

    Args:
        threads: how many help, for all batches together.
        run: runs a job, or puts it aside, and returns in words what came of it.
    """

    def __init__(self, threads: int, run: Callable[[str], str]) -> None:
        self._run = run
        self._threads = threads
        self._helpers = ThreadPoolExecutor(threads, thread_name_prefix="batch")
        self._closed = threading.Event()

    def run(self, job_ids: Sequence[str]) -> Counter[str]:
        """Run the jobs, and return how many came to what.

        The error of one does not keep the others from running, unless the ledger is away.

        Raises:
            Exception: the first that a job has raised, once the others have ended.
        """
        waiting = deque(job_ids)
        outcomes: list[str] = []
        errors: list[Exception] = []

        def work() -> None:
            while not self._closed.is_set():
                try:
                    job_id = waiting.popleft()
                except IndexError:
                    return
                try:
                    outcomes.append(self._run(job_id))
                except Exception as error:
                    errors.append(error)
                    if isinstance(error, RedisError):
                        waiting.clear()  # the host repeats their hints

        helpers = [self._helpers.submit(work) for _ in range(min(self._threads, len(waiting) - 1))]
        work()
        for helper in helpers:
            if not helper.cancel():  # one that has not begun has nothing left to do
                helper.result()
        if errors:
            raise errors[0]
        return Counter(sorted(outcomes))

    def close(self) -> None:
        """Drop the jobs that have not begun, and those of further batches: this process is about to end."""
        self._closed.set()
        self._helpers.shutdown(wait=False)
