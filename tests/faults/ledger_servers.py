"""The servers of an attacked run: one for state and messages, or a cluster for state and a server for messages.

Both offer the same attacks. Where a single server restarts, a replica of the cluster takes over.
"""

from __future__ import annotations

import os
import shutil
import signal
from abc import ABC, abstractmethod
from pathlib import Path

import pytest
from pydantic import SecretStr
from redis import Redis

from cogitate.scheduler.ledger.connect import connect
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.redis_cluster import Cluster

TIMEOUT = 5.0  # seconds; the timeout of the test's own calls


class LedgerServers(ABC):
    """Real servers, which run until `stop`.

    Attributes:
        state: a client of the ledger.
        broker: a client of the messages.
        urls: the settings with the servers' URLs.
    """

    state: Redis
    broker: Redis
    urls: dict[str, SecretStr]

    @abstractmethod
    def kill(self) -> None:
        """Kill the server that holds the run with SIGKILL."""

    @abstractmethod
    def bring_back(self) -> None:
        """Wait until the killed server's keys can be read again."""

    @abstractmethod
    def freeze(self) -> None:
        """Suspend the server that holds the run; its connections stay open."""

    @abstractmethod
    def thaw(self) -> None:
        """Resume the suspended server."""

    @abstractmethod
    def keep_copy(self) -> None:
        """Copy the run's ledger for `fall_back`."""

    @abstractmethod
    def fall_back(self) -> None:
        """Kill the server that holds the run, and continue with the copy."""

    @abstractmethod
    def each(self) -> list[Redis]:
        """Return a client of each server, the run's server first."""

    @abstractmethod
    def stop(self) -> None:
        """Stop all servers and close the clients."""


class SingleServer(LedgerServers):
    """The server of a data folder."""

    def __init__(self, data_dir: Path) -> None:
        self.embedded = EmbeddedServer(data_dir).start()
        self.state, self.broker = self.embedded.client(), self.embedded.client(1)
        self.urls = {"redis_url": SecretStr(self.embedded.url)}
        self._kept = data_dir / "appendonlydir"

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def bring_back(self) -> None:
        again = EmbeddedServer(self.embedded.data_dir).start()
        self.embedded.stop()  # only this reference: other processes still use the server
        self.embedded = again

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def keep_copy(self) -> None:
        shutil.copytree(self._kept, self._kept.with_name("earlier"))

    def fall_back(self) -> None:
        self.kill()
        shutil.rmtree(self._kept)
        shutil.move(self._kept.with_name("earlier"), self._kept)
        self.bring_back()

    def each(self) -> list[Redis]:
        return [self.state]

    def stop(self) -> None:
        self.state.close()
        self.broker.close()
        self.embedded.stop()

    def _signal(self, signal_: signal.Signals) -> None:
        assert self.embedded.pid is not None
        os.kill(self.embedded.pid, signal_)


class ClusterServers(LedgerServers):
    """Three primaries, each with a replica, and a server of messages; the run is on one of the primaries."""

    def __init__(self, data_dir: Path, run: str = "town") -> None:
        self._messages = EmbeddedServer(data_dir).start()
        self.broker = self._messages.client(1)
        self._cluster = Cluster().__enter__()
        self.state = connect(self._cluster.url, TIMEOUT)
        self.urls = {
            "redis_url": SecretStr(self._cluster.url),
            "broker_url": SecretStr(self._messages.url.replace("db=0", "db=1")),
        }
        self._home = self._cluster.node_of(f"{{{run}}}")

    def kill(self) -> None:
        self._cluster.primaries[self._home].kill()

    def bring_back(self) -> None:
        self._cluster.wait_taken_over(self._home)

    def freeze(self) -> None:
        self._cluster.primaries[self._home].stall()

    def thaw(self) -> None:
        """Resume the primary once its replica has taken over; clients may still have connections to it."""
        self._cluster.wait_taken_over(self._home)
        self._cluster.primaries[self._home].wake()

    def keep_copy(self) -> None:
        self._cluster.cut_off_replica(self._home)

    def fall_back(self) -> None:
        self._cluster.fail_over(self._home)

    def each(self) -> list[Redis]:
        home = self._cluster.primaries[self._home]
        return [home.client, *(node.client for node in self._cluster.nodes if node is not home), self.broker]

    def stop(self) -> None:
        self.state.close()
        self._cluster.__exit__()
        self.broker.close()
        self._messages.stop()


#: Marks a test to run on a cluster too, where its attack meets other conditions than on a single server.
also_on_a_cluster = pytest.mark.parametrize(
    "servers", [pytest.param(SingleServer, id="server"), pytest.param(ClusterServers, id="cluster")]
)
