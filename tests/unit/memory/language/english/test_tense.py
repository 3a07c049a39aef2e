"""The tense of plans that are past when they are told."""

from __future__ import annotations

import pytest

from cogitate.memory.clock import DAY
from cogitate.memory.language.english.tense import told_after
from cogitate.memory.language.times import is_over


@pytest.mark.parametrize(
    ("sentence", "end"),
    [
        ("Ada sings on day 2.", 2 * DAY - 1),
        ("Ada sings on day 2 at 9 am.", DAY + 540),
        ("Ada sings on day 2 from 9 am to 11 am.", DAY + 660),
        ("Ada sings on day 1 and on day 3 at 9 am.", 2 * DAY + 540),
    ],
)
def test_a_plan_is_over_after_its_last_minute(sentence: str, end: int) -> None:
    assert not is_over(sentence, end)
    assert is_over(sentence, end + 1)


def test_a_plan_without_a_day_is_never_past() -> None:
    assert not is_over("Ada sings at 9 am.", 10**6)


def test_past_plans_change_tense_outside_quotations(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("Ada will sing on day 1.", "Ada was going to sing on day 1."),
        ("Ada'll sing on day 1.", "Ada was going to sing on day 1."),
        ("They will not sing on day 1.", "They were not going to sing on day 1."),
        ("Ada and Ben won't sing on day 1.", "Ada and Ben were not going to sing on day 1."),
        ("Ada will be singing on day 1.", "Ada was going to be singing on day 1."),
        ("Ada is to sing on day 1.", "Ada was to sing on day 1."),
        ("They are singing on day 1.", "They were singing on day 1."),
        ('Ada said "I will sing" on day 1.', 'Ada said "I will sing" on day 1.'),
        ("The town is quiet on day 1.", "The town was quiet on day 1."),
        ("The mills are not open on the morning of day 1.", "The mills were not open on the morning of day 1."),
        ("Ada is tall, and sang on day 1.", "Ada is tall, and sang on day 1."),
    ]
    for sentence, told in cases:
        with subtests.test(sentence=sentence):
            assert told_after(sentence, 2 * DAY) == told
            assert told_after(sentence, 0) == sentence
