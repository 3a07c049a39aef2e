"""What several files of tests of the scheduler begin with."""

from __future__ import annotations

import pytest

from cogitate.scheduler.ledger.run_store import RunStore
from tests.unit.scheduler.run_lines_case import lines, store_of, with_open_job


@pytest.fixture
def store() -> RunStore:
    """A ledger that holds the short run of `run_lines_case`, with its open job."""
    return with_open_job(store_of(lines()))
