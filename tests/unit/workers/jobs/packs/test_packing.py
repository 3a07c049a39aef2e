"""Calls of one kind, model and run form a batch; those that may not wait, or may not share a request, go alone."""

from __future__ import annotations

import dataclasses
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

import msgspec
import pytest

from cogitate.tasks.job import Cost
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Ask, Call
from cogitate.workers.jobs.packs.packing import Packing
from cogitate.workers.jobs.packs.request import MOST_OUTPUT
from cogitate.workers.jobs.packs.sizes import FIRST, FIRST_PAUSE, MOST, PackSizes
from cogitate.workers.llm.replies.failures import ModelAnswer
from tests.patience import LONGEST
from tests.unit.workers.jobs.packs.pack_case import OWNERS, StandIn, call_of


def packing(batch_wait: float = LONGEST, *, host_waits: bool = False, context: int = 0) -> Packing:
    return Packing(lambda model: context, host_waits=host_waits, batch_wait=batch_wait)


def asked_at_once(layer: Packing, calls: list[Call], stand_in: Ask) -> list[ModelAnswer | Refused]:
    with ThreadPoolExecutor(len(calls)) as threads:
        return [one.result(LONGEST) for one in [threads.submit(layer.ask, call, stand_in) for call in calls]]


def test_concurrent_calls_make_one_request() -> None:
    stand_in = StandIn()
    answers = asked_at_once(packing(), [call_of("ada"), call_of("ben")], stand_in)
    assert stand_in.sizes == [2]
    assert all(isinstance(one, ModelAnswer) and one.packed == 2 and one.failure is None for one in answers)


def test_a_call_without_others_is_made_alone() -> None:
    stand_in = StandIn()
    (answer,) = asked_at_once(packing(batch_wait=0.001), [call_of("ada")], stand_in)
    assert stand_in.sizes == [1]
    assert isinstance(answer, ModelAnswer)
    assert answer.packed == 0


CALL = call_of("ada")


@pytest.mark.parametrize(
    "alone",
    [
        {"due": 4},  # at the tick after its request
        {"due": 5},  # at the tick after the one that is committed
        {"number": 2},
        {"packs": False},
    ],
)
def test_calls_that_cannot_share_a_pack_are_sent_singly(alone: dict[str, Any]) -> None:
    stand_in = StandIn()
    asked_at_once(packing(), [call_of(owner, **alone) for owner in ("ada", "ben")], stand_in)
    assert stand_in.sizes == [1, 1]


def test_where_a_host_waits_for_results_only_the_tick_of_the_request_counts() -> None:
    stand_in = StandIn()
    layer = packing(0.5, host_waits=True)
    for due in (4, 5):
        asked_at_once(layer, [call_of("ada", due=due), call_of("ben", due=due)], stand_in)
    assert stand_in.sizes == [1, 1, 2]


@pytest.mark.parametrize("other", [{"run": "village"}, {"system": "Hum low."}])
def test_different_questions_do_not_meet(other: dict[str, Any]) -> None:
    stand_in = StandIn()
    asked_at_once(packing(batch_wait=2.0), [call_of("ada"), call_of("ben", **other)], stand_in)
    assert stand_in.sizes == [1, 1]


def test_a_pack_stays_within_the_context_of_its_model() -> None:
    stand_in = StandIn()
    asked_at_once(packing(batch_wait=2.0, context=250), [call_of("ada"), call_of("ben")], stand_in)
    assert stand_in.sizes == [1, 1]


def test_an_error_is_raised_in_every_thread() -> None:
    class Broken(Exception):
        pass

    def fails(call: Call) -> ModelAnswer:
        raise Broken

    layer = packing()
    with ThreadPoolExecutor(2) as threads:
        both = [threads.submit(layer.ask, call_of(owner), fails) for owner in ("ada", "ben")]
        found = [one.exception(LONGEST) for one in both]
    assert [type(one) for one in found] == [Broken, Broken]


class Interrupted(BaseException):
    """A signal's exception."""


def test_an_interrupted_wait_leaves_no_batch_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: threading.Event, timeout: float | None = None) -> bool:
        raise Interrupted

    layer, stand_in = packing(batch_wait=0.001), StandIn()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Event, "wait", interrupted)
        with pytest.raises(Interrupted):
            layer.ask(call_of("ada"), stand_in)
    layer.ask(call_of("ben"), stand_in)
    assert stand_in.sizes == [1], "the next call waits for no thread that is gone"


def test_a_call_waits_for_the_thread_that_asks_only_as_long_as_for_its_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cogitate.workers.jobs.packs.packing.GRACE", 0.0)
    ended = threading.Event()

    def hangs(call: Call) -> ModelAnswer | Refused:
        ended.wait(LONGEST)
        return Refused("no_slot")

    layer, late = packing(), time.monotonic()
    with ThreadPoolExecutor(2) as threads:
        both = [threads.submit(layer.ask, call_of(owner)._replace(deadline=late), hangs) for owner in ("ada", "ben")]
        done, (leading,) = wait(both, LONGEST, return_when=FIRST_COMPLETED)
        ended.set()
    assert isinstance(next(iter(done)).exception(), TimeoutError)
    assert leading.result() == Refused("no_slot")


def test_the_learned_context_is_read_outside_the_lock() -> None:
    locked: list[bool] = []
    layer = Packing(lambda model: locked.append(layer._lock.locked()) or 0, host_waits=False, batch_wait=0.001)
    layer.ask(call_of("ada"), StandIn())
    assert locked == [False]


def test_packs_grow_with_success() -> None:
    stand_in, layer = StandIn(), packing()
    asked_at_once(layer, [call_of(owner) for owner in OWNERS[:2]], stand_in)
    asked_at_once(layer, [call_of(owner) for owner in OWNERS], stand_in)
    assert stand_in.sizes == [2, 4]


def ten_calls() -> list[Call]:
    return [call_of(f"agent{number}") for number in range(10)]


def test_where_a_host_waits_a_model_is_asked_for_more_at_once_as_it_shows_that_it_can() -> None:
    stand_in = StandIn()
    answers = asked_at_once(packing(0.5, host_waits=True), ten_calls(), stand_in)
    assert stand_in.sizes == [2, 4, 4]
    assert all(isinstance(one, ModelAnswer) and one.failure is None for one in answers)


def test_as_many_cases_as_their_answers_fit_are_asked_at_once_whatever_the_caps_allow() -> None:
    stand_in = StandIn()
    reserved = Cost(calls=1, tokens=3_000, usd_micros=2_000)
    wordy = [call_of(f"a{n}", reserved=reserved)._replace(output_cap=MOST_OUTPUT // 3) for n in range(10)]
    answers = asked_at_once(packing(0.5, host_waits=True), wordy, stand_in)
    assert stand_in.sizes == [2, 4, 4], "answers of a few words, of which each counts twice"
    assert [one.output_cap for one in stand_in.asked] == [MOST_OUTPUT // 3 * 2, MOST_OUTPUT, MOST_OUTPUT]
    assert all(isinstance(one, ModelAnswer) and one.failure is None for one in answers)


def test_expected_output_uses_caps_until_answers_are_measured() -> None:
    sizes, calls = PackSizes(), [one._replace(output_cap=1_000) for one in ten_calls()]
    assert sizes.expected_output(calls) == 10_000
    sizes.ended(CALL, 2, clean=True, output=199)
    assert sizes.expected_output(calls) == 10 * 2 * 100
    sizes.ended(CALL, 4, clean=True, output=80)
    assert sizes.expected_output(calls) == 10 * 2 * 100, "the longest answers count"
    assert sizes.expected_output([call_of("ada")]) == 50, "no answer is longer than its cap"


def test_batches_of_other_kinds_wait_for_the_first_result() -> None:
    stand_in = StandIn()
    calls = [call_of(owner, system=system) for system in ("Hum low.", "Hum high.") for owner in OWNERS]
    asked_at_once(packing(0.5, host_waits=True), calls, stand_in)
    assert sorted(stand_in.sizes) == [2, 2, 4]


def test_calls_do_not_wait_for_a_model_that_fails() -> None:
    """After a fault, the remaining calls go out at once: in packs of the reduced size, or alone."""
    stand_in = StandIn(faults=["pack_bad_item"])
    answers = asked_at_once(packing(0.5, host_waits=True), ten_calls(), stand_in)
    assert stand_in.sizes[0] == 2
    assert sum(stand_in.sizes) == len(answers) == 10
    assert max(stand_in.sizes) == 2
    assert [isinstance(one, ModelAnswer) and one.failure is None for one in answers].count(False) == 1


def test_calls_with_hardly_any_time_wait_for_no_other_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cogitate.workers.jobs.packs.packing.GRACE", LONGEST)
    together, stand_in = threading.Barrier(5, timeout=LONGEST), StandIn()

    def asked(call: Call) -> ModelAnswer | Refused:
        together.wait()
        return stand_in(call)

    late = [call._replace(deadline=time.monotonic()) for call in ten_calls()]
    asked_at_once(packing(0.5, host_waits=True), late, asked)
    assert stand_in.sizes == [2] * 5


def test_the_size_doubles_after_full_packs_and_halves_after_faults() -> None:
    sizes = PackSizes()
    for _ in range(6):
        sizes.ended(CALL, sizes.next(CALL), clean=True)
    assert sizes.next(CALL) == MOST
    sizes.ended(CALL, 3, clean=True)  # no more came together
    assert sizes.next(CALL) == MOST
    sizes.ended(CALL, MOST, clean=False)
    assert sizes.next(CALL) == MOST // 2


def test_a_model_that_cannot_answer_two_is_asked_alone_for_longer_each_time() -> None:
    sizes = PackSizes()
    for pause in (FIRST_PAUSE, 2 * FIRST_PAUSE):
        assert sizes.next(CALL) == FIRST
        sizes.ended(CALL, FIRST, clean=False)
        assert [sizes.next(CALL) for _ in range(pause)] == [1] * pause
    assert sizes.next(CALL) == FIRST


def test_pack_sizes_are_learned_by_kind_and_a_new_kind_starts_with_the_common_size() -> None:
    sizes, other, third = PackSizes(), call_of("ada", packs=False), of_kind("third")
    for _ in range(2):
        sizes.ended(CALL, sizes.next(CALL), clean=True)
    assert sizes.next(other) == 4 * FIRST
    sizes.ended(other, 4 * FIRST, clean=False)
    assert sizes.next(CALL) == 4 * FIRST
    assert sizes.grows(CALL)
    assert sizes.next(other) == 2 * FIRST
    assert not sizes.grows(other)
    sizes.ended(CALL, 4 * FIRST, clean=False)
    assert sizes.next(third) == FIRST


def of_kind(kind: str) -> Call:
    job = msgspec.structs.replace(CALL.claim.job, key=CALL.claim.job.key._replace(kind=kind))
    return CALL._replace(claim=msgspec.structs.replace(CALL.claim, case=dataclasses.replace(CALL.claim.case, job=job)))


def test_a_batch_waits_while_calls_follow_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wait ends without the batch being full, and another call has joined during the first."""
    layer, stand_in = packing(batch_wait=0.01), StandIn()
    threads: list[ThreadPoolExecutor] = []
    layer._sizes._of(CALL).size = 8
    follower = call_of("ben")
    real = threading.Event.wait

    def joined(self: threading.Event, timeout: float | None = None) -> bool:
        if timeout != 0.01 or threads:
            return real(self, timeout)
        threads.append(ThreadPoolExecutor(1))
        threads[0].submit(layer.ask, follower, stand_in)
        while not any(len(batch.calls) == 2 for batch in layer._open.values()):
            time.sleep(0)
        return False

    monkeypatch.setattr(threading.Event, "wait", joined)
    layer.ask(call_of("ada"), stand_in)
    threads[0].shutdown()
    assert stand_in.sizes == [2]
