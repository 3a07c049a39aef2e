"""The kinds of these tests, registered for each of them."""

from __future__ import annotations

import pytest

from cogitate.tasks.registry import register
from tests.unit.workers.jobs.packs.pack_case import ALONE, PACKS


@pytest.fixture(autouse=True)
def registered_kinds() -> None:
    """Register a kind that packs and one that does not."""
    register(PACKS)
    register(ALONE)
