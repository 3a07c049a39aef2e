"""Deleting a run: no key remains or returns, and a live host keeps its run unless forced."""

from __future__ import annotations

import os

import pytest
from redis import Redis

from cogitate.scheduler.ledger import deletion
from cogitate.scheduler.ledger.connect import scan_keys
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.errors import Fenced, RunHeld, RunMissing
from cogitate.scheduler.ledger.keys import RUNS, incarnation_key
from cogitate.scheduler.ledger.presence import Presence
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.scheduler.ledger.ledger_case import OTHER, OWNER, Host, claimed, settle, worker


def keys_of(client: Redis, run: str) -> set[bytes]:
    """Return the keys of a run; a set, since a scan may return a key twice."""
    return {key for key in client.scan_iter(count=1000) if b"{%s}" % run.encode() in key}


def test_deletion_removes_every_key_and_workers_restore_none(valkey: EmbeddedServer) -> None:
    with valkey.client() as client:
        host, other = Host(client, run="gone"), Host(client, run="gone.too")
        jobs = host.turn(("think", OWNER), ("think", OTHER), ("muse", OWNER))
        claims = worker(client)
        settled, running = claimed(claims, jobs[0]), claimed(claims, jobs[1])
        assert settle(claims, settled) == "staged"
        host.until(3)
        kept = keys_of(client, "gone.too")
        assert keys_of(client, "gone")

        assert delete_run(client, "gone", force=True) > 10
        assert (settle(claims, running), claims.claim(jobs[2].id)) == ("gone", "gone")
        claims.beat("gone", running.incarnation)
        with pytest.raises(Fenced, match="or it was deleted"):
            host.turn()
        assert keys_of(client, "gone") == set()
        assert client.smembers(RUNS) == {b"gone.too"}
        assert keys_of(client, "gone.too") == kept
        other.turn()


def test_a_run_with_a_live_host_is_deleted_only_by_force(valkey: EmbeddedServer) -> None:
    with valkey.client() as client:
        host = Host(client, run="held")
        presence = Presence(host.ledger, lease=60.0)
        presence.start()
        try:
            with pytest.raises(RunHeld, match=rf"'held' is held by the host .*:{os.getpid()} .*--force"):
                delete_run(client, "held")
            host.turn()
            assert delete_run(client, "held", force=True)
        finally:
            presence.stop()
        assert not host.ledger.present(b"{}", 60.0), "the host restores no key"
        assert keys_of(client, "held") == set()


def test_a_host_that_steps_during_the_deletion_keeps_its_run(
    valkey: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with valkey.client() as client:
        host = Host(client, run="held")
        monkeypatch.setattr(deletion, "check_unheld", lambda *_: host.turn())
        with pytest.raises(RunHeld, match="has just taken a step"):
            delete_run(client, "held")
        host.turn()


def test_a_run_whose_host_is_gone_can_be_deleted(valkey: EmbeddedServer) -> None:
    with valkey.client() as client:
        Host(client, run="left")
        assert delete_run(client, "left")
        assert keys_of(client, "left") == set()


def test_an_interrupted_deletion_is_completed(valkey: EmbeddedServer) -> None:
    with valkey.client() as client:
        host = Host(client, run="half")
        host.turn(("think", OWNER))
        client.delete(incarnation_key("half"), host.ledger.store.key("state"))
        assert keys_of(client, "half")
        assert delete_run(client, "half")
        assert keys_of(client, "half") == set()
        with pytest.raises(RunMissing, match="no run 'half'; there are: none"):
            delete_run(client, "half")


def test_a_new_run_of_the_same_name_is_not_deleted(valkey: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with valkey.client() as client:
        Host(client, run="again")
        created: list[Host] = []
        scan = scan_keys

        def create_meanwhile(*args: object) -> object:
            created.append(Host(client, run="again"))
            return scan(*args)  # type: ignore[arg-type]

        monkeypatch.setattr(deletion, "scan_keys", create_meanwhile)
        delete_run(client, "again", force=True)
        created[0].turn(("think", OWNER))
        prefix = created[0].ledger.store.prefix.encode()
        assert all(
            key.startswith(prefix) or key == incarnation_key("again").encode() for key in keys_of(client, "again")
        )
        assert client.smembers(RUNS) == {b"again"}
