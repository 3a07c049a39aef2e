"""Answers that fill the schema and say nothing: refused with the reason; and answers that are thoughts: taken."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from prompts.answers import (
    ActionAnswer,
    DailyPlan,
    IntegratedAnswer,
    RatingsAnswer,
    ReflectionAnswer,
    RelationshipChange,
    SummaryAnswer,
)
from prompts.constraints import Constraint
from prompts.render import Templates
from tasks.kind import Prompt
from workers.jobs.answer_faults import fault_of

REFLECT: dict[str, Any] = {
    "name": "Ada", "occupation": "baker", "traits": [], "people": [], "day": 3, "time": "9:00 PM",
    "stage": "", "status": [], "reflections": [], "known": [], "summary": "", "memories": [
        {"when": "day 3, 8:00 AM", "text": "Ben asked me for the recipe of the honey bread.", "times": 1},
        {"when": "day 3, 6:00 PM", "text": "The oven smoked again, and Cleo lent me her chimney brush.", "times": 1},
    ],
}  # fmt: skip
SYSTEM = Templates().render("reflect", REFLECT).system


def prompt(answer: type[BaseModel]) -> Prompt:
    return Prompt(system=SYSTEM, user=Templates().render("reflect", REFLECT).user, answer=answer, version="v")


def plan(*descriptions: str) -> DailyPlan:
    return DailyPlan.model_validate(
        {
            "activities": [
                {"time": f"{7 + n}:00 AM", "description": d, "location": ""} for n, d in enumerate(descriptions)
            ]
        }
    )


def reflection(insight: str) -> ReflectionAnswer:
    return ReflectionAnswer(insight=insight)


BABBLE = (
    "Quantum turbines accelerate galactic merchants through turquoise pyramids whenever bureaucratic dolphins "
    "negotiate harmonic pensions beneath parallel volcanoes"
)


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (reflection("..."), "placeholder"),
        (reflection("…"), "placeholder"),
        (plan("Bake", "Sell bread", "...", "Rest", "Sleep"), "placeholder"),
        (ActionAnswer(location="", doing="string", reason="Hungry"), "placeholder"),
        (reflection("You reflect as Ada, a baker."), "instructions"),
        (ActionAnswer(location="", doing="Bake bread", reason="you decide for Ada, 9:00 PM"), "instructions"),
        (reflection("The character has learned that bread matters."), "speaks of the task"),
        (ActionAnswer(location="", doing="Bake bread", reason="This character likes Ben"), "speaks of the task"),
        (ActionAnswer(location="", doing="Bake bread (rye)'}' is incorrect", reason="Ben"), "no other half"),
        (reflection("Ben asked for bread]"), "no other half"),
        (reflection("The bread ends on a note of [character_name]', but no."), "placeholder"),
        (ActionAnswer(location="", doing="Bake bread", reason="2023-07-18T09:45:36Z"), "a date or a number"),
        (ActionAnswer(location="", doing="Bake bread", reason="The previous answer was wrong"), "speaks of the task"),
        (reflection("Bread requires two json objects to use."), "speaks of the task"),
        (ActionAnswer(location="", doing="to_townLibrary(1)", reason="Bread"), "is no word"),
        (plan("Bake bread", "day_2", "Sell bread"), "is no word"),
        (reflection("ADA."), "only names"),
        (reflection("What makes the honey bread so good?"), "only asks"),
        (ActionAnswer(location="", doing="Bake bread", reason="Why does it smoke? And for whom?!"), "only asks"),
        (ActionAnswer(location="", doing="Will Ben come to me?", reason="Bread"), "only asks"),
        (ActionAnswer(location="", doing="Bake bread yesterday tomorrow", reason="Ben"), "two days at once"),
        (plan("Bake", "Sell bread", "Meet Ben Today Tomorrow", "Rest", "Sleep"), "two days at once"),
        (reflection("The most important thing is that you bake the bread you like."), "first person"),
        (reflection("Ada concludes that it is Ben who likes the honey bread."), "first person"),
        (reflection('The oven said "I am hot" to Ben and Cleo.'), "first person"),
        (reflection("Ben asked me for the recipe of the honey bread."), "only repeats a memory"),
        (reflection("Cleo lent me her chimney brush"), "only repeats a memory"),
        (reflection("The moment you ask me for the recipe of the honey bread."), "first person"),
        (reflection("I have learned that the most important thing is time."), "not about what the memories say"),
        (ActionAnswer(location="", doing="Bake bread", reason="You plan bread, Ben plans cake."), "speaks to 'you'"),
        (ActionAnswer(location="", doing="Bake bread", reason="Bread for you"), "speaks to 'you'"),
        (
            ReflectionAnswer(
                insight="I can rely on Ben when I bake honey bread.",
                relationship_changes=[RelationshipChange(agent_id="ben", reason="Your bread is fine", change=1)],
            ),
            "speaks to 'you'",
        ),
        (ActionAnswer(location="", doing="Bake bread", reason=f"Ben likes it {'so ' * 35}mu"), "cut off"),
        (reflection("You're a baker whom Ben trusts."), "first person"),
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
        (reflection(BABBLE), "nothing in it"),
        (plan(*[f"Today is day {n} of bread" for n in range(1, 7)]), "tells the time"),
        (plan("Bake", "Day 2 - Morning at the bakery", "Sell bread"), "tells of the day"),
        (plan("The second day begins at 8:30 AM", "Bake", "Sell bread"), "tells of the day"),
        (plan("Bake", "Sell bread", "The plan ends with bread"), "tells of the day"),
        (plan(*[f"Loaf {n} of bread" for n in range(1, 7)]), "6 of 6"),
        (plan(*["Bench", "Bread on the 1st floor"] * 2, "Bread on the 2nd floor", "Bench"), "only 2 of 6"),
        (reflection("... , ama"), "part of a sentence"),
        (reflection("People of the bread and their way,"), "part of a sentence"),
        (reflection("[The next step of this plan"), "part of a sentence"),
        (reflection("It is 9:00 PM and I reflect."), "tells the time"),
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
    ],
    ids=lambda value: None if isinstance(value, str) else str(value)[:40],
)
def test_junk_is_refused_with_its_reason(answer: BaseModel, word: str) -> None:
    found = fault_of(answer, prompt(type(answer)))
    assert found is not None
    assert word in found


@pytest.mark.parametrize(
    "answer",
    [
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
        reflection("Ben said [softly] that my honey bread was {very} good."),
        ActionAnswer(location="", doing="Sell 12/2 loaves", reason="7:30-9:00"),
        SummaryAnswer(summary="42"),
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
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_thought_is_taken(answer: BaseModel) -> None:
    assert fault_of(answer, prompt(type(answer))) is None


PLACES = "Places (id: name):\n- cafe: The Copper Kettle (cafe)\n- home-1: Lime Street 1\n\n<memories>\n- [day 1] tea\n"


def act(doing: str, location: str = "cafe", more: str = "") -> str | None:
    where = Constraint(field="location", choices=("cafe", "home-1", "here"))
    shown = Prompt(system=SYSTEM, user=PLACES + more, answer=ActionAnswer, version="v", constraints=(where,))
    return fault_of(ActionAnswer(reason="tea is nice", location=location, doing=doing), shown)


@pytest.mark.parametrize(
    "doing", ["The Copper Kettle", "copper_kettle.", "CopperKettle (cafe)", "home-1", "Lime Street 1", "here"]
)
def test_a_place_is_no_deed(doing: str) -> None:
    found = act(doing)
    assert found is not None
    assert "only names" in found


@pytest.mark.parametrize(
    ("who", "wrong"), [("Linden Cafe", True), ("JONAS Lindqvist", True), ("Cleo Hart", True), ("Ada Pike", False)]
)
def test_a_name_is_no_deed_however_its_letters_are_written(who: str, wrong: bool) -> None:
    more = (
        "- here: Linden Café (restaurant)\nYou decide for Jonas Lindqvist, 40 years old.\nNear Jonas: Ben, Cleo Hart\n"
    )
    assert (act(who, more=more) is not None) is wrong


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
    found = fault_of(reflection(insight), Prompt(system=SYSTEM, user=shown, answer=ReflectionAnswer, version="v"))
    assert (found is None) is new
    assert new or "before" in str(found)


@pytest.mark.parametrize(
    "doing",
    [
        "Bake bread</s>", "Bake bread [/INST]", "Bake bread <|end|>", "<b>Bake</b> bread", "Assistant: Bake bread",
        "Bake bread </memories> and rest",
    ],
)  # fmt: skip
def test_markup_is_no_deed_and_may_be_what_a_summary_tells(doing: str) -> None:
    found = act(doing)
    assert found is not None
    assert "is no word" in found
    assert fault_of(SummaryAnswer(summary=f"Ben said: {doing}."), prompt(SummaryAnswer)) is None


@pytest.mark.parametrize("doing", ["Ask the assistant: who bakes?", "Bake <3 loaves> of bread", "Note: bake [IN] time"])
def test_marks_are_no_markup(doing: str) -> None:
    assert act(doing, more="bread") is None


def test_an_owners_id_is_a_word_only_where_it_was_shown() -> None:
    assert act("Have tea with agent:ben") is not None
    assert act("Have tea with agent:ben", more="agent:ben is near.") is None
    assert act("Ask the agent: Ben or Cleo?") is None


@pytest.mark.parametrize(
    ("insight", "memories", "drawn"),
    [
        ("The most important thing I learned is how limitations make us grow.", "Ben repaired the oven.", False),
        ("The most important thing I learned is how repairs make us grow.", "Ben repaired the oven.", False),
        ("What I learned today is how the repairs of an oven make us grow.", "Ben repaired the oven today.", False),
        ("I learned how Ben's repairs and ovens make us grow.", "Then Ben repaired the oven.", True),
        ("I learned how my repairs of old ovens make us grow.", "Ben repaired the old oven.", True),
        ("The most important thing I learned is to rely on Ben.", "Ben repaired the oven.", False),
        ("The most important thing I learned is to rely on Ben.", "Ben Ash repaired the oven.", False),
        ("The most important thing I learned is to rely on Ben Ash.", "Ben Ash repaired the oven.", True),
        ("The most important thing I learned is to rely on Cleo.", "Ben repaired the oven.", True),  # who is listed
        ("I am tired and sad.", "Ben repaired the oven.", False),
        ("I am tired and sad.", "Then I was too tired for it.", True),  # one of two words
        ("I envy them and the repairs of their ovens.", "Ben repaired the oven.", True),
        ("I envy the people with their ovens.", "Ben repaired the oven.", False),  # one of three
        ("I am an oven.", "Ben repaired the oven.", False),  # one word is no insight
        ("Ich habe gelernt, dass man Freunden in Not helfen muss.", "Ben repaired the oven.", True),
        ("The most important thing I learned is how limitations make us grow.", "Бен починил старую печь.", True),
        ("The most important thing I learned is how limitations make us grow.", "", True),  # none are shown
    ],
)
def test_an_insight_names_a_person_or_takes_up_a_memory(insight: str, memories: str, drawn: bool) -> None:
    lines = f"- [day 1, 9:00 AM] {memories}\n" if memories else ""
    shown = f"People (id: name):\n- agent:cleo: Cleo Hart\n\n<memories>\n{lines}</memories>\nWhat is learned?"
    asked = Prompt(system=SYSTEM, user=shown, answer=ReflectionAnswer, version="v")
    assert fault_of(reflection(insight), asked) == (
        None if drawn else "the insight is not about what the memories say: name persons, places and facts of them"
    )


@pytest.mark.parametrize(
    ("summary", "shown", "told"),
    [
        (
            "The memory of a treasure is lost and will never be forgotten by us.",
            "You are a treasure, Ben.",
            False,
        ),
        ("Ben was told by Ada that he is a treasure to her.", "You are a treasure, Ben.", True),
        ("It is the end of time, of the world.", "You are a treasure, Ben.", True),  # three words are too few to tell
        ("The end of the world is near to us as we bake honey bread.", "You are my bread in this world, Ben.", True),
        ("The end of the world is near to us as we bake honey bread.", "You are my world, Ben.", False),  # of six words
        ("Der Schatz ging für immer verloren, und niemand vergisst ihn.", "You are a treasure, Ben.", True),
        ("The memory of a treasure is lost to the world for ever.", "Ты сокровище, Бен.", True),
    ],
)
@pytest.mark.parametrize("answer", [SummaryAnswer, IntegratedAnswer])
def test_a_summary_tells_of_what_was_shown(
    answer: type[SummaryAnswer | IntegratedAnswer], summary: str, shown: str, told: bool
) -> None:
    user = f"Of the memory of Ada that is lost, of time and of the end:\n<memories>\nAda: {shown}\n</memories>\nSum up."
    asked = Prompt(system="Sum up.", user=user, answer=answer, version="v")
    found = fault_of(answer(summary=summary), asked)
    assert found == (None if told else "it tells of something else than what you were shown")
    untagged = Prompt(system="Sum up.", user=f"Ada: {shown}", answer=answer, version="v")
    assert fault_of(answer(summary=summary), untagged) is None, "what else a host's prompt says is not known"


def test_a_run_with_instructions_of_its_own_is_not_held_to_ours() -> None:
    asked = Prompt(
        system="Reflect.", user="<memories>\n- [day 1] Ben repaired the oven.\n</memories>", answer=ReflectionAnswer,
        version="v",
    )  # fmt: skip
    assert fault_of(reflection("Ada concludes that the most important thing is time."), asked) is None


def test_an_identifier_that_was_shown_is_a_word() -> None:
    assert act("Go to Oak_Hill with Ben", more="Ben asked me to oak_hill.") is None
    assert act("Go to oak_hill with Ben") is not None


@pytest.mark.parametrize("doing", ["Have tea at the Copper Kettle", "tea", "Tea (with Ben)", '"Tea!"'])
def test_a_deed_may_name_a_place_and_a_choice_is_no_text(doing: str) -> None:
    assert act(doing) is None
    assert act(doing, location="home-1") is None


@pytest.mark.parametrize("more", ["- Ben: The Mad Baker", "A cafe: The Mad Baker"])
def test_only_names_that_are_listed_for_a_choice_are_names(more: str) -> None:
    assert act("The Mad Baker", more=more) is None
    assert act("The Mad Baker", more="- home-1: The Mad Baker") is not None


def planned(*activities: tuple[str, str]) -> str | None:
    rows = [
        {"time": f"{7 + n} {half}M", "description": described, "location": where}
        for n, (described, where) in enumerate(activities)
        for half in "AP"[n % 2]
    ]
    where = Constraint(field="activities.location", choices=("cafe", "home-1"))
    shown = Prompt(system=SYSTEM, user=PLACES, answer=DailyPlan, version="v", constraints=(where,))
    return fault_of(DailyPlan.model_validate({"activities": rows}), shown)


def test_a_choice_within_a_list_is_no_text_and_makes_no_difference_between_items() -> None:
    assert planned(("Have tea", "cafe"), ("Sleep", "home-1")) is None
    assert planned(*[("Have tea", "cafe"), ("Have tea", "home-1")] * 2) == "4 of 4 items are the same"


def test_fields_repeat_each_other_within_an_object_of_a_list_wherever_it_stands() -> None:
    class Pair(BaseModel):
        one: str
        two: str

    class Pairs(BaseModel):
        pairs: list[Pair]

    def wrong(*pairs: tuple[str, str]) -> str | None:
        value = Pairs(pairs=[Pair(one=one, two=two) for one, two in pairs])
        return fault_of(value, prompt(Pairs))

    fine = ("Ben asked for the honey bread.", "Cleo lent her chimney brush.")
    same = ("The oven smoked again.", "The oven smoked again, as ever.")
    assert wrong(fine) is None
    assert wrong(same) == wrong(fine, same) == wrong(same, fine) is not None


def test_reasons_that_are_the_same_are_found_beside_one_that_is_missing() -> None:
    changes = [RelationshipChange(agent_id=f"p{n}", reason="Ben helps" if n else "", change=1) for n in range(5)]
    people = Constraint(field="relationship_changes.agent_id", choices=tuple(f"p{n}" for n in range(5)))
    asked = Prompt(system="", user="Ben", answer=ReflectionAnswer, version="v", constraints=(people,))
    insight = ReflectionAnswer(insight="I can rely on Ben.", relationship_changes=changes)
    assert fault_of(insight, asked) == "4 of 5 items are the same"


def test_a_character_who_is_a_machine_may_say_so() -> None:
    machine = Prompt(
        system=SYSTEM, user="You reflect as HAL. HAL says: I am an AI.", answer=ReflectionAnswer, version="v"
    )
    assert fault_of(reflection("I am an AI, and HAL is my name."), machine) is None


@pytest.mark.parametrize("length", [3, 7, 50, 400])
def test_what_is_shown_may_be_quoted_at_any_length(length: int) -> None:
    words = " ".join(f"bread{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(length))
    shown = Prompt(system=SYSTEM, user=f"<memories>\n- {words}\n</memories>", answer=SummaryAnswer, version="v")
    assert fault_of(SummaryAnswer.model_construct(summary=words), shown) is None


# -- where each rule begins --------------------------------------------------------------------------


def words(count: int, begin: str = "bread") -> list[str]:
    """Different words of content."""
    return [f"{begin}{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(count)]


def fault(text: str, *, system: str = "", user: str = "bread") -> str:
    shown = Prompt(system=system, user=user, answer=SummaryAnswer, version="v")
    return fault_of(SummaryAnswer.model_construct(summary=text), shown) or ""


@pytest.mark.parametrize(
    ("copied", "own", "wrong"), [(5, 0, False), (6, 0, True), (6, 5, True), (6, 6, False), (7, 6, True)]
)
def test_instructions_are_copied_from_six_words_in_a_row_and_more_than_half(copied: int, own: int, wrong: bool) -> None:
    system = words(30, "rule")
    text = " ".join([*system[10 : 10 + copied], *words(own)])
    assert ("repeats the instructions" in fault(text, system=" ".join(system), user=text)) is wrong


@pytest.mark.parametrize("where", [slice(None, 6), slice(-6, None), slice(-8, -2)])
def test_instructions_are_copied_from_wherever_they_stand(where: slice) -> None:
    system = words(30, "rule")
    text = " ".join(system[where])
    assert "repeats the instructions" in fault(text, system=" ".join(system), user=text)


def test_two_runs_of_the_instructions_count_together() -> None:
    system = words(40, "rule")
    text = " ".join([*system[:6], *words(11), *system[20:26]])
    assert "repeats the instructions" in fault(text, system=" ".join(system), user=text)
    apart = " ".join([*system[:3], *words(1), *system[3:6], *words(1), *system[6:9]])
    assert fault(apart, system=" ".join(system), user=apart) == ""


@pytest.mark.parametrize(
    ("length", "loop", "wrong"),
    [(15, 1, False), (16, 1, True), (16, 9, True), (16, 10, False), (22, 13, True), (22, 14, False)],
)
def test_a_text_of_sixteen_words_needs_seven_tenths_of_different_threes(length: int, loop: int, wrong: bool) -> None:
    text = " ".join((words(loop) * length)[:length])
    assert ("over and over" in fault(text, user=text)) is wrong


@pytest.mark.parametrize(("length", "wrong"), [(5, False), (6, True)])
def test_nobody_says_a_sentence_of_six_words_twice(length: int, wrong: bool) -> None:
    said = " ".join(words(length))
    for text in (f"{said}. {said.upper()}!", f"{said}? Yes. {said}"):
        assert ("over and over" in fault(text, user=text)) is wrong


@pytest.mark.parametrize(
    ("same", "others", "wrong"), [(3, 0, False), (4, 0, True), (4, 1, True), (6, 2, False), (7, 2, True), (4, 2, False)]
)
def test_a_days_items_are_the_same_from_four_and_three_quarters_on(same: int, others: int, wrong: bool) -> None:
    found = fault_of(plan(*["Bake"] * same, *words(others)), prompt(DailyPlan))
    assert (found == f"{same} of {same + others} items are the same") is wrong


@pytest.mark.parametrize(("content", "wrong"), [(11, False), (12, True)])
def test_an_answer_with_twelve_words_of_its_own_has_one_of_those_that_were_shown(content: int, wrong: bool) -> None:
    text = " ".join(f"{chr(97 + n)}zzzz" for n in range(content))
    assert ("nothing in it" in fault(text, user="the honey bread")) is wrong
    assert fault(f"{text} honeycake", user="the HONEYbread") == "", "five letters are enough"
    assert ("nothing in it" in fault(f"{text} hone", user="the hone bread")) is wrong, "four are none"


@pytest.mark.parametrize("text", ["TBD", "todo", " null ", "Placeholder!", "Lorem ipsum", "- -", "string"])
def test_a_filler_is_a_placeholder_and_a_time_or_nothing_is_none(text: str) -> None:
    assert "is a placeholder" in fault(text)
    for fine in ("", "7:00", "7 pm", "12:30 A.M.", "string quartet"):
        assert fault(fine) == ""


def test_what_is_told_of_a_text_is_short_and_declining_is_found_in_any_case() -> None:
    assert fault("." * 99) == f"{'.' * 40!r} is a placeholder; write what the character would"
    assert "i’m unable to help" in fault("Well, i’m unable to help with it.")
    assert fault("I said: I am an AI.", user="You once said: i AM an ai.") == "", "it was shown that"
