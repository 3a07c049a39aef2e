"""What heuristics write is read by machine, and the page of a week shows what its command prints."""

from __future__ import annotations

import pytest

from bench.readability import readability
from bench.readability.checks import CHECKS, Sentence, sentences_of
from bench.readability.made import Made, lived
from bench.readability.readability import table
from bench.readability.ship import POLICIES, Ship
from tests.repository import ROOT


def made(text: str, *, kind: str = "reflection", owner: str = "ada", minute: int = 2000) -> Made:
    return Made(owner, "Ada Smith", kind, minute, text, ("Ben Cole",))  # type: ignore[arg-type]


def sentence(text: str, kind: str = "reflection") -> Sentence:
    return sentences_of(made(text, kind=kind))[-1]


@pytest.mark.parametrize(
    ("check", "wrong", "right"),
    [
        ("dangling pronoun", "She sold the mill.", "Ben Cole sold the mill and his boat."),
        ("dangling pronoun", "I never said that.", "I never said that word."),
        ("dangling pronoun", "I heard that they say so.", "The guests said that they liked the soup."),
        ("past told as coming", "I will sing on day 2 at 9:00 AM.", "I will sing on day 2 at 9:30 AM."),
        ("past told as coming", "I am holding a party on day 1.", "I was going to sing on day 1."),
        ("“you” without a referent", "I will lend you a book.", "Ben Cole asked “Will you come?”"),
        ("fragment", "My wife.", "My wife and I argued."),
        ("fragment", "And the old mill with the.", "I went to the mill."),
        ("broken inflection", "Ben Cole wasn'ts there.", "Ben Cole wasn't there."),
        ("broken inflection", "Ben Cole's name is Ben Cole.", "Ben Cole's name is known."),
        ("broken inflection", "I was at the the mill.", "I was at the mill."),
        ("second quote", "I heard “yes.” I heard “no.”", "I heard “yes. And no.”"),
        ("promise to nobody", "I said: “I promise: I will mend your gate.”", "I promised Ben Cole to mend a gate."),
        ("day 0", "I sang on day 0.", "I sang on day 1."),
    ],
)
def test_a_check_finds_stumbling_blocks(check: str, wrong: str, right: str) -> None:
    assert CHECKS[check](sentence(wrong))
    assert not CHECKS[check](sentence(right))


def test_a_sentence_knows_its_predecessor() -> None:
    assert not CHECKS["dangling pronoun"](sentence("Ben Cole came. She greeted him."))
    assert [s.text for s in sentences_of(made("I heard “Yes. No!” today. It rained."))] == [
        "I heard “Yes. No!” today.",
        "It rained.",
    ]


def test_the_table_counts_of_a_thousand_sentences() -> None:
    texts = [made("It rained all day. My wife.", owner=owner) for owner in ("ada", "ben", "cy")]
    rows = {row.label: row.cells for row in table("Test", texts).rows}
    assert rows["sentences"] == (6,)
    assert rows["fragment"] == (500.0,)
    assert rows["the same of 3 owners or more"] == (1000.0,)
    assert {row.label: row.cells for row in table("Test", texts[:2]).rows}["the same of 3 owners or more"] == (0.0,)


def test_the_ship_is_lived_and_read() -> None:
    texts = lived(Ship(), 2, POLICIES)
    assert {text.type for text in texts} >= {"reflection", "plan item", "long-term summary"}
    stumbled = {name for text in texts for s in sentences_of(text) for name, check in CHECKS.items() if check(s)}
    assert stumbled <= {"“you” without a referent", "fragment", "second quote"}, stumbled


def test_the_page_of_a_week_shows_its_commands_output() -> None:
    page = (ROOT / "docs" / "explanation" / "a-week.md").read_text(encoding="utf-8")
    assert page.partition("\n---\n")[2].strip() == readability.markdown()
