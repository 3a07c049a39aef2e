"""What a run learns of its models' latencies: how often it is right, how fast it follows, and what it keeps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from random import Random

import msgspec
import pytest
from fakeredis import FakeRedis

from cogitate.scheduler.latency.latencies import RECENT, SAYING, WINDOW, Latencies, LatencyPrior
from cogitate.scheduler.ledger.answer_times import Overdue, Timed, note_of, read_timed
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, JobKey

MODEL = "default"


def key(tick: int, kind: str = "act") -> JobKey:
    return JobKey(tick, kind, "agent:ann", 0, 0)


def learn(known: Latencies, ticks: int, at: int, *, kind: str = "act", ahead: int = 0) -> None:
    fact = Timed(key(at - ticks, kind), MODEL, ahead, ticks)
    known.take([fact], at, {fact.key: None})


def learned(*ticks: int, kind: str = "act") -> Latencies:
    known = Latencies()
    for at, one in enumerate(ticks):
        learn(known, one, 1_000 + at, kind=kind)
    return known


def need(known: Latencies, kind: str = "act", ahead: int = 0) -> int:
    found = known.need(kind, MODEL, ahead)
    assert found is not None
    return found


DISTRIBUTIONS: dict[str, Callable[[Random], float]] = {
    "fixed": lambda draw: 20,
    "log-normal": lambda draw: 20 * math.exp(0.5 * draw.gauss(0, 1)),
    "wide log-normal": lambda draw: 20 * math.exp(draw.gauss(0, 1)),
    "exponential": lambda draw: draw.expovariate(1 / 40),
    "Pareto": lambda draw: 10 * draw.paretovariate(2),
    "two modes": lambda draw: draw.gauss(20, 2) if draw.random() < 0.9 else draw.gauss(200, 20),
    "one in thirty hangs": lambda draw: draw.gauss(20, 3) if draw.random() < 0.97 else 2_000,
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_nearly_every_answer_arrives_within_the_needed_time(name: str) -> None:
    draw, in_time, asked, known = Random(name), 0, 0, Latencies()
    for at in range(10_000, 12_000):
        ticks = max(1, math.ceil(DISTRIBUTIONS[name](draw)))
        wanted = known.need("act", MODEL, 0)
        if wanted is not None:
            asked += 1
            in_time += ticks <= wanted
        learn(known, ticks, at)
    assert in_time / asked >= 0.95


def test_the_needed_time_stays_near_the_answers_durations() -> None:
    assert need(learned(*[20] * WINDOW)) == 20 * 1.25 + 1


def test_few_samples_are_trusted_less() -> None:
    assert [need(learned(*[20] * count)) for count in (1, 4, 16, 64)] == [61, 41, 31, 26]


def test_one_answer_of_a_full_window_may_take_longer() -> None:
    assert need(learned(900, *[20] * (WINDOW - 1))) == 26
    assert need(learned(900, 800, *[20] * (WINDOW - 2))) == 1_001


def test_an_unasked_model_has_no_estimate() -> None:
    known = learned(20)
    assert known.need("act", "another", 0) is None
    assert need(known, "plan") == 61  # lent by the kind that was


def test_a_kind_borrows_until_it_has_samples() -> None:
    known = learned(*[200] * 30, kind="plan")
    assert need(known) > 200
    for at in range(5):
        learn(known, 20, 2_000 + at)
    assert need(known) < 40


def test_a_late_job_counts_twice_its_age_until_its_answer_is_known() -> None:
    known = learned(*[20] * 20)
    usual, late = need(known), key(2_000)
    known.overdue(Overdue(late, 30), MODEL, 0, 2_030)
    guessed = need(known)
    assert known.take([Timed(late, MODEL, 0, 35)], 2_035, {}) == (Timed(late, MODEL, 0, 35),)
    assert usual < need(known) < guessed
    assert [(one.ticks, one.awaited) for one in known.samples("act", MODEL)][-2:] == [(20, ""), (35, "")]


def test_a_guess_that_no_answer_replaces_is_given_up_after_a_few_answers() -> None:
    known = learned(*[20] * 20)
    usual = need(known)
    for at in range(3):  # nobody claimed them, or their calls failed
        known.overdue(Overdue(key(2_000 + at), 400 - at), MODEL, 0, 2_400)
    for at in range(RECENT):
        assert need(known) > 800
        learn(known, 20, 2_430 + at)
    assert need(known) <= usual
    assert not any(sample.awaited for sample in known.samples("act", MODEL))


def awaits(known: Latencies) -> bool:
    return any(sample.awaited for sample in known.samples("act", MODEL))


def test_a_guess_is_kept_until_enough_later_answers() -> None:
    known = Latencies()
    known.overdue(Overdue(key(2_000), 10), MODEL, 0, 2_010)
    for at in range(2 * RECENT):  # asked for before the job ended late
        learn(known, 60, 2_020 + at)
    assert awaits(known), "they say nothing of the time since"
    for at in range(RECENT):
        assert awaits(known), f"{at} answers are too few"
        learn(known, 60, 2_070)  # asked for at the tick at which it ended
    assert not awaits(known)


def test_the_first_answers_of_a_model_are_too_few_to_give_up_a_guess() -> None:
    known = Latencies()
    known.overdue(Overdue(key(2_000), 10), MODEL, 0, 2_010)
    for at in range(RECENT - 1):
        learn(known, 60, 2_100 + at)
    assert awaits(known)
    learn(known, 60, 2_200)
    assert not awaits(known)


def test_an_answer_to_an_ended_job_is_ignored() -> None:
    known = learned(20)
    assert known.take([Timed(key(900), MODEL, 0, 500), None], 1_400, {}) == ()
    assert len(known.samples("act", MODEL)) == 1


def test_a_model_that_is_faster_again_is_believed_after_a_few_answers() -> None:
    known = learned(*[200] * WINDOW)
    for at in range(RECENT):
        assert need(known) == 251
        learn(known, 20, 2_000 + 20 * at)
    assert need(known) == math.ceil(20 * (1 + 2 / math.sqrt(RECENT))) + 1


def test_the_fastest_of_a_crowd_do_not_show_a_faster_model() -> None:
    known = learned(*[200] * WINDOW)
    for ticks in range(20, 20 + 2 * RECENT):  # all asked for at 2,000
        learn(known, ticks, 2_000 + ticks)
    assert need(known) == 251


def test_a_model_that_is_slower_is_believed_at_the_second_late_job() -> None:
    known = learned(*[20] * WINDOW)
    for at in range(2):
        known.overdue(Overdue(key(2_000 + at), 26), MODEL, 0, 2_026 + at)
    assert need(known) > 2 * 26


def test_a_job_behind_a_crowd_needs_longer() -> None:
    """A hundred jobs at once through sixteen slots, each call taking forty ticks."""
    known = Latencies()
    for ahead in range(100):
        learn(known, 40 * (1 + ahead // 16), 1_000, kind="plan", ahead=ahead)
    for ahead in (0, 20, 50, 90):
        took = 40 * (1 + ahead // 16)
        assert took < need(known, "plan", ahead) < 3 * took + 40
    before = need(known, "plan", 50)
    known.record_request("act", MODEL, 1_001)
    known.overdue(Overdue(key(1_000, "plan"), 1), "other", 0, 1_001)
    assert need(known, "plan", 50) == before, "a kind that was asked and has not answered says nothing"


def test_too_slow_is_where_more_than_a_few_answers_would_be_late() -> None:
    assert not learned(*[40] * 40).is_too_slow("act", MODEL, 0, 40)
    assert learned(*[41] * 40).is_too_slow("act", MODEL, 0, 40)
    assert not learned(*[40] * 60, *[900] * 4).is_too_slow("act", MODEL, 0, 40)
    assert learned(*[40] * 59, *[900] * 5).is_too_slow("act", MODEL, 0, 40)
    assert not learned(90, *[40] * 4).is_too_slow("act", MODEL, 0, 40)  # one may be bad luck
    assert not Latencies().is_too_slow("act", MODEL, 0, 40)


def test_a_model_that_was_too_slow_is_not_after_a_few_answers_in_turn_that_were_there() -> None:
    known = learned(*[40] * 54, *[900] * 10)
    for at in range(RECENT):
        assert known.is_too_slow("act", MODEL, 0, 40)
        learn(known, 40, 2_000 + 40 * at)
    assert not known.is_too_slow("act", MODEL, 0, 40)
    learn(known, 41, 3_000)
    assert known.is_too_slow("act", MODEL, 0, 40)


def test_the_prior_applies_until_the_first_answers() -> None:
    known = Latencies()
    known.prior = LatencyPrior(usual={MODEL: 20.0}, queue={MODEL: 2.0}, slots=10)
    assert [need(known, "plan", ahead) for ahead in (0, 25)] == [61, 111]
    assert [known.is_too_slow("act", MODEL, 0, most) for most in (39, 40)] == [True, False]
    assert [known.is_too_slow("act", MODEL, 10, most) for most in (59, 60)] == [True, False]
    learn(known, 30, 100, kind="plan")
    assert need(known, "plan") == 91


def test_new_samples_decide_whether_a_model_is_fast() -> None:
    known = learned(*[200] * 10)
    known.record_request("act", MODEL, 2_000)
    assert not known.is_fast("act", MODEL, 60)
    for at in range(SAYING):
        assert not known.is_fast("act", MODEL, 60)  # among the newest are slow ones
        learn(known, 30, 2_100 + at, kind="plan")
    assert known.is_fast("act", MODEL, 60)
    known.record_request("act", MODEL, 2_200)
    assert not known.is_fast("act", MODEL, 60)  # that job is the one to learn from
    learn(known, 30, 2_230)
    assert known.is_fast("act", MODEL, 60)


def test_an_old_fast_answer_does_not_say_that_a_model_is_fast_now() -> None:
    known = learned(*[30] * 2 * SAYING)
    known.record_request("act", MODEL, 2_000)
    assert not known.is_fast("act", MODEL, 60), "all are from before the newest request"
    learn(known, 30, 2_000)
    assert not known.is_fast("act", MODEL, 60), "nor does one that comes with it"
    learn(known, 30, 2_001, kind="plan")
    assert known.is_fast("act", MODEL, 60), "all that is new is fast"


def test_a_change_of_pace_discards_its_latencies() -> None:
    known = learned(*[20] * 20)
    assert need(known) == need(known) > 20
    known.begin_anew(LatencyPrior(usual={MODEL: 5.0}, tick_rate=5.0))
    assert need(known) == 16


def written(known: Latencies, client: FakeRedis) -> list[Write]:
    writes = known.take_writes()
    for write in writes:
        client.execute_command(write.command, "run:" + write.key, *write.args)
    return writes


def test_another_tick_rate_restarts_learning() -> None:
    client, known = FakeRedis(), learned(*[20] * 20)
    written(known, client)
    known.begin_anew(LatencyPrior(usual={MODEL: 5.0}, tick_rate=5.0))
    assert need(known) == 16
    written(known, client)
    again = Latencies()
    again.load(RunStore(client, "run:"), ())
    assert (again.prior, again.samples("act", MODEL)) == (known.prior, ())
    assert known.take_writes() == []


def histories() -> Iterator[Latencies]:
    yield Latencies()
    yield learned(*range(1, 90))
    mixed = learned(20, 30, kind="plan")
    mixed.overdue(Overdue(key(5), 75), MODEL, 3, 80)
    mixed.record_request("act", MODEL, 70)
    mixed.record_request("reflect", "strong one", 71)
    yield mixed


@pytest.mark.parametrize("known", [*histories()], ids=["nothing", "a full window", "a guess"])
def test_a_resumed_run_knows_the_same(known: Latencies) -> None:
    client = FakeRedis()
    known.want(True)
    written(known, client)
    again = Latencies()
    again.want(True)
    again.load(RunStore(client, "run:"), ())
    for kind in ("act", "plan", "reflect"):
        for model in (MODEL, "strong one"):
            assert again.samples(kind, model) == known.samples(kind, model)
            assert again.since(kind, model) == known.since(kind, model)
            assert again.need(kind, model, 7) == known.need(kind, model, 7)
    assert again.take_writes() == []


def test_taken_samples_are_removed_with_the_tick() -> None:
    client, known = FakeRedis(), Latencies()
    known.want(True)
    written(known, client)
    for at in range(3):
        client.rpush("run:timed", b"%d " % at + note_of(key(at), MODEL, at, Cost()))
    facts = read_timed(client.lrange("run:timed", 0, 1))
    assert facts == [Timed(key(0), MODEL, 0, 1), Timed(key(1), MODEL, 1, 1)]
    known.take(facts, 4, {key(0): None, key(1): None})
    written(known, client)
    assert read_timed(client.lrange("run:timed", 0, -1)) == [Timed(key(2), MODEL, 2, 1)]


def test_an_open_job_whose_answer_is_there_is_known_after_a_resume() -> None:
    client, known = FakeRedis(), Latencies()
    known.take([Timed(key(1), MODEL, 0, 5), Timed(key(2), MODEL, 0, 4)], 6, {key(1): None, key(2): None})
    known.ended(key(2))
    written(known, client)
    assert not client.exists("run:job:" + key(2).text())  # an ended job has no record any more
    again = Latencies()
    again.load(RunStore(client, "run:"), [key(1), key(3)])
    assert again.is_answered(key(1))
    assert not again.is_answered(key(3))


def test_workers_note_times_only_while_they_are_wanted() -> None:
    client, known = FakeRedis(), Latencies()
    assert written(known, client) == []
    known.want(True)
    written(known, client)
    assert client.hget("run:state", "times") == b"1"
    client.rpush("run:timed", b"1 []")
    known.want(True)
    assert known.take_writes() == []
    assert Latencies().take_writes() == []
    again = Latencies()
    again.want(True)
    written(again, client)
    assert client.exists("run:timed"), "what was noted before is learned from"
    known.want(False)
    written(known, client)
    assert client.hget("run:state", "times") == b"0"
    assert not client.exists("run:timed")


@pytest.mark.parametrize("raw", [b"", b"x", b"1", b'1 ["a", "b", 1]', b'1 ["1/act/a/0/0", "m"]', b"\xff", b"7 {}"])
def test_unreadable_samples_are_skipped(raw: bytes) -> None:
    good = b"9 " + msgspec.json.encode(("4/act/agent:ann/0/0", MODEL, 0))
    assert read_timed([raw, good]) == [None, Timed(key(4), MODEL, 0, 6)]


def test_a_request_is_recorded_before_its_answer() -> None:
    client, known = FakeRedis(), Latencies()
    known.record_request("act", MODEL, 7)
    written(known, client)
    again = Latencies()
    again.load(RunStore(client, "run:"), ())
    assert (again.since("act", MODEL), again.samples("act", MODEL)) == (7, ())


def test_priors_of_a_host_survive_a_resume() -> None:
    client = FakeRedis()
    prior = LatencyPrior(usual={MODEL: 4.5}, queue={MODEL: 0.5}, slots=3)
    client.hset("run:state", mapping={"latency_prior": msgspec.json.encode(prior), "times": "1"})
    again = Latencies()
    again.want(True)
    again.load(RunStore(client, "run:"), ())
    assert again.prior == prior
    assert again.take_writes() == []


def test_a_late_job_counts_by_its_age_in_a_run_of_any_length() -> None:
    known = Latencies()
    known.overdue(Overdue(key(1_000), 10), MODEL, 3, 1_010)
    (sample,) = known.samples("act", MODEL)
    assert (sample.ticks, sample.ahead, sample.at, sample.awaited) == (20, 3, 1_010, key(1_000).text())
    known.overdue(Overdue(key(1_010), 0), MODEL, 0, 1_010)
    assert known.samples("act", MODEL)[-1].ticks == 2


def test_slow_in_turn_counts_consecutive_slow_answers() -> None:
    known = Latencies()
    for ticks, at in ((9, 20), (3, 40), (9, 60), (9, 80), (9, 84)):
        learn(known, ticks, at)
    assert known.slow_in_turn("act", MODEL, 8) == 2, "the last two were under way together"
    assert known.slow_in_turn("act", MODEL, 9) == 0, "just in time"
    assert known.slow_in_turn("plan", MODEL, 1) == 0


@pytest.mark.parametrize(("older", "kept"), [(2, 2 + RECENT), (3, RECENT), (4, RECENT)])
def test_three_older_answers_give_a_models_former_duration(older: int, kept: int) -> None:
    known = learned(*[200] * older)
    for at in range(RECENT):
        learn(known, 20, 2_000 + 20 * at)
    assert len(known.samples("act", MODEL)) == kept


def test_answered_jobs_are_marked_once_in_a_fixed_order() -> None:
    known, keys = Latencies(), [JobKey(tick, "act", f"agent:{name}", 0, 0) for name in "dacb" for tick in (3, 2)]
    known.take([Timed(one, MODEL, 0, 5) for one in keys], 9, dict.fromkeys(keys))
    known.ended(keys[0])
    marked = [write.key for write in known.take_writes() if write.args == ("answered", 1)]
    assert marked == [f"job:{one.text()}" for one in sorted(keys[1:])]
    assert [write for write in known.take_writes() if write.args == ("answered", 1)] == []
