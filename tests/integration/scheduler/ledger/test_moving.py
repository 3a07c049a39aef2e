"""The move of a run to another ledger: its result, its refusals, and a move killed at any command."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from redis import Redis
from redis.exceptions import TryAgainError

from cogitate.errors import RunExists, RunHeld, RunMissing
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.ledger import moving
from cogitate.scheduler.ledger.claims import Claim, Claims
from cogitate.scheduler.ledger.connect import ledger_of_run, ledgers_of
from cogitate.scheduler.ledger.keys import incarnation_key, moving_key
from cogitate.scheduler.ledger.moving import MoveFailed, call_off, leaving, move_run
from cogitate.scheduler.ledger.presence import this_process
from cogitate.scheduler.ledger.run_store import RunStore, run_names
from cogitate.scheduler.ledger.servers.placement import PlacedRedis
from tests.integration.scheduler.ledger.ledger_case import OWNER, Host, claimed, settle, sound, worker
from tests.live_redis import empty_redis

THERE = "there"


class Killed(BaseException):
    """The death of the process."""


class Dying(Redis):
    """A client whose process dies before a command; `left` counts down the commands of all such clients.

    Dying after a command leaves the same state as dying before the next one.
    """

    left = 0

    @classmethod
    def of(cls, client: Redis) -> Dying:
        return cls(connection_pool=client.connection_pool)

    def execute_command(self, *words: Any, **options: Any) -> Any:
        Dying.left -= 1
        if Dying.left == 0:
            raise Killed
        return super().execute_command(*words, **options)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "KNOWN_FOR", 0.0)


@pytest.fixture
def source() -> Redis:
    return empty_redis()


@pytest.fixture
def target() -> Redis:
    return empty_redis()


@pytest.fixture
def placed(source: Redis, target: Redis) -> PlacedRedis:
    """Return a host's or worker's client of both, which looks up the run's place at each command."""
    clock = iter(range(10**9))
    return PlacedRedis({"here": source, THERE: target}, clock=lambda: 10.0 * next(clock))


def half_done(client: Redis, run: str = "r") -> tuple[Claims, Claim]:
    """Stop a run with an open, a claimed and a staged job; return the worker and the claim of the claimed job."""
    host = Host(client, run=run)
    host.turn(("think", OWNER))
    host.until(5)
    _, taken, answered = host.turn(("doze", OWNER), ("muse", OWNER), ("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, taken)
    assert settle(claims, claimed(claims, answered)) == "staged"
    host.ledger.finish("stopped")
    return claims, claim


def contents(client: Redis) -> dict[bytes, list[Any]]:
    keys: Any = client.keys("*")
    return {key: list(moving._pages(client, client.type(key), key)) for key in keys if b":moving" not in key}


def of_run(found: dict[bytes, list[Any]]) -> dict[bytes, list[Any]]:
    """Return the run's own keys, without the list of runs."""
    return {key: value for key, value in found.items() if key != b"cogitate:runs"}


def test_a_whole_run_moves_and_continues_unchanged(source: Redis, target: Redis) -> None:
    half_done(source)
    before = contents(source)
    other = Host(source, run="r2")
    there = {key: client for key, client in contents(source).items() if b"{r2}" in key}
    keys = move_run(source, target, "r", THERE)
    assert contents(target) == before
    assert keys == len(before) - 2, "all but its name and its nonce"
    assert run_names(source) == ["r2"]
    assert {key: value for key, value in contents(source).items() if key != b"cogitate:runs"} == there
    other.turn()
    host = Host(target, resume=True)
    host.until(20)
    sound(target)
    assert not host.loop.state.open
    assert move_run(source, target, "r", THERE) == 0, "moving again moves no key"


def test_a_worker_settles_its_claim_on_the_ledger_to_which_the_run_moved(
    placed: PlacedRedis, source: Redis, target: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cogitate.scheduler.ledger.servers.placement.by_preference", lambda places, run: sorted(places))
    claims, claim = half_done(placed)
    assert ledger_of_run(placed, "r") is source
    Dying.left = 31
    with pytest.raises(Killed):
        move_run(Dying.of(source), Dying.of(target), "r", THERE)
    before = contents(source)
    with pytest.raises(TryAgainError):
        settle(claims, claim)
    assert contents(source) == before
    move_run(source, target, "r", THERE)
    assert settle(claims, claim) == "staged"
    assert ledger_of_run(placed, "r") is target
    host = Host(placed, resume=True)
    host.until(20)
    assert host.ended()[claim.job.key][0] == "applied"
    sound(placed)


def test_a_process_that_knows_the_old_ledger_finds_the_new_one(
    source: Redis, target: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cogitate.scheduler.ledger.servers.placement.by_preference", lambda places, run: sorted(places))
    slow = PlacedRedis({"here": source, THERE: target}, clock=lambda: 0.0)
    claims, claim = half_done(slow)
    move_run(source, target, "r", THERE)
    assert slow.place_of("r") == "here", "so far it has no reason to look up the place again"
    assert settle(claims, claim) == "staged"
    assert slow.place_of("r") == THERE


def test_a_move_killed_at_any_command_is_completed_by_a_second_call(source: Redis, target: Redis) -> None:
    """Check that the run is readable and whole at each moment, on one ledger or on both.

    Wherever it is read, its contents are unchanged. Each way to find it is audited once.
    """
    half_done(source)
    before = contents(source)
    died = 0
    audited: set[tuple[bool, bool]] = set()
    while True:
        Dying.left = died = died + 1
        try:
            move_run(Dying.of(source), Dying.of(target), "r", THERE)
            break
        except Killed:
            pass
        placed = PlacedRedis({"here": source, THERE: target})
        assert run_names(placed) == ["r"]
        found = ledger_of_run(placed, "r")
        assert of_run(contents(found)) == of_run(before)
        if (way := (found is source, leaving(source, "r") is not None)) not in audited:
            assert audit(placed, "r") == []
            audited.add(way)
        if leaving(source, "r") is not None:
            move_run(source, target, "r", THERE)
        if incarnation_key("r") in {key.decode() for key in target.keys("*")}:
            assert contents(target) == before
            assert list(source.keys("*")) == [moving_key("r").encode()]
            assert 0 < source.pttl(moving_key("r")) <= moving.SAYS_FOR * 1_000
            move_run(target, source, "r", "here")
            source.delete(moving_key("r"))
            target.flushdb()
        assert contents(source) == before
    assert contents(target) == before
    assert died > 100
    assert audited == {(True, False), (True, True), (False, True), (False, False)}


def test_a_run_with_a_live_host_is_not_moved(source: Redis, target: Redis) -> None:
    host = Host(source)
    host.ledger.present(msgspec.json.encode(this_process()), 100.0)
    with pytest.raises(RunHeld, match=r"is active: stop it first, or let it end"):
        move_run(source, target, "r", THERE)
    assert not target.keys("*")
    host.turn()


def test_a_host_that_wakes_after_the_move_of_its_run_is_refused(source: Redis, target: Redis) -> None:
    host = Host(source)
    host.turn()
    move_run(source, target, "r", THERE)
    with pytest.raises(TryAgainError, match="leaves this ledger"):
        host.turn()
    Host(target, resume=True).turn()
    sound(target)


def test_a_target_that_has_the_name_is_refused(source: Redis, target: Redis) -> None:
    half_done(source)
    half_done(target)
    before = contents(target)
    with pytest.raises(RunExists, match="has a run 'r' already"):
        move_run(source, target, "r", THERE)
    assert contents(target) == before
    assert leaving(source, "r") is None


def test_moving_an_unknown_run_is_refused(source: Redis, target: Redis) -> None:
    with pytest.raises(RunMissing):
        move_run(source, target, "r", THERE)


def test_a_begun_move_refuses_another_target_and_can_be_called_off(source: Redis, target: Redis) -> None:
    half_done(source)
    before = contents(source)
    Dying.left = 41
    with pytest.raises(Killed):
        move_run(Dying.of(source), Dying.of(target), "r", THERE)
    with pytest.raises(RunHeld, match="is on its way to there"):
        move_run(source, empty_redis(), "r", "elsewhere")
    call_off(source, "r")
    assert contents(source) == before
    Host(source, resume=True).until(20)
    sound(source)


def test_a_move_whose_run_may_have_arrived_is_not_called_off(
    source: Redis, target: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    half_done(source)
    monkeypatch.setattr(moving, "_arrive", lambda *_: (_ for _ in ()).throw(Killed))
    with pytest.raises(Killed):
        move_run(source, target, "r", THERE)
    with pytest.raises(RunHeld, match="may be at there already"):
        call_off(source, "r")


def test_a_differing_copy_stops_the_move(source: Redis, target: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    half_done(source)
    store = RunStore.open(source, "r")
    compare = moving._compare

    def changed(*given: Any) -> None:
        target.hset(store.key("state"), "tick", 99)
        compare(*given)

    monkeypatch.setattr(moving, "_compare", changed)
    with pytest.raises(MoveFailed, match=f"copy of key '{store.key('state')}' differs from it"):
        move_run(source, target, "r", THERE)
    assert not target.exists(incarnation_key("r"))
    monkeypatch.setattr(moving, "_compare", compare)
    move_run(source, target, "r", THERE)
    sound(target)


def test_a_new_run_goes_to_a_ledger_that_its_name_is_not_leaving(placed: PlacedRedis, source: Redis) -> None:
    for name, ledger in ledgers_of(placed).items():
        if name == "here":
            ledger.set(moving_key("r"), b"{}", px=100_000)
    Host(placed).turn()
    assert not source.exists(incarnation_key("r"))
    sound(placed)


def test_values_of_every_type_and_size_are_copied(source: Redis, target: Redis) -> None:
    half_done(source)
    base = RunStore.open(source, "r").prefix
    many = range(2_500)
    source.hset(f"{base}a", mapping={f"f{n}": n for n in many})
    source.rpush(f"{base}b", *many)
    source.sadd(f"{base}c", *many)
    source.zadd(f"{base}d", {f"m{n}": n / 7 for n in many} | {"top": float("inf")})
    source.set(f"{base}e", bytes(range(256)), px=10**7)
    before = contents(source)
    move_run(source, target, "r", THERE)
    assert contents(target) == before
    assert 0 < target.pttl(f"{base}e") <= 10**7
    assert target.pttl(f"{base}a") == -1
