"""What a sentence is worth beyond its words: objectives, bonds and possessions, each for itself and together."""

from __future__ import annotations

import pytest

from cogitate.memory.summaries.critical import (
    BOND_VALUE,
    COLOUR_SHARE,
    MECHANICS_SHARE,
    OBJECTIVE_VALUE,
    POSSESSION_VALUE,
    critical_value,
    share_of_words,
)

NOTHING, OBJECTIVE, BOND, POSSESSION = (
    "The evening was long and grey.",
    "Elara must leave.",
    "Borin is a rival of Elara.",
    "Elara wears the old cloak.",
)


def test_facts_of_each_type_add_up(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, float]] = [
        (NOTHING, 0.0),
        (OBJECTIVE, OBJECTIVE_VALUE),
        (BOND, BOND_VALUE),
        (POSSESSION, POSSESSION_VALUE),
        (f"{OBJECTIVE} {BOND}", OBJECTIVE_VALUE + BOND_VALUE),
        (f"{BOND} {POSSESSION}", BOND_VALUE + POSSESSION_VALUE),
        (f"{OBJECTIVE} {POSSESSION}", OBJECTIVE_VALUE + POSSESSION_VALUE),
        (f"{OBJECTIVE} {BOND} {POSSESSION}", OBJECTIVE_VALUE + BOND_VALUE + POSSESSION_VALUE),
    ]
    for sentence, value in cases:
        with subtests.test(sentence=sentence):
            assert critical_value(sentence) == value


def test_an_objective_is_worth_more_than_a_bond_and_a_bond_more_than_a_possession() -> None:
    assert OBJECTIVE_VALUE > BOND_VALUE > POSSESSION_VALUE > 0


def test_rules_of_a_game_hardly_count_and_colour_counts_less(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, float]] = [
        ("Elara rolled a natural 20.", MECHANICS_SHARE),
        ("Elara rolled a 3 and must leave.", MECHANICS_SHARE),
        ("The evening was long and grey.", COLOUR_SHARE),
        ("Somebody laughed.", COLOUR_SHARE),
        ("The evening was long for Elara.", 1.0),  # it names somebody
        ("The guard must leave.", 1.0),  # it tells an objective
        ("The gulls quarrelled over fish heads.", COLOUR_SHARE),  # a bond of nobody
        ("A dog carried a bone.", COLOUR_SHARE),  # a possession of nobody
        ("The gulls quarrelled with Elara.", 1.0),
        ("Elara laughed.", 1.0),
        ("Rain fell.", 1.0),
    ]
    for sentence, share in cases:
        with subtests.test(sentence=sentence):
            assert share_of_words(sentence) == share
