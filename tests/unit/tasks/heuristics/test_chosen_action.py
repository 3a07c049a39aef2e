"""Of the actions that a host names, the one that fits best is chosen, word for word."""

from __future__ import annotations

from cogitate.tasks.heuristics.chosen_action import choose_action

ACTIONS = ["repair the hull", "tend the algae", "run diagnostics"]


def test_the_likest_to_a_text_is_chosen_and_none_that_shares_no_word_with_it() -> None:
    assert choose_action(ACTIONS, "Repairing the broken hull") == "repair the hull"
    assert choose_action(ACTIONS, "tend the algae") == "tend the algae"
    assert choose_action(["tend", "tend the algae"], "Tend the algae") == "tend the algae"
    assert choose_action(ACTIONS, "Have lunch") == ""
    assert choose_action([], "x", ("a", "1")) == ""


def test_where_all_fit_alike_agents_and_ticks_differ_and_each_gets_the_same_again() -> None:
    chosen = [choose_action(ACTIONS, "", (f"agent:{n}", str(tick))) for n in range(5) for tick in range(5)]
    assert set(chosen) == set(ACTIONS)
    assert chosen == [choose_action(ACTIONS, "", (f"agent:{n}", str(tick))) for n in range(5) for tick in range(5)]
