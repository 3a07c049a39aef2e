"""A run whose memory was changed or removed in Redis: no host continues it, and the error says why."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis

from cogitate import Observation, Profile, Settings, TickLoop
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.ledger.errors import RunAltered
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.processes.embedded import EmbeddedServer

ADA, BEN = "agent:ada", "agent:ben"
OWNERS = {ADA: Profile(name="Ada Smith"), BEN: Profile(name="Ben Cole")}
TICKS, MORE = 420, 10  # the morning's plans are made by then

Harm = Callable[[RunStore], object]
Dumped = dict[bytes, bytes]


def live(client: Redis, ticks: int, *, resume: bool = False) -> TickLoop:
    """Host a run in which Ada and Ben observe something every twenty minutes, every second time the same text."""
    settings = Settings(max_observations=12)
    with TickLoop(
        run="town",
        owners=OWNERS,
        settings=settings,
        ticks=ticks,
        inline=True,
        client=client,
        exist="resume" if resume else "create",
    ) as loop:
        for tick in loop:
            if tick.number % 20 == 0:
                for owner in OWNERS:
                    seen = f"It is {tick.number} now." if tick.number % 40 else "The clock strikes."
                    loop.observe(owner, Observation(text=seen, minute=tick.minute, importance=3))
            if tick.number % 50 == 0:
                loop.request("reflect", ADA)
            loop.checkpoint(b"%d" % tick.number)
    return loop


@pytest.fixture(scope="module")
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Redis, Dumped]]:
    """Return a client of a server with a run on it, and a dump of all keys of the run."""
    with EmbeddedServer(tmp_path_factory.mktemp("data")) as server, server.client() as client:
        live(client, TICKS)
        keys: Any = list(client.scan_iter(count=1000))
        yield client, {key: client.dump(key) for key in keys}  # type: ignore[misc]


@pytest.fixture(params=["sealed", "before seals"])
def run(whole: tuple[Redis, Dumped], request: pytest.FixtureRequest) -> RunStore:
    """Restore the run as this version left it, or as a version without seals would have left it."""
    client, keys = whole
    client.flushdb()
    for key, value in keys.items():
        client.restore(key, 0, value)  # type: ignore[arg-type]
    store = RunStore.open(client, "town")
    if request.param == "before seals":
        client.delete(store.key("seals"))
        client.hdel(store.key("state"), "sealed")
    return store


def change(key: str, field: str | None = None, **values: Any) -> Harm:
    """Return a harm that changes members of a JSON value: of the given hash field, or else of the first."""

    def harm(store: RunStore) -> None:
        client: Any = store.client
        name = store.prefix + key
        at = field.encode() if field is not None else min(client.hkeys(name), key=lambda found: (len(found), found))
        before = json.loads(client.hget(name, at))
        after = json.dumps(before | values)
        assert json.loads(after) != before
        client.hset(name, at, after)

    return harm


def remove(key: str) -> Harm:
    """Return a harm that removes the first field of a hash, or the first member of a sorted set."""

    def harm(store: RunStore) -> None:
        client: Any = store.client
        name = store.prefix + key
        if client.type(name) == b"zset":
            assert client.zpopmin(name)
        else:
            assert client.hdel(name, min(client.hkeys(name)))

    return harm


def delete(key: str) -> Harm:
    return lambda store: store.client.delete(store.prefix + key)


def put(key: str, field: str, value: Any) -> Harm:
    return lambda store: store.client.hset(store.prefix + key, field, json.dumps(value))


ENTRY = {"type": "observation", "text": "I was never seen.", "minute": 7, "number": 900, "tick": 7}


@pytest.mark.parametrize(
    ("harm", "part"),
    [
        (remove(f"entries:{ADA}"), "entries"),
        (delete(f"entries:{ADA}"), "entries"),
        (change(f"entries:{ADA}", text="The clock was silent."), "entries"),
        (change(f"entries:{ADA}", importance=9), "entries"),
        (put(f"entries:{ADA}", "900", ENTRY), "entries"),
        (remove(f"archive:{ADA}"), "entries"),
        (change(f"archive:{ADA}", minute=3), "entries"),
        (delete(f"archive:{ADA}"), "entries"),
        (remove(f"archived:{ADA}"), "archive"),
        (
            lambda s: s.client.zincrby(
                s.owner_key("archived", ADA), 5, s.client.zrange(s.owner_key("archived", ADA), 0, 0)[0]
            ),
            "archive",
        ),
        (delete(f"archived:{ADA}"), "archive"),
        (delete(f"into:{ADA}"), "archive"),
        (change("heads", ADA, last_number=2), "head"),
        (change("heads", ADA, summary="Nothing happened."), "head"),
        (change("heads", ADA, counters={}), "head"),
        (lambda s: s.client.hdel(s.key("heads"), ADA), "head"),
        (delete("heads"), "head"),
        (change(f"marks:{ADA}", accesses=77), "marks"),
        (remove(f"marks:{ADA}"), "marks"),
        (delete(f"marks:{ADA}"), "marks"),
        (put(f"marks:{ADA}", "900", {"accesses": 1}), "marks"),
        (change("facts", minutes_per_tick=9), "facts"),
        (delete("facts"), "facts"),
        (change("owners", ADA, occupation="thief"), "owners"),
        (remove("owners"), "owners"),
        (delete("owners"), "owners"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_no_host_continues_an_altered_run(run: RunStore, harm: Harm, part: str) -> None:
    client = run.client
    harm(run)
    with pytest.raises(
        RunAltered, match=rf"run 'town' cannot continue: .*up to tick {TICKS}.*{part}.*cogitate audit town"
    ):
        live(client, TICKS + MORE, resume=True)
    assert audit(client, "town") != []


def test_an_altered_owner_is_named(run: RunStore) -> None:
    client = run.client
    change(f"entries:{BEN}", text="It never was.")(run)
    with pytest.raises(RunAltered, match=BEN) as refused:
        live(client, TICKS + MORE, resume=True)
    assert ADA not in str(refused.value)


def test_an_untouched_run_continues_to_the_uninterrupted_digest(run: RunStore) -> None:
    client = run.client
    resumed = live(client, TICKS + MORE, resume=True).digest
    assert audit(client, "town") == []
    client.flushdb()
    assert live(client, TICKS + MORE).digest == resumed


def test_removing_or_changing_seals_hides_no_alteration(run: RunStore) -> None:
    client, store = run.client, run
    live(client, TICKS + 1, resume=True)
    assert client.hexists(store.key("seals"), ADA), "a host that continues a run without seals writes them"
    client.hset(store.key("seals"), ADA, "0 0 0 0")
    with pytest.raises(RunAltered, match=f"entries of {ADA}"):
        live(client, TICKS + MORE, resume=True)
    client.hdel(store.key("seals"), ADA)
    with pytest.raises(RunAltered, match=f"entries of {ADA}"):
        live(client, TICKS + MORE, resume=True)
    client.delete(store.key("seals"))
    change(f"entries:{ADA}", text="It never was.")(store)
    with pytest.raises(RunAltered, match=f"{ADA}: entries"):
        live(client, TICKS + MORE, resume=True)


def test_a_run_that_an_older_version_continued_is_not_called_altered(run: RunStore) -> None:
    """An older version commits ticks without sealing them."""
    client, store = run.client, run
    sealed: Any = client.hgetall(store.key("seals"))
    live(client, TICKS + 20, resume=True)
    client.delete(store.key("seals"))
    if sealed:
        client.hset(store.key("seals"), mapping=sealed)
    client.hset(store.key("state"), "sealed", TICKS)
    live(client, TICKS + 20 + MORE, resume=True)
    assert audit(client, "town") == []
