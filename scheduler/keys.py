"""Names of the Redis keys. All keys of a run share one hash tag, so that one script may touch them all."""

from __future__ import annotations

import secrets

RUNS = "cogitate:runs"  # set of run names


def new_nonce() -> str:
    """A random nonce: nothing forgotten in a power loss can be confused with something new."""
    return secrets.token_hex(8)


def run_base(run: str) -> str:
    """What every key of a run's name begins with."""
    return f"cogitate:{{{run}}}:"


def incarnation_key(run: str) -> str:
    """The key that holds the nonce of the run's present incarnation."""
    return run_base(run) + "incarnation"


def run_prefix(run: str, incarnation: str) -> str:
    """What every key of one incarnation of a run begins with."""
    return f"{run_base(run)}{incarnation}:"
