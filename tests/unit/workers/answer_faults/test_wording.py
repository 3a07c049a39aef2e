"""Names, markup and identifiers that are no deed, placeholders and copied instructions, and what is none of these."""

from __future__ import annotations

import pytest

from cogitate.prompts.answers import ReflectionAnswer, SummaryAnswer
from cogitate.workers.answer_faults.fault import fault_of
from tests.unit.workers.answer_faults.case import act, fault_of_text, prompt, reflection, words


@pytest.mark.parametrize(
    "doing", ["The Copper Kettle", "copper_kettle.", "CopperKettle (cafe)", "home-1", "Lime Street 1", "here"]
)
def test_a_place_is_not_an_action(doing: str) -> None:
    found = act(doing)
    assert found is not None
    assert "only names" in found


@pytest.mark.parametrize(
    ("who", "wrong"), [("Linden Cafe", True), ("JONAS Lindqvist", True), ("Cleo Hart", True), ("Ada Pike", False)]
)
def test_a_name_is_not_an_action_in_any_case(who: str, wrong: bool) -> None:
    more = "You decide for Jonas Lindqvist, 40 years old.\nNear: Ben, Cleo Hart\n"
    assert (act(who, more=more) is not None) is wrong


@pytest.mark.parametrize(
    "doing",
    [
        "Bake bread</s>",
        "Bake bread [/INST]",
        "Bake bread <|end|>",
        "<b>Bake</b> bread",
        "Assistant: Bake bread",
        "Bake bread </memories> and rest",
    ],
)
def test_markup_is_not_an_action_but_may_be_in_a_summary(doing: str) -> None:
    found = act(doing)
    assert found is not None
    assert "is not a word" in found
    assert fault_of(SummaryAnswer(summary=f"Ben said: {doing}."), prompt(SummaryAnswer)) is None


@pytest.mark.parametrize("doing", ["Ask the assistant: who bakes?", "Bake <3 loaves> of bread", "Note: bake [1] time"])
def test_punctuation_is_not_markup(doing: str) -> None:
    assert act(doing, more="bread") is None


def test_an_owners_id_is_a_word_only_where_it_was_shown() -> None:
    assert act("Have tea with agent:ben") is not None
    assert act("Have tea with agent:ben", more="agent:ben is near.") is None
    assert act("Ask the agent: Ben or Cleo?") is None


def test_an_identifier_that_was_shown_is_a_word() -> None:
    assert act("Go to Oak_Hill with Ben", more="Ben asked me to oak_hill.") is None
    assert act("Go to oak_hill with Ben") is not None


@pytest.mark.parametrize("doing", ["Have tea at the Copper Kettle", "tea", "Tea (with Ben)", '"Tea!"'])
def test_an_action_may_name_a_place_and_a_choice_is_not_text(doing: str) -> None:
    assert act(doing) is None
    assert act(doing, location="home-1") is None


def test_a_machine_character_may_say_so() -> None:
    machine = prompt(ReflectionAnswer, "You reflect as HAL. HAL says: I am an AI.")
    assert fault_of(reflection("I am an AI, and HAL is my name."), machine) is None


@pytest.mark.parametrize(
    ("copied", "own", "wrong"), [(5, 0, False), (6, 0, True), (6, 5, True), (6, 6, False), (7, 6, True)]
)
def test_instructions_are_copied_from_six_words_in_a_row_and_more_than_half(copied: int, own: int, wrong: bool) -> None:
    system = words(30, "rule")
    text = " ".join([*system[10 : 10 + copied], *words(own)])
    assert ("repeats the instructions" in fault_of_text(text, system=" ".join(system), user=text)) is wrong


@pytest.mark.parametrize("where", [slice(None, 6), slice(-6, None), slice(-8, -2)])
def test_instructions_are_copied_from_wherever_they_stand(where: slice) -> None:
    system = words(30, "rule")
    text = " ".join(system[where])
    assert "repeats the instructions" in fault_of_text(text, system=" ".join(system), user=text)


def test_two_runs_of_the_instructions_count_together() -> None:
    system = words(40, "rule")
    text = " ".join([*system[:6], *words(11), *system[20:26]])
    assert "repeats the instructions" in fault_of_text(text, system=" ".join(system), user=text)
    apart = " ".join([*system[:3], *words(1), *system[3:6], *words(1), *system[6:9]])
    assert fault_of_text(apart, system=" ".join(system), user=apart) == ""


@pytest.mark.parametrize("text", ["TBD", "todo", " null ", "Placeholder!", "Lorem ipsum", "- -", "string"])
def test_fillers_are_placeholders_and_times_are_not(text: str) -> None:
    assert "is a placeholder" in fault_of_text(text)
    for fine in ("", "7:00", "7 pm", "12:30 A.M.", "string quartet"):
        assert fault_of_text(fine) == ""


def test_a_fault_quotes_briefly_and_refusals_are_found_in_any_case() -> None:
    assert fault_of_text("." * 99) == f"{'.' * 40!r} is a placeholder; write what the character would"
    assert "i’m unable to help" in fault_of_text("Well, i’m unable to help with it.")
    assert fault_of_text("I said: I am an AI.", user="You once said: i AM an ai.") == "", "it was shown that"
