"""Planted bugs: whether seeds find one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tests.simulation.seeded.mutations import MUTATIONS
from tests.simulation.seeded.searches import FOCUS, WANTED
from tests.simulation.seeded.server import Server
from tests.simulation.seeded.trial import TooLittle, Trials, any_scene


class Found(NamedTuple):
    """The first seed that finds a bug, and what it says."""

    seed: int
    wrong: str


def trials_for(server: Server, name: str) -> Trials:
    """Return trials with the faults and the scenes that show this bug."""
    return Trials(server, FOCUS.get(name, ()), WANTED.get(name, any_scene))


def find_planted_bug(server: Server, name: str, seeds: Iterable[int]) -> Found | None:
    """Try seeds in turn with this bug planted; None if none of them finds it."""
    try:
        with MUTATIONS[name]():
            server.name_verbs()
            trials = trials_for(server, name)
            for seed in seeds:
                try:
                    trials.run(seed)
                except TooLittle:
                    continue
                except Exception as error:
                    return Found(seed, str(error))
    finally:
        server.name_verbs()
    return None
