"""Answers that fill the schema and say nothing: refused with the reason; and answers that are thoughts: taken."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from cogitate.prompts.answers import ActionAnswer, RatingsAnswer, SummaryAnswer
from cogitate.workers.answer_faults.fault import fault_of
from tests.unit.workers.answer_faults.case import plan, prompt, reflection


def test_junk_is_refused_with_its_reason(subtests: pytest.Subtests) -> None:
    cases: list[tuple[BaseModel, str]] = [
        (reflection("..."), "placeholder"),
        (reflection("…"), "placeholder"),
        (plan("Bake", "Sell bread", "...", "Rest", "Sleep"), "placeholder"),
        (ActionAnswer(location="", doing="string", reason="Hungry"), "placeholder"),
        (reflection("You reflect as Ada, a baker."), "instructions"),
        (ActionAnswer(location="", doing="Bake bread", reason="you decide for Ada, 9:00 PM"), "instructions"),
        (reflection("The character has learned that bread matters."), "speaks of the task"),
        (ActionAnswer(location="", doing="Bake bread", reason="This character likes Ben"), "speaks of the task"),
        (ActionAnswer(location="", doing="Bake bread (rye)'}' is incorrect", reason="Ben"), "unmatched bracket"),
        (reflection("Ben asked for bread]"), "unmatched bracket"),
        (reflection("The bread ends on a note of [character_name]', but no."), "placeholder"),
        (ActionAnswer(location="", doing="Bake bread", reason="2023-07-18T09:45:36Z"), "a date or a number"),
        (ActionAnswer(location="", doing="Bake bread", reason="The previous answer was wrong"), "speaks of the task"),
        (reflection("Bread requires two json objects to use."), "speaks of the task"),
        (ActionAnswer(location="", doing="to_townLibrary(1)", reason="Bread"), "is not a word"),
        (plan("Bake bread", "day_2", "Sell bread"), "is not a word"),
        (reflection("ADA."), "only names"),
        (reflection("What makes the honey bread so good?"), "only asks"),
        (ActionAnswer(location="", doing="Bake bread", reason="Why does it smoke? And for whom?!"), "only asks"),
        (ActionAnswer(location="", doing="Will Ben come to me?", reason="Bread"), "only asks"),
        (reflection("Ben asked me for the recipe of the honey bread."), "only repeats a memory"),
        (reflection("Cleo lent me her chimney brush"), "only repeats a memory"),
        (reflection("I have learned that the most important thing is time."), "not about what the memories say"),
        (
            reflection("Ada Smith has learned that the task involves gathering information."),
            "not about what the memories",
        ),
        (reflection("I, Ben Cole, gave Ada the recipe of the honey bread."), "'Ben Cole' is not the character"),
        (reflection("Ich, Ben Cole, habe Ada das Rezept des Honigbrots gegeben."), "'Ben Cole' is not the character"),
        (ActionAnswer(location="", doing="Bake bread", reason=f"Ben likes it {'so ' * 35}mu"), "cut off"),
        (ActionAnswer(location="", doing="<plan>", reason="Bread"), "placeholder"),
        (reflection("I asked [name] for the recipe of the honey bread."), "[name]"),
        (reflection("Ben told [Your Name] of the bread."), "[Your Name]"),
        (reflection("Cleo met <insert person here> at noon."), "placeholder"),
        (ActionAnswer(location="", doing="Bake bread", reason="12/04/2018"), "a date or a number"),
        (ActionAnswer(location="", doing="Bake bread", reason="Day 1, 5:50 AM."), "a date or a number"),
        (ActionAnswer(location="", doing="Bake bread", reason="on day 3"), "a date or a number"),
        (ActionAnswer(location="", doing="Bake bread", reason="2019-06-30, 2:48 PM"), "a date or a number"),
        (ActionAnswer(location="", doing="2019-04-15 17:36:58.733+0000", reason="Bread"), "a date or a number"),
        (reflection(",1587324609_13-10-2018_11-22-21"), "a date or a number"),
        (reflection("I am an AI language model and cannot reflect on personal experiences."), "AI"),
        (SummaryAnswer(summary="As a large language model, I have no memories."), "language model"),
        (reflection("I'm sorry, but I'm not able to reflect on this."), "world"),
        (reflection("I cannot provide that."), "cannot provide"),
        (plan(*["go"] * 8), "8 of 8"),
        (plan("Bake", "bake", "Bake", "BAKE", "Sell bread"), "4 of 5"),
        (reflection("Name people, places and facts that the memories name; invent none."), "instructions"),
        (reflection("the bread and the bread and " * 8), "over and over"),
        (plan(*[f"Loaf {n} of bread" for n in range(1, 7)]), "6 of 6"),
        (plan(*["Bench", "Bread on the 1st floor"] * 2, "Bread on the 2nd floor", "Bench"), "only 2 of 6"),
        (reflection("... , ama"), "part of a sentence"),
        (reflection("People of the bread and their way,"), "part of a sentence"),
        (reflection("[The next step of this plan"), "part of a sentence"),
        (ActionAnswer(location="", doing="Sweep the chimney.", reason="sweep the chimney"), "say the same"),
        (ActionAnswer(location="", doing="Ask Ben for his recipe", reason="Ask Ben"), "say the same"),
        (reflection("The most I can do is to do nothing. The most I can do is to do nothing."), "over and over"),
        (
            ActionAnswer(
                location="",
                doing="eat",
                reason="bread is best to eat, not eat it too much, and eat it too much too soon, but eat it too much "
                "too soon, and eat it too much too soon",
            ),
            "over and over",
        ),
    ]
    for answer, word in cases:
        with subtests.test(answer=answer):
            found = fault_of(answer, prompt(type(answer)))
            assert found is not None
            assert word in found


def test_a_thought_is_taken(subtests: pytest.Subtests) -> None:
    for answer in [
        reflection(
            "Cleo helps without being asked. I should bring her some of the honey bread that Ben likes so much."
        ),
        reflection("Ben asked me for the recipe of the honey bread, and I am proud of it."),
        reflection("I like honey."),
        reflection("Ben is a character in a book about honey bread that I gave Cleo."),
        ActionAnswer(location="", doing="Bake bread", reason='"You plan bread, Ben plans cake."'),
        ActionAnswer(location="", doing="Bake bread", reason="Day 3, 9:00 PM is when Ben comes"),
        reflection("What matters to me about bread and Ben: Ben will see you at noon."),
        reflection('Ben said: "You plan bread." Did he mean my honey bread?'),
        reflection("I learned that you have to ask. Will Ben? I doubt it."),
        reflection("I bake tomorrow. Today, tomorrow and the day after, Ben comes."),
        ActionAnswer(location="", doing="Ask Ben: will you come?", reason="Bread for Ben"),
        ActionAnswer(location="", doing='Ask Ben "Will you come?"', reason='"Why not?"'),
        SummaryAnswer(summary="What did you bake? Will you come?"),
        reflection("<Ben> wants bread"),
        reflection("Ada is who I am, and Ben _really_ likes the bread."),
        reflection("Ben said (softly) that my honey bread was <3 good."),
        ActionAnswer(location="", doing="Sell 12/2 loaves", reason="7:30-9:00"),
        SummaryAnswer(summary="42"),
        reflection("On 12/04/2018 Ben asked me for the recipe of my honey bread."),
        reflection("Бен попросил у меня рецепт медового хлеба, а Клео одолжила мне щётку для трубы."),
        reflection("本恩向我要了蜂蜜面包的食谱,克莱奥借给我她的烟囱刷,我应该感谢她们两个人。"),
        plan("Bake bread", "Sell bread", "Sweep the chimney", "Lunch", "Bake bread"),
        plan("Bake", "Bake"),
        plan("Daydream", "Plan the day", "Talk of the day when Ben begins"),
        plan("Bake", "Bake", "Bake", "Sell bread"),
        plan("Bake", "Bake", "Bake", "Bake", "Sell bread", "Sleep"),
        ActionAnswer(location="bakery", doing="Sweep the chimney", reason="It smoked", completing_plan_item=True),
        RatingsAnswer.model_validate({"ratings": [{"number": n, "importance": 3} for n in range(9)]}),
        SummaryAnswer(summary="No, no, no! Ben said no, and Cleo said no."),
        ActionAnswer(location="", doing="Bake", reason="Bake bread for Ben"),
        ActionAnswer(location="", doing="Talk with Ben", reason="Ben asked for the recipe"),
        SummaryAnswer(summary="I will come. Ben asked again. I will come. On day 3 at 9:00 PM Cleo lent her brush."),
    ]:
        with subtests.test(answer=answer):
            assert fault_of(answer, prompt(type(answer))) is None


@pytest.mark.parametrize("length", [3, 7, 50, 400])
def test_shown_texts_may_be_quoted_at_any_length(length: int) -> None:
    words = " ".join(f"bread{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(length))
    shown = prompt(SummaryAnswer, f"<memories>\n- {words}\n</memories>")
    assert fault_of(SummaryAnswer.model_construct(summary=words), shown) is None


@pytest.mark.parametrize(
    ("answer", "check"),
    [
        (reflection("Ben told [Your Name] of the bread."), "placeholder"),
        (reflection("I cannot provide that."), "declined"),
        (reflection("Name people, places and facts that the memories name; invent none."), "copied"),
        (reflection("the bread and the bread and " * 8), "repeats"),
        (plan(*["go"] * 8), "repeats"),
        (reflection("Ben asked for bread]"), "wording"),
        (reflection("I have learned that the most important thing is time."), "insight"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_fault_names_its_check_without_a_word_of_the_answer(answer: BaseModel, check: str) -> None:
    found = fault_of(answer, prompt(type(answer)))
    assert found is not None
    assert found.check == check
