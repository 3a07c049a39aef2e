"""Many seeds at once: a process for each processor, each with a server of its own."""

from __future__ import annotations

import atexit
import faulthandler
import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from itertools import islice
from typing import NamedTuple

from tests.simulation.seeded.server import simulating
from tests.simulation.seeded.trial import TooLittle, Trial, Trials

HANGS = 300.0  # seconds of one seed, which takes a tenth of one, after which it never ends

_trials: Trials | None = None  # of this process


class Tried(NamedTuple):
    """The result of one seed."""

    seed: int
    trial: Trial | None  # None: it is broken, or too little happened to show anything
    wrong: str = ""  # what is broken


def try_many(seeds: Iterator[int], *, processes: int, seconds: float) -> Iterator[Tried]:
    """Try seeds until they or the time are over; as they come.

    Raises:
        RuntimeError: when a process has died, as after a seed that hangs. Its stacks are on standard error.
    """
    began = time.monotonic()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_enter) as pool:
        running: dict[Future[Tried], int] = {}

        def start(number: int) -> None:
            running.update((pool.submit(_try, seed), seed) for seed in islice(seeds, number))

        start(2 * processes)
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            try:
                yield from [future.result() for future in done]
            except BrokenProcessPool as error:
                raise RuntimeError(f"a process died or hung at one of the seeds {sorted(running.values())}") from error
            for future in done:
                del running[future]
            if time.monotonic() - began < seconds:
                start(len(done))


def _enter() -> None:
    """A server for this process, for as long as it lives."""
    global _trials
    alive = ExitStack()
    _trials = Trials(alive.enter_context(simulating()))
    atexit.register(alive.close)


def _try(seed: int) -> Tried:
    assert _trials is not None
    faulthandler.dump_traceback_later(HANGS, exit=True)
    try:
        return Tried(seed, _trials.run(seed))
    except TooLittle:
        return Tried(seed, None)
    except Exception as error:
        return Tried(seed, None, f"{type(error).__name__}: {error}")
    finally:
        faulthandler.cancel_dump_traceback_later()
