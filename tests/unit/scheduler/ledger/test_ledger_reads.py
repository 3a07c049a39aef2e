"""What a host and an operator read from the ledger: all that can be read, and a word on what cannot."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis
from redis.exceptions import AuthenticationError, RedisError, ResponseError
from redis.exceptions import ConnectionError as Away
from redis.exceptions import TimeoutError as Slow
from structlog.testing import capture_logs

from cogitate.memory.errors import InputError
from cogitate.memory.stream import Stream
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.config.limits import MAX_LIMIT
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.engine.corrections import Learned, RetriedAttempt, read_learned, read_retries
from cogitate.scheduler.engine.late_answers import LateAnswer, read_offers
from cogitate.scheduler.engine.run_data import RunData
from cogitate.scheduler.journal.exported import journal_folder, remove_exported
from cogitate.scheduler.ledger.answer_times import Timed, note_of, read_timed
from cogitate.scheduler.ledger.claims import Claims, Result
from cogitate.scheduler.ledger.connect import check
from cogitate.scheduler.ledger.errors import NewerSchema, RunAltered, RunHeld, RunMissing, RunUnreadable
from cogitate.scheduler.ledger.keys import RUNS, incarnation_key, new_nonce
from cogitate.scheduler.ledger.presence import check_unheld, host_of, this_process
from cogitate.scheduler.ledger.real_day import UNLIMITED, DaySpending, Held, RealDay
from cogitate.scheduler.ledger.run_store import RunStore, run_names
from cogitate.scheduler.ledger.step_replies import (
    MOST_CELL,
    MOST_FAILURE,
    Unreadable,
    UnreadableLog,
    read_attempts,
    read_rows,
)
from cogitate.tasks.job import Cost, JobKey

ONE, OTHER = JobKey(3, "plan", "agent:ann", 0, 0), JobKey(4, "act", "agent:bob", 1, 0)
ANSWER = Result(effects=(), source="llm", usage=Cost(calls=1, tokens=7))
RAW = msgspec.json.encode(ANSWER)


def raw(key: JobKey) -> bytes:
    return key.text().encode()


# -- answers of the ledger ---------------------------------------------------------------------------


def test_due_jobs_are_read_one_by_one() -> None:
    staged = [raw(ONE), b"staged", RAW, b"2", b"5", b"", b""]
    rows = read_rows([*staged, raw(OTHER), b"dead", b"", b"4", b"0", b"server", b"day:0 run"])
    assert [(row.key, row.state, row.result, row.claims, row.arrival) for row in rows] == [
        (ONE, "staged", ANSWER, 2, 5),
        (OTHER, "dead", None, 4, 0),
    ]
    assert (rows[1].failure, rows[1].empty) == ("server", "day:0 run")


@pytest.mark.parametrize(
    ("changed", "state"),
    [({2: b"{"}, "dead"), ({3: b"many"}, "dead"), ({1: b"odd"}, "dead"), ({1: b"open", 2: b"{"}, "open")],
)
def test_a_result_that_cannot_be_read_leaves_its_job_to_the_heuristic(changed: dict[int, bytes], state: str) -> None:
    row = [raw(ONE), b"staged", RAW, b"2", b"5", b"x" * 99, b"y" * 999]
    for place, value in changed.items():
        row[place] = value
    (found,) = read_rows(row)
    assert (found.state, found.result) == (state, None)
    assert (found.failure, found.empty) == ("x" * MOST_FAILURE, "y" * MOST_CELL)
    assert [one.key for one in read_rows([b"odd", *row[1:], raw(OTHER), *row[1:]])] == [OTHER]


def test_late_answers_costs_and_retries_are_read_as_far_as_they_can_be() -> None:
    offers = read_offers([raw(ONE), RAW, raw(OTHER), b"{", b"odd", RAW], [])
    assert offers == [LateAnswer(ONE, ANSWER), LateAnswer(OTHER, None)]
    came_to = b'{"usage": [1, 7, 0], "saved": true, "at": 5}'
    assert read_learned([raw(ONE), b"{", raw(OTHER), came_to], []) == [Learned(OTHER, Cost(1, 7), True, 5)]
    used = msgspec.json.encode({"job": OTHER.text(), "used": [1, 7, 0]})
    assert read_retries([b"t2", used, b"t0", b"{", b"t1", used], []) == [
        RetriedAttempt("t1", OTHER, Cost(1, 7)),
        RetriedAttempt("t2", OTHER, Cost(1, 7)),
    ]
    attempt = msgspec.json.encode({"job": ONE.text(), "worker": "w", "tick": 3})
    assert [*read_attempts([b"t1", b"{", b"t2", attempt])] == ["t2"]


def test_unreadable_data_is_logged_once_and_bounded() -> None:
    log, long = UnreadableLog(), b"x" * (MOST_CELL + 1)
    with capture_logs() as logs:
        for _ in range(2):
            found: list[Unreadable] = []
            read_offers([long, RAW, b"odd", RAW], found)
            read_learned([b"odd", b"{"], found)
            read_retries([b"odd", b"{"], found)
            log.warn(found)
    assert [(entry["what"], entry["key"]) for entry in logs] == [
        ("a late answer's job", "x" * MOST_CELL),
        ("a late answer's job", "odd"),
        ("the usage of an ended job", "odd"),
        ("the usage of an earlier attempt", "odd"),
    ]


# -- runs --------------------------------------------------------------------------------------------


def store_of(client: FakeRedis, run: str = "town", **state: Any) -> RunStore:
    client.sadd(RUNS, run)
    client.set(incarnation_key(run), "now")
    store = RunStore.of(client, run, "now")
    values = {"tick": 5, "schema": SCHEMA, "status": "running", "epoch": 1, "seq": 1} | state
    client.hset(store.key("state"), mapping=values)
    return store


def test_a_run_is_opened_in_its_present_incarnation_if_this_version_reads_it() -> None:
    client = FakeRedis()
    store = store_of(client)
    assert RunStore.open(client, "town") == store
    assert store.incarnation == "now"
    client.sadd(RUNS, "gone")
    assert run_names(client) == ["town"]
    with pytest.raises(RunMissing, match="there are: town"):
        RunStore.open(client, "gone")
    for schema, error in ((SCHEMA + 1, NewerSchema), ("odd", RunUnreadable)):
        store_of(client, "other", schema=schema)
        with pytest.raises(error):
            RunStore.open(client, "other")


def test_a_run_that_was_deleted_meanwhile_has_no_tick() -> None:
    store = store_of(FakeRedis())
    assert store.tick() == 5
    store.client.delete(store.key("state"))
    with pytest.raises(RunMissing, match="deleted meanwhile"):
        store.tick()


class Pings:
    """A server that answers as a test says."""

    def __init__(self, error: RedisError | None) -> None:
        self.error = error

    def ping(self) -> None:
        if self.error is not None:
            raise self.error

    def info(self, section: str) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (None, None),
        (ResponseError("MISCONF Redis is configured to save"), None),
        (ResponseError("odd"), "no Redis"),
        (Away("refused"), "no Redis answers"),
        (Slow("1 s"), "does not answer"),
        (AuthenticationError("wrong"), "refuses the credentials"),
        (Away("CERTIFICATE_VERIFY_FAILED"), "not trusted"),
    ],
)
def test_a_server_that_only_cannot_write_is_there(error: RedisError | None, told: str | None) -> None:
    client: Any = Pings(error)
    if told is None:
        check(client, "redis://me:secret@here")
        return
    with pytest.raises(ConfigurationError, match=told) as refused:
        check(client, "redis://me:secret@here")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(("sign", "held"), [(None, False), (b"{", False), (b"own", True)])
def test_a_run_is_held_by_a_host_whose_sign_has_not_run_out(sign: bytes | None, held: bool) -> None:
    store = store_of(FakeRedis(), schema=SCHEMA)
    if sign is not None:
        store.client.set(store.key("host"), msgspec.json.encode(this_process()) if sign == b"own" else sign)
    assert (host_of(store) is not None) is held
    if held:
        with pytest.raises(RunHeld, match="this process"):
            check_unheld(store, "town", "wait")
        store.client.hset(store.key("state"), "status", "finished")
    assert host_of(store) is None


def test_an_owner_that_has_left_is_remembered_by_the_ledger_alone() -> None:
    state: Any = SimpleNamespace(retired={"agent:bob"}, streams={"agent:ann": Stream("agent:ann")})
    assert RunData.memory(state, "agent:ann") is state.streams["agent:ann"]
    assert RunData.memory(state, "agent:new").entries == {}
    with pytest.raises(InputError, match="has left"):
        RunData.memory(state, "agent:bob")


# -- a worker's claims -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "asks"), [(b'{"model": "default"}', True), (b'{"model": ""}', False), (b"{", False), (None, False)]
)
def test_a_job_has_a_model_if_its_record_names_one(record: bytes | None, asks: bool) -> None:
    client = FakeRedis()
    claims = Claims(client, worker="w")
    assert not claims.asks_model(f"town/{ONE.text()}"), "there is no such run"
    store = store_of(client)
    if record is not None:
        client.hset(store.job_key(ONE.text()), "job", record)
    assert claims.asks_model(f"town/{ONE.text()}") is asks


def test_a_claim_without_an_answer_is_given_back_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    client = FakeRedis()
    store_of(client)
    claims = Claims(client, worker="w")
    given: list[tuple[str, str, JobKey, str]] = []
    raises: list[RedisError] = [Away("away"), ResponseError("odd")]

    def report(run: str, incarnation: str, key: JobKey, token: str, *rest: Any) -> None:
        given.append((run, incarnation, key, token))
        if raises:
            raise raises.pop(0)

    monkeypatch.setattr(claims, "_report", report)
    claims._unanswered.extend([("town", ONE, "t1"), ("gone", OTHER, "t2"), ("town", OTHER, "t3")])
    with pytest.raises(Away):
        claims.claim(f"town/{ONE.text()}")
    assert len(claims._unanswered) == 3, "none of them is forgotten"
    assert claims.claim(f"town/{ONE.text()}") in ("closed", "gone")
    assert not claims._unanswered
    assert [token for _, _, _, token in given] == ["t1", "t3", "t1"]
    assert {incarnation for _, incarnation, _, _ in given} == {"now"}


# -- the real day ------------------------------------------------------------------------------------


def spending(**figures: Any) -> DaySpending:
    nothing = {"reserved": Cost(), "spent": Cost(), "overrun": Cost(), "refused": 0}
    return DaySpending(date="2026-03-01", **(nothing | figures))


@pytest.mark.parametrize(
    ("tokens", "usd", "limited"), [(None, None, False), (1, None, True), (None, 1, True), (1, 1, True)]
)
def test_a_day_is_limited_by_tokens_or_money(tokens: int | None, usd: int | None, limited: bool) -> None:
    assert spending(limit_tokens=tokens, limit_usd_micros=usd).limited is limited


def test_the_spending_of_a_day_is_shown_with_its_limits() -> None:
    settings = Settings(real_day_tokens=500, real_day_usd=2.5)
    day = RealDay(FakeRedis(), settings, lambda: "2026-03-01")
    assert day.spending() == spending(limit_tokens=500, limit_usd_micros=2_500_000)
    one, other = (day.reserve(Cost(calls=1, tokens=tokens, usd_micros=10)) for tokens in (100, 200))
    assert isinstance(one, Held)
    assert isinstance(other, Held)
    day.settle(one, Cost(calls=1, tokens=150, usd_micros=4))
    assert day.reserve(Cost(tokens=151)) == "real_day_spent"
    assert day.spending() == spending(
        limit_tokens=500,
        limit_usd_micros=2_500_000,
        reserved=Cost(tokens=200, usd_micros=10),
        spent=Cost(tokens=150, usd_micros=4),
        overrun=Cost(tokens=50),
        refused=1,
    )
    unlimited = RealDay(FakeRedis(), Settings(), lambda: "2026-03-01")
    assert unlimited.reserve(Cost(tokens=10**9)) == UNLIMITED
    unlimited.settle(UNLIMITED, Cost(tokens=10**9))
    assert unlimited.spending() == spending(limit_tokens=None, limit_usd_micros=None)


def test_a_spent_day_is_logged_once_a_day() -> None:
    dates = ["2026-03-01"]
    day = RealDay(FakeRedis(), Settings(real_day_tokens=100), lambda: dates[-1])
    with capture_logs() as logs:
        for date in ("2026-03-01", "2026-03-01", "2026-03-02", "2026-03-02"):
            dates.append(date)
            assert day.reserve(Cost(tokens=101)) == "real_day_spent"
    assert [entry["date"] for entry in logs] == ["2026-03-01", "2026-03-02"]


# -- the times of answers ----------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [0, 1, 2])
def test_the_time_of_an_answer_is_read_as_its_worker_wrote_it(unit: int) -> None:
    amounts = [0, 0, 0]
    for amount, read in ((0, True), (MAX_LIMIT, True), (-1, False), (MAX_LIMIT + 1, False)):
        amounts[unit] = amount
        raw = b"9 " + note_of(ONE, "small", 2, Cost(*amounts))
        assert read_timed([raw]) == ([Timed(ONE, "small", 2, 7, Cost(*amounts))] if read else [None])


def test_an_answer_takes_at_least_one_tick_and_its_queue_is_not_negative() -> None:
    for tick, ticks in ((1, 1), (2, 1), (3, 1), (4, 2)):
        assert read_timed([b"%d " % tick + note_of(ONE, "small", -5, Cost())]) == [Timed(ONE, "small", 0, ticks)]


# -- errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "told"), [(1, "part0;"), (5, "part4;"), (6, "part4 and 1 more;"), (9, "and 4 more;")]
)
def test_altered_settings_are_named_up_to_five(count: int, told: str) -> None:
    error = RunAltered("town", 7, [f"part{n}" for n in range(count)])
    said = str(error)
    assert told in said
    assert ("more" in said.partition(";")[0]) is (count > 5)
    assert "'town' cannot continue" in said
    assert "up to tick 7" in said
    assert "`cogitate audit town`" in said


def test_an_error_of_the_ledger_is_shortened() -> None:
    assert str(RunUnreadable("town", "x" * 300)).count("x") == 200
    assert "schema 9, this version knows" in str(NewerSchema("town", 9))


# -- a run's keys ------------------------------------------------------------------------------------


def test_a_forked_process_makes_other_nonces() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as child:
        assert child.submit(new_nonce).result() != new_nonce()


def test_an_incarnation_is_named_as_the_folder_of_its_removed_lines_is(tmp_path: Path) -> None:
    nonces = {new_nonce() for _ in range(20)}
    assert len(nonces) == 20
    for nonce in nonces:
        folder = journal_folder(tmp_path, "town", nonce)
        folder.mkdir(parents=True)
        (folder / "part").touch()
    assert remove_exported(tmp_path, "town") == 20
    assert not [*(tmp_path / "journal").iterdir()]
