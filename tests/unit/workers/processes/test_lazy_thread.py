"""A thread that is created when it is first started."""

from __future__ import annotations

import os
import threading

from cogitate.workers.processes.lazy_thread import LazyThread


def test_it_starts_once_and_is_waited_for() -> None:
    ran = list[str]()
    thread = LazyThread(lambda: ran.append(threading.current_thread().name), "worker of a test")
    thread.join()
    assert ran == []
    thread.start()
    thread.start()
    thread.join()
    assert ran == ["worker of a test"]


def test_it_starts_in_a_fork_of_the_process_that_made_it() -> None:
    ran = list[bool]()
    thread = LazyThread(lambda: ran.append(True), "worker of a test")
    child = os.fork()
    if not child:
        try:
            thread.start()
            thread.join()
        finally:
            os._exit(0 if ran else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
