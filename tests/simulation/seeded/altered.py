"""Scripts of the ledger with another text in the place of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import cogitate.scheduler.ledger.keys


@contextmanager
def in_script(name: str, *changes: tuple[str, str]) -> Iterator[None]:
    """Return a script with texts replaced, preludes included."""
    original = cogitate.scheduler.ledger.keys.source

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
