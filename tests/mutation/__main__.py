"""The command behind `make mutate`."""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.mutation import hook
from tests.mutation.judge import HANGS, PLAIN, FirstExample, Jury, Trial, Verdict, preload, try_cold
from tests.mutation.mutants import Mutant, mutants_of
from tests.mutation.reached import Reached, record

ROOT = Path(__file__).resolve().parents[2]
AREAS = ("memory", "tasks", "scheduler", "workers")
TESTS = ("tests/unit", "tests/simulation", "tests/integration")
GOAL = 0.95


def modules_of(names: Sequence[str]) -> list[str]:
    """Return the modules and Lua scripts in the named files and folders."""
    return [
        str(found.relative_to(ROOT))
        for name in names
        for found in (sorted((ROOT / name).rglob("*")) if (ROOT / name).is_dir() else [ROOT / name])
        if found.suffix in (".py", ".lua")
    ]


def chosen(paths: Sequence[str], number: int | None, each: int | None, seed: int) -> list[Mutant]:
    """Return the mutants of the modules, or a sample of all or of each, the same for a seed."""
    every: list[Mutant] = []
    for path in paths:
        of = mutants_of(ROOT, path)
        every += of if each is None or each >= len(of) else random.Random(f"{seed} {path}").sample(of, each)
    if number is not None and number < len(every):
        every = random.Random(seed).sample(every, number)
    return sorted(every)


def explained() -> dict[str, str]:
    """Return the survivors that change nothing that anybody could see, each with its reason."""
    listed = tomllib.loads((Path(__file__).parent / "explained.toml").read_text())
    return {item["change"]: item["why"] for item in listed.get("survivor", [])}


class Count:
    """The number of mutants of each module by their end."""

    def __init__(self) -> None:
        self._known = explained()
        self._of: dict[str, Counter[str]] = {}

    def hear(self, mutant: Mutant, verdict: Verdict, found_by: str) -> None:
        """Count one, and print it if it survived."""
        outcome = "explained" if verdict != "found" and mutant.change in self._known else verdict
        self._of.setdefault(mutant.path, Counter())[outcome] += 1
        if outcome in ("survived", "unreached"):
            where = f"{mutant.path}:{mutant.first} {mutant.function}"
            print(f"{outcome.upper():9} {where}: {mutant.before}  ->  {mutant.after}", flush=True)
        elif os.environ.get("MUTATION_SHOW") or found_by == HANGS:
            print(f"{outcome:9} {mutant.change}  by {found_by}", flush=True)

    def table(self) -> float:
        """Print the figures and return the share that was found or explained."""
        total = sum(self._of.values(), Counter[str]())
        for path, of in [*sorted(self._of.items()), ("all", total)]:
            share = (of["found"] + of["explained"]) / of.total()
            print(
                f"{share:7.1%} {path}: {of.total()} mutants, {of['found']} found, {of['explained']} explained, "
                f"{of['survived']} survived, {of['unreached']} reached by no test, which counts as survived"
            )
        return (total["found"] + total["explained"]) / total.total() if total else 1.0


def main() -> int:
    """Plant mutants and report what the tests find; 1 when fewer than the goal are found or explained."""
    parser = argparse.ArgumentParser(prog="make mutate")
    parser.add_argument("modules", nargs="*", default=list(AREAS), help="modules and folders; default: all areas")
    parser.add_argument("--number", type=int, help="how many mutants to sample of all; default: all")
    parser.add_argument("--each", type=int, help="how many mutants to sample of each module; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60, help="of tests that one mutant is tried with")
    parser.add_argument("--processes", type=int, default=1, help="that record which test reaches which line")
    parser.add_argument("--tests", nargs="*", default=list(TESTS), help="files and folders of tests")
    parser.add_argument("--afresh", action="store_true", help="record all tests again, also those that did not change")
    parser.add_argument("--reuse", action="store_true", help="record nothing: use what is known of which test")
    arguments = parser.parse_args()

    folder = ROOT / ".mutation"
    os.environ["CI"] = "true"
    if not arguments.reuse:
        record(ROOT, folder, arguments.tests, arguments.processes, afresh=arguments.afresh)
    reached = Reached(ROOT, folder, arguments.tests)
    mutants = chosen(modules_of(arguments.modules), arguments.number, arguments.each, arguments.seed)
    trials = [Trial(mutant, reached.tests(mutant.path, mutant.first, mutant.last, mutant.name)) for mutant in mutants]
    print(f"{len(mutants)} mutants, seed {arguments.seed}, {arguments.seconds:g} s of tests for each", flush=True)
    if reached.unrecorded:
        print(
            f"{len(reached.unrecorded)} files of tests are not recorded: what they import counts as reached", flush=True
        )
    count, began = Count(), time.monotonic()

    preload()
    warm = []
    for trial in trials:
        if not trial.tests:
            count.hear(trial.mutant, "unreached", "")
        elif not trial.mutant.path.endswith(".lua") and hook.codes(ROOT, trial.mutant.path, trial.mutant.index) is None:
            # Of a file that has changed since, a test may be gone: that it cannot be run is nothing that it found.
            known = [
                test for test in trial.tests if test.partition("::")[0] not in reached.unrecorded or "::" not in test
            ]
            found_by = try_cold(ROOT, Trial(trial.mutant, known), arguments.seconds, reached.seconds) if known else None
            count.hear(trial.mutant, "survived" if found_by is None else "found", found_by or "")
        else:
            warm.append(trial)
    if warm:
        jury = Jury(ROOT, warm, reached.seconds, arguments.seconds, count.hear)
        files = sorted({test.partition("::")[0] for trial in warm for test in trial.tests})
        code = pytest.main([*PLAIN, "--no-header", *files], plugins=[FirstExample(), jury])
        if code != pytest.ExitCode.OK:
            return int(code)
        if jury.fails:
            print("fail without any mutant:", *jury.fails)
    print(f"{time.monotonic() - began:.0f} s")
    return 0 if count.table() >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
