"""Opening a run whose name is taken: refused, gone on with, or begun anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fakeredis import FakeRedis

from cogitate import Profile, Settings, TickLoop
from cogitate.errors import ConfigurationError, LedgerError, RunExists
from cogitate.scheduler.journal.exported import journal_folder
from cogitate.scheduler.ledger.run_store import run_names

Loops = Callable[..., TickLoop]

ADA = {"agent:ada": Profile(name="Ada Smith")}
BEN = {"agent:ben": Profile(name="Ben Cole")}


def lived(loops: Loops, client: FakeRedis, upto: int = 3, **more: object) -> TickLoop:
    """A run of ten ticks, left after the tick `upto`."""
    with loops(**({"owners": ADA, "client": client, "ticks": 10} | more)) as loop:
        for tick in loop:
            if tick.number == upto:
                break
    return loop


def test_a_name_that_is_taken_is_refused_and_the_words_say_how(cogitate_loop: Loops) -> None:
    client = FakeRedis()
    lived(cogitate_loop, client)
    with pytest.raises(RunExists, match=r'exist="resume".*exist="replace"') as refused:
        lived(cogitate_loop, client)
    assert "--" not in str(refused.value), "that is for the command line"
    assert isinstance(refused.value, LedgerError)


def test_resume_continues_a_run_or_creates_one(cogitate_loop: Loops) -> None:
    client = FakeRedis()
    first = lived(cogitate_loop, client, exist="resume")
    assert (first.tick, sorted(first.state.streams)) == (3, ["agent:ada"])
    second = lived(cogitate_loop, client, upto=10, exist="resume", owners=BEN)
    assert (second.tick, sorted(second.state.streams)) == (10, ["agent:ada"])
    assert second.ledger.incarnation == first.ledger.incarnation
    assert second.digest == lived(cogitate_loop, FakeRedis(), upto=10).digest


def test_a_run_in_memory_is_not_resumed() -> None:
    with pytest.raises(ConfigurationError, match="in memory"):
        TickLoop(run="gone", owners=ADA, inline=True, exist="resume")


@pytest.mark.parametrize("upto", [3, 10])
def test_replace_starts_a_new_run(cogitate_loop: Loops, tmp_path: Path, upto: int) -> None:
    client, settings = FakeRedis(), Settings(data_dir=tmp_path)
    first = lived(cogitate_loop, client, upto, exist="replace", settings=settings)
    folder = journal_folder(tmp_path, "test", first.ledger.incarnation)
    folder.mkdir(parents=True)
    (folder / "000001.jsonl").write_text("{}\n")
    other = lived(cogitate_loop, client, run="other")
    second = lived(cogitate_loop, client, upto, exist="replace", owners=BEN, settings=settings)
    assert (second.tick, sorted(second.state.streams)) == (upto, ["agent:ben"])
    assert not [key for key in client.scan_iter() if first.ledger.incarnation.encode() in key]
    assert not folder.exists()
    assert run_names(client) == ["other", "test"]
    assert client.hget(other.ledger.store.key("state"), "tick") == b"3"
