"""A host that loses its ledger: it waits, or carries on and writes its buffer afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakeredis import FakeRedis, FakeServer
from redis import Redis

from cogitate.hosting.tick_loop import TickLoop
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.scheduler.ledger.errors import Fenced, LedgerUnavailable, RunRolledBack
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.scheduler.ledger.outage import CarryOn, Pause
from tests.integration.scheduler.ledger.ledger_case import OWNER, Host, claimed, settle, worker


class Flaky:
    """A server that can be disconnected, and a host that carries on without it."""

    def __init__(self) -> None:
        self.server = FakeServer()
        self.client = FakeRedis(server=self.server)
        self.host = Host(self.client)

    def carry_on(self, buffer: int = 1_000_000) -> CarryOn:
        """Make the host carry on in outages; the test decides when the server is found again."""
        outage = CarryOn("r", 0.0, buffer, lambda: None)
        outage._look = lambda: None  # type: ignore[method-assign]
        self.host.ledger.outage = outage
        return outage

    def away(self) -> None:
        self.server.connected = False

    def back(self, outage: CarryOn) -> None:
        self.server.connected = True
        outage._answers.set()


@pytest.fixture
def flaky() -> Flaky:
    return Flaky()


def journal(flaky: Flaky) -> list[int]:
    """Return the ticks in the ledger's journal."""
    return [line.core.tick for line in lines(flaky)]


def lines(flaky: Flaky) -> list[ReadLine]:
    """Return the lines of the ledger's journal."""
    store = flaky.host.ledger.store
    return list(read_journal(store, 1, int(flaky.client.hget(store.key("state"), "tick") or 0)))


def test_ticks_of_an_outage_are_written_in_order_afterwards(flaky: Flaky) -> None:
    host, outage = flaky.host, flaky.carry_on()
    (job,) = host.turn(("think", OWNER))
    claims = worker(flaky.client)
    claim = claimed(claims, job)
    flaky.away()
    host.turn()
    assert host.turn(("think", OWNER)) == [], "nothing is admitted without the ledger"
    host.until(job.due + 2)
    flaky.back(outage)
    assert journal(flaky) == [1]
    assert settle(claims, claim) == "staged", "the ledger does not know yet that the job is late"
    host.turn()
    assert journal(flaky) == list(range(1, job.due + 3))
    assert host.ended()[job.key] == ("applied", "late")
    assert audit(flaky.client, "r") == []
    assert [one.refused for line in lines(flaky) for one in line.core.decided] == ["", "away"]
    (again,) = host.turn(("think", OWNER))
    assert again.key.tick == host.tick.number - 1, "jobs are admitted again"


def test_a_fenced_host_discards_its_buffer(flaky: Flaky) -> None:
    host, outage = flaky.host, flaky.carry_on()
    host.turn()
    flaky.away()
    host.until(5)
    flaky.server.connected = True
    second = Host(flaky.client, resume=True)
    outage._answers.set()
    with pytest.raises(Fenced, match="another host") as fenced:
        host.turn()
    assert "buffered steps are discarded" in fenced.value.__notes__[0]
    assert journal(flaky) == [1]
    second.until(6)
    assert journal(flaky) == [1, 2, 3, 4, 5]
    assert audit(flaky.client, "r") == []


def test_a_full_buffer_stops_the_host(flaky: Flaky) -> None:
    host = flaky.host
    flaky.carry_on(buffer=2_000)
    flaky.away()
    with pytest.raises(LedgerUnavailable, match=r"more than 2000 bytes \(outage_buffer\)"):
        host.until(100)


def test_the_end_of_a_run_waits_for_the_ledger(flaky: Flaky) -> None:
    host = flaky.host
    flaky.carry_on()
    flaky.away()
    host.turn()
    with pytest.raises(LedgerUnavailable, match="1 steps are not written"):
        host.ledger.finish("stopped")


def test_a_waiting_host_gives_up_after_outage_wait(flaky: Flaky) -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    host = flaky.host
    host.ledger.outage = Pause("r", 60.0, clock=lambda: now[0], sleep=sleep)
    host.turn()
    flaky.away()
    with pytest.raises(LedgerUnavailable, match=r"not back within 60 s \(outage_wait\)"):
        host.turn()
    assert now[0] == 60.0


def test_a_waiting_host_repeats_its_step_until_the_ledger_answers(flaky: Flaky) -> None:
    def sleep(seconds: float) -> None:
        flaky.server.connected = True

    host = flaky.host
    host.ledger.outage = Pause("r", 60.0, sleep=sleep)
    host.turn()
    flaky.away()
    host.turn()
    assert journal(flaky) == [1, 2]
    assert audit(flaky.client, "r") == []


def test_a_run_lost_during_its_takeover_is_reported_as_rolled_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, settings = FakeRedis(), Settings(data_dir=tmp_path)
    TickLoop(run="r", owners={}, settings=settings, inline=True, client=client).close()
    taken = HostLedger.resume

    def forgetful(client: Redis, run: str) -> HostLedger:
        ledger = taken(client, run)
        client.flushall()  # as if the server lost its last seconds in a power failure
        return ledger

    monkeypatch.setattr(HostLedger, "resume", forgetful)
    with pytest.raises(RunRolledBack, match="'r': the ledger has lost it"):
        TickLoop(run="r", owners={}, settings=settings, inline=True, client=client, exist="resume")
