"""The names of keys that the auditor knows are those that the ledger's scripts use."""

from __future__ import annotations

import re
from importlib import resources

from scheduler.ledger.keys import OF_OWNERS, OF_RUN

SEVERAL = {"job", "window", "due", "ready", "journal_checkpoint"}  # of each job, window or tick


def test_every_key_of_a_script_is_known_to_the_auditor() -> None:
    texts = [
        file.read_text() for file in resources.files("scheduler.ledger.lua").iterdir() if file.name.endswith(".lua")
    ]
    once = {name for text in texts for name in re.findall(r"\brun \.\. '([a-z_]+)'", text)}
    many = {name for text in texts for name in re.findall(r"\brun \.\. '([a-z_]+):'", text)}
    assert {"state", "attempts", "alone"} <= once <= OF_RUN
    assert many <= SEVERAL | OF_OWNERS
