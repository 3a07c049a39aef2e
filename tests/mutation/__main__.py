"""The command behind `make mutate`."""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from mutation.judge import Trial, judge, preload
from mutation.mutants import Mutant, mutants_of
from mutation.reached import Reached, record

ROOT = Path(__file__).resolve().parents[2]
AREAS = ("memory", "tasks", "scheduler", "workers")
TESTS = ("tests/unit", "tests/simulation", "tests/integration")
MOST_SECONDS = 90.0  # of tests that one mutant is tried with
GOAL = 0.95


def chosen(names: Sequence[str], number: int | None, seed: int) -> list[Mutant]:
    """Return the mutants of the named modules and folders, or a sample of them, the same for a seed."""
    paths = [
        str(found.relative_to(ROOT))
        for name in names
        for found in (sorted((ROOT / name).rglob("*.py")) if (ROOT / name).is_dir() else [ROOT / name])
    ]
    every = [mutant for path in paths for mutant in mutants_of(ROOT, path)]
    if number is None or number >= len(every):
        return every
    return sorted(random.Random(seed).sample(every, number))


def explained() -> dict[str, str]:
    """Return the survivors that change nothing that anybody could see, each with its reason."""
    listed = tomllib.loads((Path(__file__).parent / "explained.toml").read_text())
    return {item["change"]: item["why"] for item in listed.get("survivor", [])}


def within(tests: Sequence[str], reached: Reached) -> tuple[list[str], float]:
    """Return as many of the tests, in their order, as a trial has time for, and what they take."""
    total, some = 0.0, []
    for test in tests:
        total += reached.seconds.get(test, 0.0)
        if total > MOST_SECONDS and some:
            break
        some.append(test)
    return some, min(total, MOST_SECONDS)


def newest(folders: Sequence[str]) -> float:
    """Return when a file of the product or its tests was last changed."""
    return max(path.stat().st_mtime for folder in folders for path in (ROOT / folder).rglob("*.py"))


def main() -> int:
    """Plant mutants and report what the tests find; 1 when fewer than the goal are found or explained."""
    parser = argparse.ArgumentParser(prog="make mutate")
    parser.add_argument("modules", nargs="*", default=list(AREAS), help="modules and folders; default: all areas")
    parser.add_argument("--number", type=int, help="how many mutants to sample; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--tests", nargs="*", default=list(TESTS), help="files and folders of tests")
    parser.add_argument("--reuse", action="store_true", help="take the lines that an earlier run recorded, as they are")
    arguments = parser.parse_args()

    folder = ROOT / ".mutation"
    kept = folder / "all"
    if not arguments.reuse and not (kept.exists() and kept.stat().st_mtime > newest((*AREAS, *TESTS))):
        print("recording which test reaches which line …", flush=True)
        record(ROOT, folder, arguments.tests, arguments.processes)
    reached, known = Reached(ROOT, folder), explained()
    mutants = chosen(arguments.modules, arguments.number, arguments.seed)
    print(f"{len(mutants)} mutants, seed {arguments.seed}", flush=True)
    preload()

    trials = [Trial(m, *within(reached.tests(m.path, m.first, m.last), reached)) for m in mutants]
    control = sorted({test for trial in trials for test in trial.tests[:1]})[:50]
    if judge(ROOT, Trial(None, control, 60.0))[1] != "survived":
        print("the tests fail without any mutant: run them first")
        return 1
    counts: Counter[str] = Counter()
    began = time.monotonic()
    with multiprocessing.get_context("fork").Pool(arguments.processes) as pool:
        for mutant, verdict in pool.imap_unordered(partial(judge, ROOT), trials):
            assert mutant is not None
            outcome = "explained" if verdict != "found" and mutant.change in known else verdict
            counts[outcome] += 1
            if outcome in ("survived", "unreached"):
                where = f"{mutant.path}:{mutant.first} {mutant.function}"
                print(f"{outcome.upper():9} {where}: {mutant.before}  ->  {mutant.after}", flush=True)
    total = sum(counts.values())
    share = (counts["found"] + counts["explained"]) / total if total else 1.0
    print(
        f"{total} mutants in {time.monotonic() - began:.0f} s: {counts['found']} found, {counts['explained']} "
        f"explained, {counts['survived']} survived, {counts['unreached']} reached by no test: {share:.1%}"
    )
    return 0 if share >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
