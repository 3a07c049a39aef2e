"""A cluster of real servers as ledger: routing, moving slots, commands over all servers, and refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pydantic import SecretStr
from redis import Redis
from redis.exceptions import ResponseError, TryAgainError

from cogitate import Profile, Settings, TickLoop
from cogitate.errors import ConfigurationError
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.ledger.connect import (
    check_soon,
    connect,
    connect_to_read,
    key_on_each,
    name_of,
    read_at_once,
    scan_keys,
    servers_of,
)
from cogitate.scheduler.ledger.run_store import run_names
from cogitate.scheduler.ledger.servers.cluster import ClusterRedis, parse_cluster_url
from cogitate.workers.jobs.combined import CombinedRedis
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import typed
from tests.integration.scheduler.ledger.ledger_case import Host
from tests.integration.scheduler.ledger.tls_case import behind_tls
from tests.patience import LONGEST, wait_until
from tests.redis_cluster import Cluster, Node

OWNERS = {"agent:ada": Profile(name="Ada Smith"), "agent:ben": Profile(name="Ben Cole")}
RUNS = ["a", "b", "c", "d"]  # their slots are on all three servers
NOTE = "redis.call('HSET', KEYS[1] .. ':note', 'text', ARGV[1]) return ARGV[1]"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(replicas=False) as cluster:
        yield cluster


@pytest.fixture(params=[Redis, CombinedRedis])
def client(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Redis]:
    """Yield a host's client of an empty cluster, and as second parameter a worker's."""
    for node in cluster.nodes:
        node.client.flushall()
    with connect(cluster.url, LONGEST, client=request.param) as client:
        yield client


def settings_of(cluster: Cluster, valkey: EmbeddedServer, tmp_path: Path) -> Settings:
    broker = SecretStr(valkey.url.replace("db=0", "db=1"))
    return Settings(
        data_dir=tmp_path / "data", redis_url=SecretStr(cluster.url), broker_url=broker, workers=0, wait=0.0
    )


def test_each_key_is_on_the_server_of_its_slot(cluster: Cluster, client: Redis) -> None:
    note = client.register_script(NOTE)
    for run in RUNS:
        assert note(keys=[f"{{{run}}}"], args=[run]) == run.encode()
    assert {cluster.node_of(f"{{{run}}}") for run in RUNS} == {0, 1, 2}
    for run in RUNS:
        key = f"{{{run}}}:note"
        assert client.hget(key, "text") == cluster.nodes[cluster.node_of(key)].client.hget(key, "text") == run.encode()
    assert {name_of(server) for server in servers_of(client)} == {f"127.0.0.1:{node.port}" for node in cluster.nodes}
    found = {key for keys in scan_keys(client, "*:note", 10) for key in keys}
    assert found == {f"{{{run}}}:note".encode() for run in RUNS}
    assert {cluster.node_of(key) for _, key in key_on_each(client, "probe")} == {0, 1, 2}


def test_a_pipeline_over_servers_answers_in_its_order(client: Redis) -> None:
    note = client.register_script(NOTE)
    with client.pipeline(transaction=False) as pipe:
        for run in RUNS:
            note(keys=[f"{{{run}}}"], args=[run], client=pipe)
            pipe.hget(f"{{{run}}}:note", "text")
        assert pipe.execute() == [run.encode() for run in RUNS for _ in range(2)]
        pipe.hget("{a}:note", "text")
        pipe.lpush("{b}:note", "no list")
        with pytest.raises(ResponseError, match="WRONGTYPE"):
            pipe.execute()


def test_reads_of_a_run_see_one_state(client: Redis) -> None:
    client.hset("{a}:state", mapping={"tick": 1})
    assert read_at_once(client, lambda pipe: (pipe.hget("{a}:state", "tick"), pipe.exists("{a}:state"))) == [b"1", 1]


def test_a_run_waits_while_its_slot_moves_key_by_key_and_continues_elsewhere(cluster: Cluster, client: Redis) -> None:
    here = cluster.nodes[cluster.node_of("{a}")]
    there = cluster.nodes[(cluster.node_of("{a}") + 1) % 3]
    slot = here.ask("CLUSTER KEYSLOT", "{a}")
    assert isinstance(slot, int)
    host = Host(client, run="a")
    host.turn()
    state = host.ledger.store.key("state")
    before = client.hgetall(state)
    try:
        begin_move(slot, here, there)
        with pytest.raises(TryAgainError, match="moves to another server"):
            host.ledger.collect(2, "due")
        assert client.hgetall(state) == before, "the script wrote nothing before it met a missing key"
        move_keys(here, there, state)
        assert client.hgetall(state) == before, "a single key is found on its server"
        with client.pipeline(transaction=False) as pipe:
            pipe.hget(state, "tick")
            assert pipe.execute() == [before[b"tick"]]
        with pytest.raises(TryAgainError, match="moves to another server"):
            host.ledger.collect(2, "due")
        assert client.hgetall(state) == before, "the script does not run where only some of its keys are"
        keys = here.ask("CLUSTER GETKEYSINSLOT", slot, 1000)
        assert isinstance(keys, list)
        move_keys(here, there, *keys)
        end_move(slot, cluster, there)
        host.turn()
        assert read_at_once(client, lambda pipe: pipe.hget(state, "tick")) == [b"2"]
        assert audit(client, "a") == []
    finally:
        for node in (here, there):
            node.client.flushall()
        end_move(slot, cluster, here)


def move_keys(here: Node, there: Node, *keys: str) -> None:
    here.ask("MIGRATE", "127.0.0.1", there.port, "", 0, int(1000 * LONGEST), "KEYS", *keys)


def begin_move(slot: int, here: Node, there: Node) -> None:
    names = [name.decode() for node in (here, there) if isinstance(name := node.ask("CLUSTER MYID"), bytes)]
    there.ask("CLUSTER SETSLOT", slot, "IMPORTING", names[0])
    here.ask("CLUSTER SETSLOT", slot, "MIGRATING", names[1])


def end_move(slot: int, cluster: Cluster, there: Node) -> None:
    name = there.ask("CLUSTER MYID")
    assert isinstance(name, bytes)
    for node in (there, *cluster.nodes):
        node.ask("CLUSTER SETSLOT", slot, "NODE", name.decode())
    there.ask("CLUSTER BUMPEPOCH")  # otherwise a delayed heartbeat of the former owner would reclaim the slot

    def known() -> bool:
        return all(owner_of(slot, node) == name for node in cluster.nodes)

    wait_until(known, "all servers to name the slot's new owner")


def owner_of(slot: int, node: Node) -> object:
    """Return the id of a slot's owner according to a server."""
    parts = node.ask("CLUSTER", "SLOTS")
    assert isinstance(parts, list)
    return next(owner[2] for first, last, owner, *_ in parts if first <= slot <= last)


def test_runs_on_a_cluster_have_the_digest_of_a_single_server(
    cluster: Cluster, client: Redis, valkey: EmbeddedServer, tmp_path: Path
) -> None:
    settings = settings_of(cluster, valkey, tmp_path)
    for run in RUNS:
        found = []
        for where in (settings, settings.model_copy(update={"redis_url": SecretStr(valkey.url)})):
            with TickLoop(run=run, owners=OWNERS, settings=where, ticks=400) as loop:
                assert any(change.kind == "plan" for tick in loop for change in tick.applied)
            found.append(loop.digest)
        assert found[0] == found[1]
        assert audit(client, run) == []
    assert run_names(client) == RUNS


def test_commands_read_and_delete_runs_of_a_cluster(
    cluster: Cluster, client: Redis, valkey: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cogitate.ops.doctor.command.ANSWER_WITHIN", 0.1)
    settings = settings_of(cluster, valkey, tmp_path)
    for run in RUNS:
        with TickLoop(run=run, owners=OWNERS, settings=settings, ticks=2) as loop:
            list(loop)
    where = {"COGITATE_REDIS_URL": cluster.url, "COGITATE_BROKER_URL": valkey.url}

    def say(*words: str) -> str:
        done = typed(*words, data_dir=settings.data_dir, **where)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert [run["run"] for run in json.loads(say("runs", "--json"))["runs"]] == RUNS
    assert "Run b: finished at tick 2" in say("status", "b")
    assert "agent:ada of run b: tick 2" in say("memory", "b", "agent:ada")
    say("audit", "b")
    found = [one["what"] for one in json.loads(say("doctor", "--json"))]
    for node in cluster.nodes:
        assert f"state 127.0.0.1:{node.port} memory" in found
    say("delete", "b", "--yes")
    assert run_names(client) == ["a", "c", "d"]
    assert not list(scan_keys(client, "cogitate:{b}*", 10))


def test_a_cluster_is_reached_by_tls(tmp_path: Path) -> None:
    secured, bundle = Cluster(replicas=False), tmp_path / "authorities.pem"
    with ExitStack() as resources:
        for node in secured.nodes:
            port, authority = resources.enter_context(behind_tls(node.socket, node.folder, "127.0.0.1"))
            node.announce(port)
            bundle.write_text(bundle.read_text() + authority.read_text() if bundle.exists() else authority.read_text())
        resources.enter_context(secured)
        url = f"rediss+cluster://127.0.0.1:{port}"
        check_soon(f"{url}?ssl_ca_certs={bundle}")
        with connect(f"{url}?ssl_ca_certs={bundle}", LONGEST) as client:
            for run in RUNS:
                client.set(f"{{{run}}}", run)
                assert secured.nodes[secured.node_of(f"{{{run}}}")].client.get(f"{{{run}}}") == run.encode()
        with pytest.raises(ConfigurationError, match=r"not trusted.+ssl_ca"):
            check_soon(url)


def test_a_single_server_of_a_cluster_is_refused_as_ledger(cluster: Cluster) -> None:
    with pytest.raises(ConfigurationError, match=r"is one server of a cluster: write redis\+cluster://"):
        check_soon(f"redis://127.0.0.1:{cluster.nodes[0].port}")


def test_a_cluster_is_refused_as_broker(cluster: Cluster, valkey: EmbeddedServer, tmp_path: Path) -> None:
    settings = settings_of(cluster, valkey, tmp_path)
    one = SecretStr(f"redis://127.0.0.1:{cluster.nodes[0].port}")
    for broker in (None, one):
        wrong = settings.model_copy(update={"broker_url": broker})
        with pytest.raises(ConfigurationError, match="a cluster cannot carry Celery's messages"):
            TickLoop(run="a", owners=OWNERS, settings=wrong, ticks=1)


def test_a_cluster_without_an_answering_server_is_reported(cluster: Cluster, valkey: EmbeddedServer) -> None:
    with pytest.raises(ConfigurationError, match=r"no Redis answers at redis\+cluster://127.0.0.1:1,127.0.0.1:2"):
        check_soon("redis+cluster://127.0.0.1:1,127.0.0.1:2")


@pytest.mark.parametrize("broker", ["redis+cluster://one:7000", "redis+sentinel://one:26379/name"])
def test_a_broker_is_a_single_server(broker: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a broker"):
        Settings(broker_url=broker)
    with pytest.raises(ConfigurationError, match=r"no broker: .*COGITATE_BROKER_URL"):
        Settings(redis_url=broker).messages_url()


@pytest.mark.parametrize("rest", ["", "one:26379", "one:26379/", "one:26379/a/b", ":26379/name", "one:port/name"])
def test_a_url_that_names_no_sentinels_is_refused(rest: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a Redis URL"):
        connect(f"redis+sentinel://{rest}", LONGEST)


@pytest.mark.parametrize("rest", ["", ":7000/1", ":7000?db=1", "one:7000,two:port", "one:7000?no_such_option=1"])
def test_a_url_that_names_no_cluster_is_refused(rest: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a Redis URL"):
        connect_to_read(f"redis+cluster://{rest}", LONGEST)


def test_a_url_names_servers_and_their_user() -> None:
    address = parse_cluster_url("rediss+cluster://me:p%40ss@one:7000,two:7001,three?ssl_ca_certs=/ca.pem")
    assert address.hosts == [("one", 7000), ("two", 7001), ("three", 6379)]
    assert address.options == {"username": "me", "password": "p@ss", "ssl": True, "ssl_ca_certs": "/ca.pem"}
    assert isinstance(connect("redis+cluster://one", LONGEST), ClusterRedis)
