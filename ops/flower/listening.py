"""Flower on an address that is taken: one line that says which, where Flower itself ends in a traceback."""

from __future__ import annotations

from typing import Any

from flower.app import Flower

_start = Flower.start_http_server


def _start_or_say(self: Any) -> Any:
    try:
        return _start(self)
    except OSError as error:
        where = self.options.unix_socket or f"{self.options.address or '*'}:{self.options.port}"
        raise SystemExit(
            f"cogitate: Flower cannot listen at {where} ({error.strerror or error}): stop what does, or choose "
            "another port with --port=N"
        ) from None


def register() -> None:
    """Let Flower in this process say so."""
    Flower.start_http_server = _start_or_say
