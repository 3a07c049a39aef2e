"""Ledger scripts whose text a planted bug replaces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import cogitate.scheduler.ledger.keys


@contextmanager
def in_script(name: str, *changes: tuple[str, str]) -> Iterator[None]:
    """Replace texts in a script, preludes included; in every script that has them if the name is "*".

    Raises:
        ValueError: A named script does not have a text exactly once, or no script has it.
    """
    original = cogitate.scheduler.ledger.keys.source
    if name == "*":
        every = "".join(script.read_text() for script in Path(cogitate.scheduler.ledger.__path__[0]).glob("lua/*.lua"))
        if missing := [old for old, _ in changes if old not in every]:
            raise ValueError(f"no script has {missing}: bring this mutation up to date")

    def changed(script: str) -> str:
        text = original(script)
        if script == name or name == "*":
            for old, new in changes:
                if name != "*" and text.count(old) != 1:
                    raise ValueError(
                        f"{script}.lua has {text.count(old)} times {old!r}: bring this mutation up to date"
                    )
                text = text.replace(old, new)
        return text

    with patch.object(cogitate.scheduler.ledger.keys, "source", changed):
        yield
