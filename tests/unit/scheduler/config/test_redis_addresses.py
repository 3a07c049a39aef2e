"""The database of a server in which messages lie: the one after the state's."""

from __future__ import annotations

import pytest

from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.config.urls import next_database


def test_messages_use_the_next_database(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("redis://here:6379/0", "redis://here:6379/1"),
        ("redis://here:6379", "redis://here:6379/1"),
        ("redis://here/", "redis://here/1"),
        ("rediss://me:pw@here:1/9?x=1", "rediss://me:pw@here:1/10?x=1"),
        ("unix:///tmp/s.sock", "unix:///tmp/s.sock?db=1"),
        ("unix:///tmp/s.sock?db=0", "unix:///tmp/s.sock?db=1"),
        ("unix:///tmp/s.sock?x=1&db=7", "unix:///tmp/s.sock?x=1&db=8"),
        ("unix:///s?udb=7", "unix:///s?udb=7&db=1"),
        ("redis://here/0?db=4", "redis://here/0?db=5"),
        ("redis://here?password=p%40&db=4", "redis://here?password=p%40&db=5"),
    ]
    for url, following in cases:
        with subtests.test(url=url):
            assert next_database(url) == following


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://me:secret@here/0/1", r"redis://me:\*\*\*@here/0/1"),
        ("http://here/0", "http://here/0"),
        ("redis://me:secret@here/zero", r"redis://me:\*\*\*@here/zero"),
        ("", "''"),
    ],
)
def test_an_address_without_a_plain_database_is_refused_without_its_password(url: str, shown: str) -> None:
    with pytest.raises(ConfigurationError, match=f"the database of '?{shown}.*: set COGITATE_BROKER_URL") as refused:
        next_database(url)
    assert "secret" not in str(refused.value)
