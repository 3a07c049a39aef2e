"""A cluster of real servers on loopback: primaries that share the slots, each with a replica."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from redis import Redis
from redis.exceptions import RedisError

from cogitate.workers.processes.embedded import server_binary
from tests.patience import LONGEST
from tests.ports import free_ports

SLOTS = 16384
NODE_TIMEOUT = 1_000  # milliseconds after which the others fail a silent primary over


class Node:
    """One server of a cluster."""

    def __init__(self, folder: Path, *options: str) -> None:
        folder.mkdir()
        self.port = free_ports(2)
        self._command = [str(server_binary()), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder)]
        self._command += ["--cluster-port", str(self.port + 1), "--cluster-enabled", "yes", "--save", ""]
        self._command += ["--cluster-node-timeout", str(NODE_TIMEOUT)]
        self._command += ["--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0", *options]
        self._log = folder / "log"
        self.client = Redis(port=self.port, socket_timeout=LONGEST)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server, or start it again with what it knew."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        wait_until(self._answers, f"the server at {self.port} answers")

    def kill(self) -> None:
        """Kill the server at once; it writes nothing further."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self.client.close()

    def pause(self) -> None:
        """Stop the process, which keeps its connections and answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def ask(self, *words: str | int) -> object:
        return self.client.execute_command(*words)

    def knows(self) -> dict[str, str]:
        """Return what the node says of the cluster."""
        text = self.ask("CLUSTER INFO")
        assert isinstance(text, dict)
        return {str(name): str(value) for name, value in text.items()}

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except RedisError:
            return False


class Cluster:
    """Primaries and their replicas; `with Cluster() as cluster:` starts and stops them."""

    def __init__(self, primaries: int = 3, *options: str, replicas: bool = True) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="cogitate-cluster-"))
        count = primaries * 2 if replicas else primaries
        self.nodes = [Node(self._folder / str(number), *options) for number in range(count)]
        self.primaries, self.replicas = self.nodes[:primaries], self.nodes[primaries:]

    @property
    def url(self) -> str:
        """Name each node, so that a client finds the cluster while one is down."""
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def __enter__(self) -> Self:
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
        met = str(len(self.nodes))
        wait_until(lambda: all(node.knows()["cluster_known_nodes"] == met for node in self.nodes), "the nodes have met")
        for node, primary in zip(self.replicas, self.primaries, strict=False):
            self._replicate(node, primary)
        wait_until(lambda: all(node.knows()["cluster_state"] == "ok" for node in self.nodes), "the cluster is whole")
        wait_until(lambda: all(map(self._follows, self.replicas)), "the replicas follow")
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes:
            node.kill()
        shutil.rmtree(self._folder)

    def node_of(self, key: str) -> int:
        """Return the number of the primary that holds a key at the start."""
        slot = self.nodes[-1].ask("CLUSTER", "KEYSLOT", key)
        assert isinstance(slot, int)
        return next(n for n in range(len(self.primaries)) if slot < SLOTS * (n + 1) // len(self.primaries))

    def fail_over(self, number: int) -> None:
        """Kill a primary, and wait until its replica has taken its slots."""
        self.primaries[number].kill()
        self.wait_taken_over(number)

    def wait_taken_over(self, number: int) -> None:
        """Wait until the replica of a primary has taken its slots, and every node says that the cluster is whole."""
        there = [node for node in self.nodes if node is not self.primaries[number]]
        wait_until(lambda: self.replicas[number].client.info("replication")["role"] == "master", "it fails over")
        wait_until(lambda: all(node.knows()["cluster_state"] == "ok" for node in there), "the cluster is whole")

    def cut_off_replica(self, number: int) -> None:
        """Let a primary send its replica nothing further; the replica would still take over."""
        primary, replica = self.primaries[number].client, self.replicas[number].client
        primary.acl_setuser("default", commands=["-psync", "-sync"])
        primary.execute_command("CLIENT KILL", "TYPE", "replica")
        wait_until(lambda: replica.info("replication")["master_link_status"] == "down", "the replica is cut off")

    @staticmethod
    def _replicate(node: Node, primary: Node) -> None:
        name = primary.ask("CLUSTER", "MYID")
        assert isinstance(name, bytes)

        def taken() -> bool:
            try:
                return bool(node.ask("CLUSTER", "REPLICATE", name.decode()))
            except RedisError:  # it has not heard of that node yet
                return False

        wait_until(taken, "the node replicates")

    @staticmethod
    def _follows(node: Node) -> bool:
        return bool(node.client.info("replication").get("master_link_status") == "up")


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Wait for a condition.

    Raises:
        TimeoutError: naming it, when it does not hold in time.
    """
    end = time.monotonic() + LONGEST
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.02)
