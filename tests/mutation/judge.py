"""One mutant on trial: the tests that reach it run against it in a process of their own, until one fails."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from mutation import hook
from mutation.mutants import Mutant

Verdict = Literal["found", "survived", "unreached"]

PATIENCE = 60.0  # seconds beyond three times what the tests take without it, after which a mutant hangs: it is found


def preload() -> None:
    """Import what tests need that is not the product, once for all trials."""
    for name in (
        "pytest", "hypothesis", "redis", "fakeredis", "pydantic", "pydantic_settings", "msgspec", "structlog", "celery",
        "kombu", "aiohttp", "jinja2", "typer", "rich", "snowballstemmer", "greenlet", "xdist", "psutil",
    ):  # fmt: skip
        __import__(name)


class Trial(NamedTuple):
    """A mutant and the tests that it has to pass to survive."""

    mutant: Mutant | None  # None: the product as it is, which must survive
    tests: Sequence[str]
    seconds: float  # that the tests take without it


def judge(root: Path, trial: Trial) -> tuple[Mutant | None, Verdict]:
    """Run the tests against the mutant, in a child process that ends with the trial."""
    mutant, tests, seconds = trial
    if not tests:
        return mutant, "unreached"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setpgid(0, 0)
            code = _try(root, mutant, tests)
        finally:
            os._exit(code)
    deadline = time.monotonic() + 3 * seconds + PATIENCE
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            _end_group(child)
            return mutant, "survived" if os.waitstatus_to_exitcode(status) == 0 else "found"
        time.sleep(0.02)  # between two looks at a process that says nothing
    _end_group(child)
    os.waitpid(child, 0)
    return mutant, "found"


def _end_group(child: int) -> None:
    """End what the trial's tests may have left running: a mutant may not stop what it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


def _try(root: Path, mutant: Mutant | None, tests: Sequence[str]) -> int:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    if mutant is not None:
        hook.install(root, mutant.path, mutant.index)
        os.environ[hook.VARIABLE] = f"{mutant.path}:{mutant.index}"
    site = str(root / "tests" / "mutation" / "site")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (site, os.environ.get("PYTHONPATH"))))
    os.environ["CI"] = "true"
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    import pytest

    # Plain assertions: pytest's hook, which rewrites them, would import the product's modules past ours.
    plain = ["--assert", "plain", "-p", "no:cacheprovider"]
    return int(pytest.main(["-x", "-q", *plain, "--timeout", "120", *tests]))
