"""Real servers on loopback that fail over: a cluster, and a primary watched by a Sentinel."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from abc import ABC, abstractmethod
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from redis import Redis
from redis.exceptions import RedisError

from cogitate.workers.processes.embedded import server_binary
from tests.patience import LONGEST, wait_until
from tests.ports import free_ports

SLOTS = 16384
NODE_TIMEOUT = 1_000  # milliseconds of silence after which the others fail over a primary


class Node:
    """One server, by default a node of a cluster. It saves nothing to disk."""

    def __init__(self, folder: Path, *, cluster: bool = True) -> None:
        folder.mkdir()
        self.port = free_ports(2)
        self._command = [str(server_binary()), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder)]
        self._command += ["--save", ""]
        if cluster:
            self._command += ["--cluster-enabled", "yes", "--cluster-port", str(self.port + 1)]
            self._command += ["--cluster-node-timeout", str(NODE_TIMEOUT), "--cluster-replica-validity-factor", "0"]
            self._command += ["--repl-diskless-sync-delay", "0"]
        self.folder, self.socket = folder, folder / "socket"
        self._log = folder / "log"
        self.client = Redis(port=self.port, socket_timeout=LONGEST)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start or restart the server; a restarted node still knows its cluster."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        wait_until(self._answers, f"the server at {self.port} to answer")

    def announce(self, port: int) -> None:
        """Announce to clients a port that leads to the node's unix socket. Call it before `start`."""
        self._command += ["--unixsocket", str(self.socket), "--cluster-announce-port", str(port)]

    def watch(self, configuration: list[str]) -> None:
        """Start the program as a Sentinel."""
        file = self._log.with_name("sentinel.conf")
        file.write_text("\n".join([f"port {self.port}", "bind 127.0.0.1", *configuration, ""]))
        self._command = [self._command[0], str(file), "--sentinel"]
        self.start()

    def kill(self) -> None:
        """Kill the server at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self.client.close()

    def stall(self) -> None:
        """Suspend the process: it keeps its connections and answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Resume a stalled process."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def ask(self, *words: str | int) -> object:
        return self.client.execute_command(*words)

    def knows(self) -> dict[str, str]:
        """Return the node's CLUSTER INFO."""
        text = self.ask("CLUSTER INFO")
        assert isinstance(text, dict)
        return {str(name): str(value) for name, value in text.items()}

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except RedisError:
            return False


class _Servers(ABC):
    """Servers that start with a `with` block and are killed at its end."""

    def __init__(self, name: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix=f"cogitate-{name}-"))
        self.nodes: list[Node] = []

    def __enter__(self) -> Self:
        with ExitStack() as undone:
            undone.callback(self.__exit__)
            self._form()
            undone.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes:
            node.kill()
        shutil.rmtree(self._folder)

    @abstractmethod
    def _form(self) -> None:
        """Start and connect the servers, and wait until they know each other."""


class Cluster(_Servers):
    """Primaries and their replicas; `with Cluster() as cluster:` starts and stops them."""

    def __init__(self, primaries: int = 3, *, replicas: bool = True) -> None:
        super().__init__("cluster")
        count = primaries * 2 if replicas else primaries
        self.nodes = [Node(self._folder / str(number)) for number in range(count)]
        self.primaries, self.replicas = self.nodes[:primaries], self.nodes[primaries:]

    @property
    def url(self) -> str:
        """Return a URL that names every node, so that a client finds the cluster while one is down."""
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def _form(self) -> None:
        for node in self.nodes:
            node.start()
        first, *others = self.nodes
        for number, node in enumerate(self.primaries):
            low, high = (SLOTS * part // len(self.primaries) for part in (number, number + 1))
            node.ask("CLUSTER", "ADDSLOTSRANGE", low, high - 1)
        for number, node in enumerate(self.nodes):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for node in others:
            node.ask("CLUSTER", "MEET", "127.0.0.1", first.port, first.port + 1)
        all_known = str(len(self.nodes))
        wait_until(
            lambda: all(node.knows()["cluster_known_nodes"] == all_known for node in self.nodes), "the nodes to meet"
        )
        for node, primary in zip(self.replicas, self.primaries, strict=False):
            self._replicate(node, primary)
        wait_until(lambda: all(node.knows()["cluster_state"] == "ok" for node in self.nodes), "the cluster to be whole")
        wait_until(lambda: all(map(self._follows, self.replicas)), "the replicas to follow")

    def node_of(self, key: str) -> int:
        """Return the number of the primary that holds a key before any failover."""
        slot = self.nodes[-1].ask("CLUSTER", "KEYSLOT", key)
        assert isinstance(slot, int)
        return next(n for n in range(len(self.primaries)) if slot < SLOTS * (n + 1) // len(self.primaries))

    def fail_over(self, number: int) -> None:
        """Kill a primary, and wait until its replica has taken its slots."""
        self.primaries[number].kill()
        self.wait_taken_over(number)

    def wait_taken_over(self, number: int) -> None:
        """Wait until the replica of a primary has taken its slots, and every other node sees a whole cluster."""
        others = [node for node in self.nodes if node is not self.primaries[number]]
        wait_until(lambda: self.replicas[number].client.info("replication")["role"] == "master", "the failover")
        wait_until(lambda: all(node.knows()["cluster_state"] == "ok" for node in others), "the cluster to be whole")

    def cut_off_replica(self, number: int) -> None:
        """Stop replication from a primary to its replica, which can still take over."""
        primary, replica = self.primaries[number].client, self.replicas[number].client
        primary.execute_command("ACL SETUSER", "default", "-psync", "-sync")  # redis-py's method turns the user off too
        primary.execute_command("CLIENT KILL", "TYPE", "replica")
        wait_until(lambda: replica.info("replication")["master_link_status"] == "down", "the replica to be cut off")

    @staticmethod
    def _replicate(node: Node, primary: Node) -> None:
        name = primary.ask("CLUSTER", "MYID")
        assert isinstance(name, bytes)

        def accepted() -> bool:
            try:
                return bool(node.ask("CLUSTER", "REPLICATE", name.decode()))
            except RedisError:  # it does not know the primary yet
                return False

        wait_until(accepted, "the node to replicate")

    @staticmethod
    def _follows(node: Node) -> bool:
        return bool(node.client.info("replication").get("master_link_status") == "up")


class Watched(_Servers):
    """A primary, its replica, and a Sentinel that promotes the replica; `with Watched() as watched:`."""

    def __init__(self) -> None:
        super().__init__("sentinel")
        self.primary, self.replica = (Node(self._folder / name, cluster=False) for name in ("primary", "replica"))
        self._sentinel = Node(self._folder / "sentinel", cluster=False)
        self.nodes = [self._sentinel, self.primary, self.replica]

    @property
    def url(self) -> str:
        return f"redis+sentinel://127.0.0.1:{self._sentinel.port}/ledger?db=2"

    def _form(self) -> None:
        for node in (self.primary, self.replica):
            node.start()
        self.replica.ask("REPLICAOF", "127.0.0.1", self.primary.port)
        wait_until(
            lambda: self.replica.client.info("replication")["master_link_status"] == "up", "the replica to follow"
        )
        configuration = [
            f"sentinel monitor ledger 127.0.0.1 {self.primary.port} 1",
            f"sentinel down-after-milliseconds ledger {NODE_TIMEOUT}",
            f"sentinel failover-timeout ledger {2 * NODE_TIMEOUT}",
        ]
        self._sentinel.watch(configuration)
        wait_until(lambda: bool(self._sentinel.ask("SENTINEL REPLICAS", "ledger")), "the Sentinel to find the replica")

    def fail_over(self) -> None:
        """Kill the primary, and wait until its replica is promoted."""
        self.primary.kill()
        wait_until(lambda: self.replica.client.info("replication")["role"] == "master", "the failover")
