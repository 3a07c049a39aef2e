"""A client of the state's server has connections for all threads of the largest worker."""

from __future__ import annotations

from cogitate.scheduler.ledger.connect import connect
from cogitate.workers.processes.embedded import EmbeddedServer


def test_a_client_allows_at_least_a_thousand_connections(valkey: EmbeddedServer) -> None:
    client = connect(valkey.url, 5.0)
    held = [client.connection_pool.get_connection() for _ in range(150)]
    assert client.connection_pool.max_connections >= 1_000
    for connection in held:
        client.connection_pool.release(connection)
    client.close()
