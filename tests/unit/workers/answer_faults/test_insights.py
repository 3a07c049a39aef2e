"""Insights: new ones, about somebody or something that was remembered, in the words of the one who has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cogitate.prompts.answers import ReflectionAnswer
from cogitate.prompts.render import FOLDER, Templates
from cogitate.tasks.kind import Prompt
from cogitate.workers.answer_faults.fault import fault_of
from cogitate.workers.jobs.fitting import check_prompt
from tests.unit.workers.answer_faults.case import REFLECT, prompt, reflection


@pytest.mark.parametrize(
    ("insight", "new"),
    [
        ("Cleo is [always] there for me.", False),
        ("cleo is [always] there for me", False),
        ("Cleo is [always] there for me, and for Ben.", True),
        ("I can count on Cleo, who lent me her chimney brush.", True),
    ],
)
def test_an_insight_goes_beyond_those_before(insight: str, new: bool) -> None:
    earlier = [{"when": "day 2, 9:00 PM", "text": "Cleo is [always] there for me.", "times": 1}]
    shown = Templates().render("reflect", REFLECT | {"reflections": earlier}).user
    found = fault_of(reflection(insight), prompt(ReflectionAnswer, shown))
    assert (found is None) is new
    assert new or "before" in str(found)


def test_an_insight_names_a_person_or_takes_up_a_memory(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str, bool]] = [
        ("The most important thing I learned is how limitations make us grow.", "Ben repaired the oven.", False),
        ("The most important thing I learned is how repairs make us grow.", "Ben repaired the oven.", False),
        ("What I learned today is how the repairs of an oven make us grow.", "Ben repaired the oven today.", True),
        ("I learned how Ben's repairs and ovens make us grow.", "Then Ben repaired the oven.", True),
        ("I learned how my repairs of old ovens make us grow.", "Ben repaired the old oven.", True),
        ("The most important thing I learned is to rely on Ben.", "Ben repaired the oven.", True),
        ("The most important thing I learned is to rely on Ben.", "Ben Ash repaired the oven.", True),
        ("The most important thing I learned is to rely on Ben Ash.", "Ben Ash repaired the oven.", True),
        ("The most important thing I learned is to rely on Cleo.", "Ben repaired the oven.", True),  # who is listed
        ("I am tired and sad.", "Then I was too tired for it.", True),  # one of two words
        ("I envy them and the repairs of their ovens.", "Ben repaired the oven.", True),
        ("I envy the people with their ovens.", "Ben repaired the oven.", False),  # one of two
        ("I am an oven.", "Ben repaired the oven.", True),
        ("Ich habe gelernt, dass man Freunden in Not helfen muss.", "Ben repaired the oven.", True),
        ("The most important thing I learned is how limitations make us grow.", "Бен починил старую печь.", True),
        ("The most important thing I learned is how limitations make us grow.", "", True),  # none are shown
        ("I have learned how limitations make us grow.", "Then I asked Ben to repair the oven.", False),  # "I": no name
        (
            "I have learned that relationships changed.",
            "Ben repaired the oven.",
            False,
        ),  # words of the instructions alone
    ]
    for insight, memories, drawn in cases:
        with subtests.test(insight=insight):
            lines = f"- [day 1, 9:00 AM] {memories}\n" if memories else ""
            shown = f"It is noon.\nPeople: Cleo Hart\n\n<memories>\n{lines}</memories>\nWhat is learned?"
            asked = prompt(ReflectionAnswer, shown)
            assert fault_of(reflection(insight), asked) == (
                None
                if drawn
                else "the insight is not about what the memories say: name persons, places and facts of them"
            )


@pytest.mark.parametrize(
    ("insight", "named"),
    [
        ("Also, the most important thing I learned is how limitations make us grow.", False),
        ("The most important thing I learned is to rely on Al.", True),
        ("我觉得阿林值得信赖一辈子", True),
    ],
)
def test_a_listed_name_within_a_word_names_no_one(insight: str, named: bool) -> None:
    memory = "李伟修好了烤箱。" if insight[0] == "我" else "Ben repaired the oven."
    shown = f"It is noon.\nPeople: Al; 阿林\n\n<memories>\n- [day 1, 9:00 AM] {memory}\n</memories>\nWhat is learned?"
    assert (fault_of(reflection(insight), prompt(ReflectionAnswer, shown)) is None) is named


def test_a_run_with_custom_instructions_is_not_held_to_ours(tmp_path: Path) -> None:
    (tmp_path / "reflect.j2").write_text((FOLDER / "reflect.j2").read_text())
    insight = reflection("Ada concludes that the most important thing is time.")
    for templates, held in ((Templates(), True), (Templates(tmp_path), False)):
        asked = Prompt.of(templates.render("reflect", REFLECT), ReflectionAnswer)
        assert (fault_of(insight, check_prompt(asked)) is not None) is held
