"""The correction of token estimates: when it is trusted, how safe it is, and what is remembered."""

from __future__ import annotations

from random import Random

from fakeredis import FakeRedis

from cogitate.scheduler.engine.token_estimates import LEAST, TokenEstimates
from cogitate.scheduler.ledger.claims import PromptCount
from cogitate.scheduler.ledger.run_store import RunStore

MODEL = "default"


def learned(*percents: int) -> TokenEstimates:
    estimates = TokenEstimates()
    for percent in percents:
        estimates.learn(MODEL, PromptCount(1_000, 10 * percent))
    return estimates


def test_estimates_are_lowered_only_after_a_hundred_prompts_and_never_below_the_least() -> None:
    assert learned().correction(MODEL).plain == 1_000
    assert learned(*[80] * 99).correction(MODEL).plain == 1_000
    assert learned(*[80] * 100).correction(MODEL).plain == 840
    assert learned(*[30] * 100).correction(MODEL).plain == LEAST
    assert learned(*[80] * 100).correction("another").plain == 1_000


def test_a_model_that_counts_more_is_believed_at_once() -> None:
    assert learned(130).correction(MODEL).plain == 1_365
    assert learned(*[80] * 500, 130).correction(MODEL).plain == 1_365


def test_an_inflated_count_is_ignored_until_it_is_usual() -> None:
    assert learned(400).correction(MODEL).plain == 1_000
    assert learned(400, 400).correction(MODEL).plain == 1_000
    assert learned(400, 80, 80, 400).correction(MODEL).plain == 1_000
    assert learned(*[80] * 200, 1_000, 300).correction(MODEL).plain == 840
    assert learned(250, 250, 250).correction(MODEL).plain == 2_625
    assert learned(*[80] * 3, *[250] * 4).correction(MODEL).plain == 2_625
    assert learned(200).correction(MODEL).plain == 2_100
    assert learned(200, 400).correction(MODEL).plain == 2_100, "twice the estimate is not odd yet"


def test_one_sample_in_a_thousand_may_exceed_the_estimate() -> None:
    assert learned(*[80] * 999, 130).correction(MODEL).plain == 840
    assert learned(*[80] * 998, 130, 130).correction(MODEL).plain == 1_365


def test_old_samples_are_forgotten_but_rare_ones_kept() -> None:
    estimates = learned(140, *[90] * 4_000)
    assert sum(estimates._seen[MODEL].values()) == 2_001
    assert 140 in estimates._seen[MODEL]
    for _ in range(40_000):
        estimates.learn(MODEL, PromptCount(1_000, 700))
    assert estimates.correction(MODEL).plain == 735


def test_prompts_of_the_same_kind_overrun_less_than_once_in_a_thousand() -> None:
    chance, estimates = Random(5), TokenEstimates()
    over = 0
    for i in range(20_000):
        reported = int(1_000 * chance.gauss(0.72, 0.03))
        over += i >= 100 and 1_000 * estimates.correction(MODEL).plain < 1_000 * reported
        estimates.learn(MODEL, PromptCount(1_000, reported))
    assert over < 20


def test_a_resumed_run_keeps_its_estimates() -> None:
    client, estimates = FakeRedis(), learned(*[80] * 200, 90)
    estimates.learn_headroom(MODEL, reasoning=800, written=800, cap=800, truncated=True)
    for write in estimates.take_writes():
        client.hset("run:state", *write.args)
    assert estimates.take_writes() == []
    again = TokenEstimates()
    again.load(RunStore(client, "run:"))
    assert again.correction(MODEL).plain == estimates.correction(MODEL).plain == 945
    assert again.headroom(MODEL) == estimates.headroom(MODEL) == 1_600
    again.learn(MODEL, PromptCount(1_000, 800))
    estimates.learn(MODEL, PromptCount(1_000, 800))
    assert again.take_writes() == estimates.take_writes()


def test_tokens_of_other_scripts_are_learned_apart() -> None:
    estimates = TokenEstimates()
    for _ in range(100):
        estimates.learn(MODEL, PromptCount(2_000, 1_100, 1_000))  # 600 in Latin letters, 500 in others
    assert estimates.correction(MODEL) == (1_000, 630)
    assert estimates.correction("another") == (1_000, 1_000)
    estimates.learn(MODEL, PromptCount(2_000, 2_100, 1_000))
    assert estimates.correction(MODEL) == (1_000, 1_680), "more is believed at once"


def test_a_prompt_of_either_mixture_costs_no_more_than_is_learned() -> None:
    chance = Random(33)
    for latin, other in ((550, 300), (690, 450), (1_100, 900), (600, 1_400)):
        estimates = TokenEstimates()
        for asked in range(400):
            plain, others = 1_000, chance.choice((300, 1_000, 3_000))
            counted = (plain * latin + others * other) // 1_000
            factors = estimates.correction(MODEL)
            told = (plain * factors.plain + others * factors.others) / 1_000
            assert counted <= told or asked < 20 < latin + other
            estimates.learn(MODEL, PromptCount(plain + others, counted, others))


def test_the_headroom_of_a_model_doubles_until_its_reasoning_fits() -> None:
    estimates = TokenEstimates()
    assert estimates.headroom(MODEL) == 0
    estimates.learn_headroom(MODEL, reasoning=300, written=500, cap=800, truncated=False)
    assert estimates.headroom(MODEL) == 0, "the answer fitted"
    estimates.learn_headroom(MODEL, reasoning=300, written=800, cap=800, truncated=True)
    assert estimates.headroom(MODEL) == 0, "the answer was too long, not its reasoning"
    estimates.learn_headroom(MODEL, reasoning=800, written=800, cap=800, truncated=True)
    assert estimates.headroom(MODEL) == 1_600
    estimates.learn_headroom(MODEL, reasoning=2_300, written=2_400, cap=2_400, truncated=True)
    assert estimates.headroom(MODEL) == 4_800
    estimates.learn_headroom(MODEL, reasoning=900, written=1_200, cap=800, truncated=False)
    assert estimates.headroom(MODEL) == 4_800
    estimates.learn_headroom(MODEL, reasoning=90_000, written=90_000, cap=800, truncated=True)
    assert (estimates.headroom(MODEL), estimates.headroom("another")) == (32_000, 0)


def test_an_answer_that_fitted_into_the_rest_of_its_reservation_teaches_its_reasoning() -> None:
    estimates = TokenEstimates()
    estimates.learn_headroom(MODEL, reasoning=1_500, written=1_700, cap=800, truncated=False)
    assert estimates.headroom(MODEL) == 1_500
