"""Many seeds at once: a process for each processor, each with a server of its own."""

from __future__ import annotations

import atexit
import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import ExitStack
from itertools import islice
from typing import NamedTuple

from tests.simulation.seeded.server import simulating
from tests.simulation.seeded.trial import TooLittle, Trial, Trials

_trials: Trials | None = None  # of this process


class Tried(NamedTuple):
    """The result of one seed."""

    seed: int
    trial: Trial | None  # None: it is broken, or too little happened to show anything
    wrong: str = ""  # what is broken


def try_many(seeds: Iterator[int], *, processes: int, seconds: float) -> Iterator[Tried]:
    """Try seeds until they or the time are over; as they come."""
    began = time.monotonic()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_enter) as pool:
        running = {pool.submit(_try, seed) for seed in islice(seeds, 2 * processes)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
            if time.monotonic() - began < seconds:
                running |= {pool.submit(_try, seed) for seed in islice(seeds, len(done))}


def _enter() -> None:
    """A server for this process, for as long as it lives."""
    global _trials
    alive = ExitStack()
    _trials = Trials(alive.enter_context(simulating()))
    atexit.register(alive.close)


def _try(seed: int) -> Tried:
    assert _trials is not None
    try:
        return Tried(seed, _trials.run(seed))
    except TooLittle:
        return Tried(seed, None)
    except Exception as error:
        return Tried(seed, None, f"{type(error).__name__}: {error}")
