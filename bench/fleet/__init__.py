"""Measure runs that share workers and a limit."""

from __future__ import annotations

from collections.abc import Iterator

from bench.table import Table


def tables() -> Iterator[Table]:
    """Yield the shares served, the waits of a small run, and the spending of calls from a shared limit."""
    from bench.fleet import shared_limit, shares, small_run

    return (module.table() for module in (shares, small_run, shared_limit))
