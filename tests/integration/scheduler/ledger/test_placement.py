"""Several ledgers behind one client: placement of runs, shared keys, and a ledger that is unreachable."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from cogitate import Profile, Settings, TickLoop
from cogitate.errors import ConfigurationError, RunMissing
from cogitate.scheduler.config.urls import ledger_urls, place_of, redact_url
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.ledger.connect import check_soon, connect, ledger_of_run, ledgers_of, scan_keys, servers_of
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.keys import WORKERS, incarnation_key
from cogitate.scheduler.ledger.real_day import RealDay
from cogitate.scheduler.ledger.run_store import RunStore, run_names
from cogitate.scheduler.ledger.servers.placement import PlacedRedis, by_preference
from cogitate.tasks.job import Cost
from cogitate.workers.jobs.combined import CombinedRedis
from cogitate.workers.processes.supervisor import WorkerPool
from tests.integration.command import cogitate, typed
from tests.integration.scheduler.ledger.ledger_case import Host, claimed, settle, sound, worker
from tests.live_redis import empty_redis
from tests.patience import LONGEST

OWNERS = {"agent:ada": Profile(name="Ada Smith"), "agent:ben": Profile(name="Ben Cole")}
NOWHERE = "redis://127.0.0.1:1/0"


def url_of(client: Redis) -> str:
    shown = client.get_connection_kwargs()
    return f"unix://{shown['path']}?db={shown['db']}"


@pytest.fixture
def urls() -> list[str]:
    """Return the URLs of three empty ledgers."""
    return [url_of(empty_redis()) for _ in range(3)]


@pytest.fixture
def added(urls: list[str]) -> list[str]:
    """Return the URLs of the same ledgers after an additional one."""
    return [url_of(empty_redis()), *urls]


@pytest.fixture
def runs(urls: list[str], added: list[str]) -> list[str]:
    """Return sorted names of two runs per ledger, one of which would be placed on the added ledger."""
    places, wider, found = [*map(place_of, urls)], [*map(place_of, added)], dict[tuple[str, bool], str]()
    for number in range(10_000):
        run = f"run-{number}"
        found.setdefault((by_preference(places, run)[0], by_preference(wider, run)[0] == wider[0]), run)
    assert len(found) == 6
    return sorted(found.values())


@pytest.fixture(params=[Redis, CombinedRedis])
def client(urls: list[str], request: pytest.FixtureRequest) -> Iterator[Redis]:
    """Yield a host's client of the ledgers, and as second parameter a worker's."""
    with connect(" ".join(urls), LONGEST, client=request.param) as client:
        yield client


def ledger_with(client: Redis, run: str) -> int:
    """Return the number of the only ledger that has a run."""
    (found,) = (n for n, one in enumerate(ledgers_of(client).values()) if one.exists(incarnation_key(run)))
    return found


def test_an_added_ledger_takes_its_share_and_moves_no_other_run() -> None:
    names, places = [f"town-{number}" for number in range(2_000)], ["a", "b", "c", "d"]
    before = {name: by_preference(places, name)[0] for name in names}
    after = {name: by_preference([*places, "e"], name)[0] for name in names}
    moved = {name for name in names if before[name] != after[name]}
    assert {after[name] for name in moved} == {"e"}
    assert 300 < len(moved) < 500
    assert all(400 < count < 600 for count in Counter(before.values()).values())
    assert before == {name: by_preference(places[::-1], name)[0] for name in names}, "the order does not matter"


def test_a_changed_password_does_not_change_the_placement() -> None:
    one = place_of("redis://me:old@host:6379/2?socket_timeout=3")
    assert one == place_of("rediss://me:new@host:6379?db=2") == "redis://host:6379?db=2"
    assert place_of("redis+cluster://me:pw@a:1,b:2") == "cluster://a:1,b:2?db=0"
    assert place_of("redis+sentinel://a:1,b:2/name?db=3") == "sentinel://a:1,b:2/name?db=3"
    assert place_of("unix:///run/valkey.sock?db=1") == "redis:///run/valkey.sock?db=1"


def test_each_run_is_on_one_ledger_and_stays_there_after_one_is_added(
    client: Redis, runs: list[str], added: list[str]
) -> None:
    hosts = {run: Host(client, run=run) for run in runs}
    where = {run: ledger_with(client, run) for run in runs}
    assert sorted(where.values()) == [0, 0, 1, 1, 2, 2]
    with connect(" ".join(added), LONGEST) as wider:
        assert run_names(wider) == run_names(client) == runs
        for run, host in hosts.items():
            (job,) = host.turn(("think", "agent:ann"))
            claims = worker(wider, f"w-{run}")
            assert settle(claims, claimed(claims, job)) == "staged"
            host.until(6)
            assert [end for end, _ in host.ended().values()] == ["applied"]
            sound(wider, run)
        assert {run: ledger_with(wider, run) - 1 for run in runs} == where
        assert not any(ledgers_of(wider)[place_of(added[0])].keys(f"cogitate:{{{run}}}*") for run in runs)


def test_a_pipeline_over_ledgers_answers_in_its_order(client: Redis, runs: list[str]) -> None:
    note = client.register_script("redis.call('HSET', KEYS[1] .. 'note', 'text', ARGV[1]) return ARGV[1]")
    with client.pipeline(transaction=False) as pipe:
        for run in runs:
            note(keys=[f"cogitate:{{{run}}}:"], args=[run], client=pipe)
            pipe.hget(f"cogitate:{{{run}}}:note", "text")
        assert pipe.execute() == [run.encode() for run in runs for _ in range(2)]
        pipe.hget(f"cogitate:{{{runs[0]}}}:note", "text")
        pipe.lpush(f"cogitate:{{{runs[1]}}}:note", "no list")
        with pytest.raises(ResponseError, match="WRONGTYPE"):
            pipe.execute()


def test_the_first_ledger_holds_keys_that_belong_to_no_run(client: Redis, urls: list[str]) -> None:
    client.hset(WORKERS, "w", "sign")
    day = RealDay(client, Settings(real_day_tokens=100))
    assert day.reserve(Cost(tokens=60)) not in ("real_day_spent", "real_day_away")
    assert day.reserve(Cost(tokens=60)) == "real_day_spent", "one limit holds for the runs of all ledgers"
    first, *others = ledgers_of(client).values()
    assert len(first.keys("*")) == 2
    assert not any(one.keys("*") for one in others)


def test_an_interrupted_deletion_is_completed_on_the_runs_ledger(
    client: Redis, runs: list[str], added: list[str]
) -> None:
    for run in runs:
        Host(client, run=run)
    with connect(" ".join(added), LONGEST) as wider:
        for run in runs:
            ledger_of_run(wider, run).delete(RunStore.open(wider, run).key("state"), incarnation_key(run))
        assert run_names(wider) == [], "as after interrupted deletions"
    with connect(" ".join(added), LONGEST) as wider:
        for run in runs:
            delete_run(wider, run)
        assert not any(one.keys("*") for one in servers_of(wider))
        with pytest.raises(RunMissing):
            delete_run(wider, runs[0])


def test_runs_continue_while_another_ledger_is_unreachable(urls: list[str], runs: list[str]) -> None:
    with connect(" ".join(urls), LONGEST) as client:
        hosts = [Host(client, run=run) for run in runs]
        homes = {run: ledger_with(client, run) for run in runs}
    places = [place_of(url) for url in urls]
    ledgers = {
        place: connect(NOWHERE if n == 1 else url, LONGEST, retries=0)
        for n, (place, url) in enumerate(zip(places, urls, strict=True))
    }
    with PlacedRedis(ledgers) as client:
        for host, run in zip(hosts, runs, strict=True):
            if homes[run] == 1:
                with pytest.raises(RedisConnectionError):
                    RunStore.open(client, run)
            else:
                assert RunStore.open(client, run).tick() == host.loop.tick
        with pytest.raises(RedisConnectionError):
            Host(client, run="new"), "it might exist on the unreachable ledger"


def test_one_fleet_of_workers_serves_a_town_on_each_ledger_with_unchanged_digests(
    urls: list[str], runs: list[str], tmp_path: Path
) -> None:
    broker = url_of(empty_redis())
    settings = Settings(
        data_dir=tmp_path / "data", redis_urls=tuple(map(SecretStr, urls)), broker_url=SecretStr(broker), workers=0
    )
    alone = settings.model_copy(update={"redis_urls": (), "redis_url": SecretStr(url_of(empty_redis()))})
    one_each = {by_preference([*map(place_of, urls)], run)[0]: run for run in runs}
    runs = sorted(one_each.values())
    with WorkerPool(settings, 1), connect(settings.state_url(), LONGEST) as client:
        digests = {}
        for run in runs:
            with TickLoop(run=run, owners=OWNERS, settings=settings, ticks=400) as loop:
                applied = [change for tick in loop for change in tick.applied]
            assert any(change.kind == "plan" for change in applied)
            digests[run] = loop.digest
            assert audit(client, run) == []
        assert {ledger_with(client, run) for run in runs} == {0, 1, 2}
    with WorkerPool(alone, 1):
        for run, digest in digests.items():
            with TickLoop(run=run, owners=OWNERS, settings=alone, ticks=400) as loop:
                list(loop)
            assert loop.digest == digest

    where = {"COGITATE_REDIS_URLS": json.dumps(urls), "COGITATE_BROKER_URL": broker}

    def say(*words: str) -> str:
        done = typed(*words, data_dir=settings.data_dir, **where)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert [run["run"] for run in json.loads(say("runs", "--json"))["runs"]] == runs
    assert f"Run {runs[1]}: finished at tick 400" in say("status", runs[1])
    say("audit", runs[1])
    say("replay", runs[1], "--verify")
    examined = cogitate("doctor", "--json", data_dir=settings.data_dir, **where)
    assert examined.returncode == 0, examined.stderr
    found = [one["what"] for one in json.loads(examined.stdout)]
    assert sum(what.startswith("state") and what.endswith("memory") for what in found) == 3
    say("delete", runs[1], "--yes")
    with connect(settings.state_url(), LONGEST) as client:
        assert run_names(client) == [runs[0], runs[2]]
        assert not list(scan_keys(client, f"cogitate:{{{runs[1]}}}*", 10))


def test_an_unreachable_ledger_is_named(urls: list[str]) -> None:
    with pytest.raises(ConfigurationError, match=r"no Redis answers at redis://127.0.0.1:1/0: "):
        check_soon(" ".join([urls[0], NOWHERE]))


def test_settings_name_ledgers_and_one_broker() -> None:
    urls = ("redis://me:secret@one/0", "redis+cluster://two:1,three:2")
    settings = Settings(redis_urls=urls, broker_url="redis://one/1")
    assert ledger_urls(settings.state_url()) == list(urls)
    assert redact_url(settings.state_url()) == "redis://me:***@one/0 redis+cluster://two:1,three:2"
    assert not settings.embedded
    for wrong, message in (
        ({"redis_urls": urls}, "several ledgers share one broker"),
        ({"redis_urls": urls, "redis_url": "redis://one", "broker_url": "redis://one/1"}, "not both"),
        ({"redis_urls": ("redis://a/0", "rediss://b:x@a"), "broker_url": "redis://one/1"}, "name the same ledger"),
        ({"redis_urls": ("http://secret",), "broker_url": "redis://one/1"}, "is not a Redis URL"),
        ({"redis_urls": ("redis://a /0",), "broker_url": "redis://one/1"}, "%20"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            Settings(**wrong)
