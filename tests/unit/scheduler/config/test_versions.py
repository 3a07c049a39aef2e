"""What each schema of a run's data brought: who reads older runs goes by these numbers."""

from __future__ import annotations

from cogitate.scheduler.config.versions import CORRECTS_VIEW, COUNTS_JOBS, GIVES_SIGNS, SAME_STATUS, SCHEMA


def test_what_a_schema_brought_stays_with_its_number() -> None:
    """Lines are read by the number they were written with: a later one would take from older runs what they have."""
    assert (SAME_STATUS, CORRECTS_VIEW) == (5, 5)
    assert (COUNTS_JOBS, GIVES_SIGNS) == (6, 6)
    assert SCHEMA >= 6
