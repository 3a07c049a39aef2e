"""`python -m tests.simulation.seeded`: many seeds on all processors, one alone, or a search for a planted bug."""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from itertools import count, islice

from tests.simulation.seeded.cluster import OF_PACKS
from tests.simulation.seeded.faults import FAULTS, PAIRS, STATES, Coverage, empty_pairs
from tests.simulation.seeded.mutations import MUTATIONS
from tests.simulation.seeded.parallel import try_many
from tests.simulation.seeded.planted import find_planted_bug
from tests.simulation.seeded.scene import is_packed
from tests.simulation.seeded.server import simulating
from tests.simulation.seeded.trial import Trials

ENOUGH = 10_000  # seeds after which every pair of a state and a fault must have been seen
SMALL = 0.01  # the share of seeds that may be too small to show anything


def main() -> int:
    """Try seeds, report, and say with the exit code whether all were clean."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.seeded", description=__doc__)
    parser.add_argument("--seed", type=int, help="try this seed alone")
    parser.add_argument("--seeds", type=int, help="try so many seeds")
    parser.add_argument("--minutes", type=float, help="stop after so many minutes")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument(
        "--planted", choices=MUTATIONS, metavar="BUG", help="name the first seed that finds this planted bug"
    )
    parser.add_argument("--packed", action="store_true", help="only seeds that pack calls")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    chosen = parser.parse_args()
    if chosen.seed is not None:
        return _alone(chosen.seed)
    if chosen.planted is not None:
        return _planted(chosen.planted, chosen.first)
    seeds: Iterator[int] = count(chosen.first)
    if chosen.packed:
        seeds = filter(is_packed, seeds)
    if chosen.seeds is not None:
        seeds = islice(seeds, chosen.seeds)
    return _many(seeds, chosen.processes, (chosen.minutes or float("inf")) * 60)


def _alone(seed: int) -> int:
    with simulating() as server:
        try:
            trial = Trials(server).run(seed)
        except Exception:
            traceback.print_exc()
            print(f"seed {seed} is broken")
            return 1
    print(f"seed {seed} is clean: {trial.steps} steps, {trial.forced} jobs dead, failed or late, digest {trial.digest}")
    return 0


def _planted(name: str, first: int) -> int:
    with simulating() as server:
        found = find_planted_bug(server, name, range(first, first + ENOUGH))
    if found is None:
        print(f"none of {ENOUGH} seeds finds {name!r}")
        return 1
    print(f"seed {found.seed} finds {name!r}: {found.wrong}")
    return 0


def _many(seeds: Iterator[int], processes: int, seconds: float) -> int:
    began = time.monotonic()
    clean, steps, small, broken = 0, 0, 0, []
    coverage: Coverage = Counter()
    met: Counter[str] = Counter()
    for seed, trial, wrong in try_many(seeds, processes=processes, seconds=seconds):
        if trial is None and not wrong:
            small += 1
        elif trial is None:
            broken.append(seed)
            print(f"seed {seed} is broken: {wrong}\n  make simulate SEED={seed}", flush=True)
        else:
            clean += 1
            steps += trial.steps
            coverage.update(trial.coverage)
            met.update(trial.met)
    took = time.monotonic() - began
    print(_table(coverage))
    print("packed requests:", ", ".join(f"{met[fault]} {fault}" for fault in OF_PACKS))
    empty = empty_pairs(coverage)
    for pair in empty:
        print(f"never: {pair}")
    named = f": {sorted(broken)[:20]}" if broken else ""
    print(
        f"{clean} seeds clean, {len(broken)} broken{named}, {small} too small to count; "
        f"{steps / max(1, clean):.0f} steps a seed, {clean / took:.1f} seeds a second on {processes} processes; "
        f"{len(PAIRS) - len(empty)} of {len(PAIRS)} pairs of state and fault"
    )
    return int(bool(broken) or small > SMALL * clean or (bool(empty) and clean >= ENOUGH))


def _table(coverage: Coverage) -> str:
    """Print how often each fault happened in each state."""
    width = max(map(len, FAULTS))
    head = " " * width + "".join(f"{state.split()[1][:9]:>10}" for state in STATES)
    rows = [f"{fault:<{width}}" + "".join(f"{coverage[state, fault]:>10}" for state in STATES) for fault in FAULTS]
    return "\n".join([head, *rows])


if __name__ == "__main__":
    sys.exit(main())
