"""The keys of a run: the auditor knows those that scripts use, and only the ledger puts keys together."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest

from cogitate.scheduler.ledger.keys import OF_OWNERS, OF_RUN

SEVERAL = {"job", "window", "due", "ready", "journal_checkpoint"}  # of each job, window or tick


def test_every_key_of_a_script_is_known_to_the_auditor() -> None:
    texts = [
        file.read_text()
        for file in (resources.files("cogitate.scheduler.ledger") / "lua").iterdir()
        if file.name.endswith(".lua")
    ]
    once = {name for text in texts for name in re.findall(r"\brun \.\. '([a-z_]+)'", text)}
    many = {name for text in texts for name in re.findall(r"\brun \.\. '([a-z_]+):'", text)}
    assert {"state", "attempts", "alone"} <= once <= OF_RUN
    assert many <= SEVERAL | OF_OWNERS


PACKAGES = ("scheduler", "workers", "hosting", "simulation", "ops", "bench", "tasks", "prompts", "memory")
PUT_TOGETHER = re.compile(r"""prefix(\(\))? \+ f?["']|\{[\w.]*prefix\}[a-z_]+:|cogitate:\{\{""")


@pytest.mark.parametrize(
    "text", ['prefix + "state"', "self._prefix + 'jobs'", 'f"{prefix}job:{key}"', 'f"cogitate:{{{run}}}:"']
)
def test_a_key_that_is_put_together_is_recognised(text: str) -> None:
    assert PUT_TOGETHER.search(text)


def test_only_the_ledger_puts_keys_of_a_run_together() -> None:
    root = Path(__file__).parents[4]
    own = root / "scheduler" / "ledger"
    files = [file for package in PACKAGES for file in (root / package).rglob("*.py") if own not in file.parents]
    assert len(files) > 200
    found = [
        f"{file.relative_to(root)}:{number}"
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if PUT_TOGETHER.search(line)
    ]
    assert found == [], "ask the RunStore for the key"
