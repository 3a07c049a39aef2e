"""The desk when its process, the endpoint or the host leaves a batch halfway."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from unittest.mock import patch

import msgspec
import pytest
from fakeredis import FakeRedis
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory import typed_json
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.ledger import claims
from cogitate.scheduler.ledger.batches import Batch, Batched, Batches
from cogitate.scheduler.ledger.claims import BACKOFF, Claim, Claims
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.keys import DELETED_BATCHES, incarnation_key
from cogitate.scheduler.ledger.real_day import RealDay
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.jobs.batches import desk
from cogitate.workers.jobs.batches.desk import BatchDesk
from cogitate.workers.jobs.batches.parking import expected_of
from cogitate.workers.jobs.call import BatchAnswer
from cogitate.workers.llm.batch_files import BatchFiles, BatchStatus, BatchUnknown
from tests.unit.workers.jobs.batches.batch_case import OWNERS, RUN, TICKS, Lived, live, spent

Eventually = Callable[..., None]
REALLY_SUBMIT, REALLY_PARK = BatchFiles.submit, Batches.park


def lose_reply(files: BatchFiles, lines: Sequence[bytes], tag: str) -> BatchStatus:
    REALLY_SUBMIT(files, lines, tag)
    raise BatchUnknown("APITimeoutError")


def lose_request(files: BatchFiles, lines: Sequence[bytes], tag: str) -> BatchStatus:
    raise BatchUnknown("APITimeoutError")


def know_nothing(files: BatchFiles, *args: object) -> None:
    raise BatchUnknown("NotFoundError 404")


def used(lived: Lived) -> int:
    return lived.served.batch_tokens + lived.served.prompt_tokens + lived.served.completion_tokens


def test_a_batch_whose_sender_did_not_learn_its_id_is_found_again() -> None:
    with patch.object(BatchFiles, "submit", lose_reply):
        lived = live()
    assert (lived.served.batch_answers, lived.served.requests) == (len(OWNERS), 0)
    assert spent(lived.jobs).tokens == used(lived)


def test_requests_that_never_arrived_are_asked_singly_as_the_first_attempt() -> None:
    with patch.object(BatchFiles, "submit", lose_request), patch.object(desk, "LISTED_WITHIN", -1):
        lived = live()
    assert (lived.served.batches, lived.served.requests) == (0, len(OWNERS))
    assert {job.claims for job in lived.jobs} == {1}


@pytest.mark.parametrize(("lost", "asked_by_batch"), [(1, len(OWNERS)), (len(BACKOFF) + 1, 0)])
def test_a_request_with_a_lost_park_reply_is_not_sent_singly(lost: int, asked_by_batch: int) -> None:
    replies: Counter[str] = Counter()

    def lose_replies(batches: Batches, claim: Claim, batched: Batched, line: bytes) -> bool:
        parked = REALLY_PARK(batches, claim, batched, line)
        replies[batched.job] += 1
        if replies[batched.job] <= lost:
            raise RedisConnectionError
        return parked

    with (
        patch.object(Batches, "park", lose_replies),
        patch.object(claims, "BACKOFF", (0.0,) * len(BACKOFF)),
    ):
        lived = live()
    assert lived.served.requests == 0
    assert [job.source for job in lived.jobs].count("llm") == asked_by_batch
    assert all(job.spent.tokens <= job.reserved.tokens for job in lived.jobs)


def test_a_batch_that_left_no_trace_is_charged_in_full() -> None:
    with (
        patch.object(BatchFiles, "submit", lose_reply),
        patch.object(BatchFiles, "find", know_nothing),
        patch.object(desk, "LOST_AFTER", -1),
    ):
        lived = live()
    assert {job.claims for job in lived.jobs} == {2}
    assert all(job.retried == job.reserved for job in lived.jobs)


def test_a_batch_that_its_endpoint_has_forgotten_is_charged_in_full() -> None:
    with patch.object(BatchFiles, "poll", lambda files, batch: None):
        lived = live()
    assert {job.claims for job in lived.jobs} == {2}
    assert all(job.retried == job.reserved for job in lived.jobs)


def test_an_answer_to_another_question_is_charged_and_not_used() -> None:
    def of_another(digest: str, *rest: object) -> BatchAnswer:
        return BatchAnswer(digest[::-1], *rest)  # type: ignore[arg-type]

    with patch.object(desk, "BatchAnswer", of_another):
        lived = live()
    assert (lived.served.batch_answers, lived.served.requests) == (len(OWNERS), len(OWNERS))
    assert {job.claims for job in lived.jobs} == {2}
    assert spent(lived.jobs).tokens == used(lived)


def test_jobs_that_ended_are_charged_for_what_their_cancelled_batch_had_answered(eventually: Eventually) -> None:
    def until_charged(loop: TickLoop, tick: int, client: Redis, endpoint: FakeEndpoint) -> None:
        store = RunStore.open(client, RUN)
        if tick == TICKS - 1:
            eventually(lambda: not client.exists(store.key("batches")), "the batch to end")

    with patch.object(BatchDesk, "_give_up_overdue", lambda *_: None):
        lived = live(batch_latency=10_000.0, wait=2.0, job_deadline=0.5, on_tick=until_charged)
    assert {job.reason for job in lived.jobs} == {"late"}
    assert (lived.served.batch_answers, lived.served.requests) == (len(OWNERS) // 2, 0)
    assert spent(lived.jobs).tokens == lived.served.batch_tokens


def test_a_batch_of_a_deleted_run_is_cancelled(eventually: Eventually) -> None:
    class Deleted(Exception):
        pass

    def delete(loop: TickLoop, tick: int, client: Redis, endpoint: FakeEndpoint) -> None:
        if tick == 2:
            eventually(lambda: sent_batches(client), "the batch to be sent")
            assert summarise_run(client, RUN).batched == len(OWNERS)
            delete_run(client, RUN, force=True)
            eventually(lambda: endpoint.stats().batch_answers == len(OWNERS) // 2, "the batch to be cancelled")
            raise Deleted

    with pytest.raises(Deleted):
        live(batch_latency=10_000.0, on_tick=delete)


def sent_batches(client: Redis) -> list[str]:
    store = RunStore.open(client, RUN)
    return [batch.id for raw in store.values("batches") if (batch := typed_json.decode(raw, Batch)).id]


class Listed:
    """Files of an endpoint that has one batch, and is away at first."""

    def __init__(self, batch: str, tag: str) -> None:
        self.batch, self.tag = batch, tag
        self.away = True
        self.cancelled: list[str] = []

    def find(self, tag: str) -> BatchStatus | None:
        return BatchStatus(self.batch, "in_progress") if tag == self.tag else None

    def cancel(self, batch: str) -> None:
        if self.away:
            raise BatchUnknown("APIConnectionError")
        self.cancelled.append(batch)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("interrupted", [True, False])
def test_the_next_worker_cancels_a_batch_of_a_run_that_was_deleted_without_one(known: bool, interrupted: bool) -> None:
    client = FakeRedis()
    with TickLoop(run=RUN, owners=OWNERS, settings=Settings(), ticks=1, inline=True, client=client) as loop:
        for _ in loop:
            pass
    store, batches = RunStore.open(client, RUN), Batches(client, worker="first")
    left = Batch(endpoint="default", at=client.time()[0], tokens=(), id="batch-1" if known else "")
    client.hset(store.key("batches"), "tag", msgspec.json.encode(left))
    if interrupted:
        client.delete(incarnation_key(RUN), store.key("state"))
    delete_run(client, RUN, force=True)
    files = Listed("batch-1", "tag")
    worker = BatchDesk(client, batches, Claims(client, worker="first"), Settings(), ended, lambda _: files)  # type: ignore[arg-type,return-value]
    worker.cancel_deleted()
    assert (files.cancelled, len(batches.of_deleted_runs())) == ([], 1)
    files.away = False
    for _ in range(2):
        worker.cancel_deleted()
    assert (files.cancelled, batches.of_deleted_runs()) == (["batch-1"], [])


@pytest.mark.parametrize(("hours", "kept"), [(23, 1), (25, 0)])
def test_a_batch_at_an_endpoint_that_no_worker_knows_is_kept_for_one_that_does_until_it_must_have_ended(
    hours: int, kept: int
) -> None:
    client = FakeRedis()
    batches = Batches(client, worker="first")
    left = Batch(endpoint="elsewhere", at=client.time()[0] - hours * 3_600, tokens=(), id="batch-1")
    client.hset(DELETED_BATCHES, "tag", msgspec.json.encode(left))
    BatchDesk(client, batches, Claims(client, worker="first"), Settings(), ended).cancel_deleted()
    assert len(batches.of_deleted_runs()) == kept


def ended(claim: Claim, answer: BatchAnswer) -> None:
    raise AssertionError("no job waits for an answer")


@pytest.mark.parametrize(
    ("status", "is_open"), [("validating", True), ("progress", True), ("", True), ("cancelled", False)]
)
def test_a_batch_has_ended_only_at_a_known_status(status: str, is_open: bool) -> None:
    assert BatchStatus("batch-1", status).is_open is is_open


def test_the_real_day_is_charged_the_actual_cost_of_a_batch() -> None:
    seen = []

    def look(loop: TickLoop, tick: int, client: Redis, endpoint: FakeEndpoint) -> None:
        if tick == TICKS:
            seen.append(RealDay(client, Settings(real_day_tokens=1_000_000)).spending())

    lived = live(real_day_tokens=1_000_000, on_tick=look)
    assert lived.served.batch_answers == len(OWNERS)
    assert (seen[0].reserved.tokens, seen[0].spent.tokens) == (0, lived.served.batch_tokens)


@pytest.fixture
def run() -> Iterator[tuple[Redis, str]]:
    """Yield a server with a run, and the run's incarnation."""
    client = FakeRedis()
    with TickLoop(run=RUN, owners=OWNERS, settings=Settings(), ticks=1, inline=True, client=client) as loop:
        for _ in loop:
            yield client, RunStore.open(client, RUN).incarnation


def test_one_process_has_the_desk_until_its_hold_expires(run: tuple[Redis, str], eventually: Eventually) -> None:
    client, incarnation = run
    first, second = (Batches(client, worker=name) for name in ("first", "second"))
    assert first.look(RUN, incarnation, 60.0) is not None
    assert second.look(RUN, incarnation, 60.0) is None
    assert first.look(RUN, incarnation, 0.01) is not None
    eventually(lambda: second.look(RUN, incarnation, 60.0) is not None, "the desk to be free")
    assert first.look(RUN, incarnation, 60.0) is None


def test_the_batches_of_a_run_of_another_version_are_left_to_its_workers(run: tuple[Redis, str]) -> None:
    client, incarnation = run
    store, batches = RunStore.open(client, RUN), Batches(client, worker="first")
    client.hset(store.key("batched"), "token", "{}")
    assert batches.has_any(RUN) == incarnation
    client.hset(store.key("state"), "schema", SCHEMA + 1)
    assert batches.has_any(RUN) is None


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        ([], 3_600),
        ([(10, 40), (900, 300)], 300),
        ([(90_000, 80_000), (10, 40)], 40),
        ([(90_000, 80_000)], 3_600),
        ([(599, -1), (900, 300)], None),
        ([(601, -1), (900, 300)], 300),
    ],
)
def test_a_batch_is_expected_to_take_as_long_as_the_longest_of_a_day(
    times: list[tuple[int, int]], seconds: int | None
) -> None:
    assert expected_of(times) == seconds
