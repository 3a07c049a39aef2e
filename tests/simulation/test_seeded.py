"""The simulator on a few seeds, and on itself: a seed is one run for ever, and each planted bug is found.

`make simulate` tries more: `make simulate SEEDS=10000`, or `make simulate SEED=17` for one that was found broken.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from cogitate.scheduler.ledger.errors import RunMissing
from cogitate.scheduler.ledger.run_store import RunStore
from tests.simulation.seeded.cluster import Cluster
from tests.simulation.seeded.faults import FAULTS, JOB_STATES, OF_REQUESTS, PAIRS, Coverage, empty_pairs
from tests.simulation.seeded.model import OF_ITEMS
from tests.simulation.seeded.mutations import MUTATIONS
from tests.simulation.seeded.planted import find_planted_bug, trials_for
from tests.simulation.seeded.processes import Broken
from tests.simulation.seeded.scene import RUN, is_batched, is_packed, scene_of_seed
from tests.simulation.seeded.searches import FOUND
from tests.simulation.seeded.server import Server, be_silent, simulating
from tests.simulation.seeded.trial import LEAST_STEPS, Trials

FEW = 60  # seeds in which most faults happen
MOST = 2_000  # seeds in which each fault must happen
LATE = 130  # from here CI tries no seed as it comes
LEAVES_A_CORRECTION = 34  # the first seed that does: it is tried first
MEET_ALL_FAULTS_OF_PACKS = (69, 209, 449)  # seeds that do together: they are tried first


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with simulating() as server:
        yield server


@pytest.fixture(autouse=True)
def silent(own_logging: None) -> None:
    """Reset logging to its default before each test."""
    be_silent()


def test_a_few_seeds_are_clean(server: Server) -> None:
    trials = Trials(server)
    assert any(scene_of_seed(seed, 0).story for seed in range(FEW)), "no seed plays the story"
    coverage: Coverage = Coverage()
    forced = 0
    for seed in range(MOST):
        trial = trials.run(seed)
        assert trial.steps >= LEAST_STEPS
        coverage.update(trial.coverage)
        forced += trial.forced
        happened = {fault for _, fault in coverage}
        if seed >= FEW and happened == {*FAULTS}:
            break
    else:
        pytest.fail(f"did not happen in {MOST} seeds: {', '.join({*FAULTS} - happened)}")
    assert {f"job {state}" for state in JOB_STATES} < {state for state, _ in coverage}
    assert forced, "no job ended dead, failed or late: too little goes wrong"
    assert len(empty_pairs(coverage)) < len(PAIRS) // 2


def test_packs_meet_the_faults_of_requests_and_of_items(server: Server) -> None:
    trials, met, wanted = Trials(server, OF_REQUESTS), Counter[str](), (*OF_REQUESTS, *OF_ITEMS)
    for seed in (*MEET_ALL_FAULTS_OF_PACKS, *filter(is_packed, range(MOST))):
        met.update(trials.run(seed).met)
        if all(met[fault] for fault in wanted):
            return
    pytest.fail(f"did not happen in packs: {', '.join(fault for fault in wanted if not met[fault])}")


def test_batches_of_a_run_that_is_deleted_are_cancelled_though_the_worker_that_sent_them_is_gone(
    server: Server,
) -> None:
    deleted = 0
    for seed in filter(is_batched, range(FEW)):
        server.clear()
        deleted += Cluster(seed, server).live_until_deleted()
    assert deleted


@pytest.mark.parametrize("seed", [7, next(filter(is_batched, range(FEW)))])
def test_a_seed_is_the_same_run_for_ever(server: Server, seed: int) -> None:
    first, second = (Trials(server).run(seed) for _ in range(2))
    assert first == second


def test_usage_is_missing_only_if_it_will_never_be_charged(server: Server) -> None:
    """Check that readers leave unjournalled usage to a host that takes over a finished run, until it is done."""
    plain = server.plain
    store = _live_until_a_correction_is_left(server)
    trials = Trials(server)
    trials.check_charges(store)
    plain.hset(store.key("state"), "status", "running")
    trials.check_charges(store)
    left: Any = plain.hgetall(store.key("corrections"))
    plain.delete(store.key("corrections"))
    with pytest.raises(Broken, match="are charged to owners or may be yet"):
        trials.check_charges(store)
    for key, raw in left.items():
        retry = {"job": key.decode(), "used": json.loads(raw)["usage"]}
        plain.hset(store.key("retries"), b"token of " + key, json.dumps(retry))
    trials.check_charges(store)


def test_a_run_may_be_missing_only_after_the_server_was_set_back(server: Server) -> None:
    server.clear()
    cluster = Cluster(7, server)
    with pytest.raises(RunMissing):
        cluster.check_sign()
    cluster._restart()
    cluster.check_sign()


def _live_until_a_correction_is_left(server: Server) -> RunStore:
    """Return a run at whose end a job's usage has become known that no tick has journalled."""
    for seed in (LEAVES_A_CORRECTION, *range(FEW)):
        server.clear()
        Cluster(seed, server).live()
        store = RunStore.open(server.plain, RUN)
        if server.plain.exists(store.key("corrections")):
            return store
    pytest.fail(f"no run of {FEW} seeds has left a correction")


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_planted_bug_is_found(server: Server, name: str) -> None:
    seed = FOUND.get(name, 0)
    if find_planted_bug(server, name, [seed]) is None:
        pytest.fail(
            f"seed {seed} does not find {name!r} any more: make simulate PLANTED={name!r} names the first seed that "
            "does, for FOUND in tests/simulation/seeded/searches.py",
            pytrace=False,
        )


@pytest.mark.parametrize("name", [name for name, seed in FOUND.items() if seed >= LATE])
def test_a_late_seed_is_clean_without_its_bug(server: Server, name: str) -> None:
    trials_for(server, name).run(FOUND[name])
