"""Clients of the state's server: as many threads as the largest worker has may use one at a time."""

from __future__ import annotations

from cogitate.scheduler.ledger.connect import connect
from cogitate.workers.processes.embedded import EmbeddedServer


def test_more_threads_than_the_clients_own_bound_have_a_connection_each(valkey: EmbeddedServer) -> None:
    client = connect(valkey.url, 5.0)
    held = [client.connection_pool.get_connection() for _ in range(150)]
    assert client.connection_pool.max_connections >= 1_000
    for connection in held:
        client.connection_pool.release(connection)
    client.close()
