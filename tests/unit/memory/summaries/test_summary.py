"""Summaries without a model."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.language.talk import Utterance
from cogitate.memory.summaries.summary import choose_units, summarise
from cogitate.memory.summaries.units import Unit

TALK = [
    Utterance("Gina", "Hey Jon! Good to see you. What's up?", 540),
    Utterance(
        "Jon", "Hey Gina! Lost my job as a banker yesterday, so I'm gonna take a shot at starting a dance studio.", 541
    ),
    Utterance("Gina", "Sorry about your job! Unfortunately, I also lost my job at Door Dash this month.", 542),
    Utterance("Jon", "Let's meet at Hobbs Cafe on Friday at 5 pm. I promise to bring 12 flyers.", 543),
    Utterance("Gina", "Sounds great, keep going! You'll do great.", 544),
    Utterance("Jon", "Thanks, Gina!", 545),
]

lines = st.lists(
    st.builds(
        Utterance,
        st.sampled_from(["", "Ann", "Bob", "Анна", "Zed-9"]),
        st.text(max_size=120) | st.sampled_from([line.text for line in TALK]),
        st.integers(0, 5_000),
    ),
    max_size=12,
)


def test_names_numbers_places_and_promises_survive() -> None:
    text = summarise(TALK, max_words=70, header="Gina and Jon talked at 9:00 AM.")
    assert text.startswith("Gina and Jon talked at 9:00 AM. ")
    for kept in ("banker", "Door Dash", "Hobbs Cafe", "Friday", "5 pm", "12 flyers", "promise"):
        assert kept in text
    assert "What's up" not in text


def test_facts_keep_the_entities_where_room_is_short() -> None:
    text = summarise(TALK, max_words=30)
    assert "Hobbs Cafe" in text
    assert "12 flyers" in text


def test_courtesies_are_left_out_and_claimed_of_no_one() -> None:
    text = summarise(TALK, max_words=80)
    assert not [word for word in ("praise", "encourage", "thank", "console", "agree") if word in text]


def test_a_further_clause_of_a_told_line_counts_less() -> None:
    talk = [Utterance("", "Zoe met Max. Zoe met Kim.", 1), Utterance("", "Zoe met Lou.", 2)]
    assert summarise(talk, max_words=3) == "Zoe met Max."
    assert summarise(talk, max_words=6) == "Zoe met Max. Zoe met Lou."
    assert summarise(talk, max_words=8) == "Zoe met Max. Zoe met Lou."
    assert summarise(talk, max_words=9) == "Zoe met Max. Zoe met Kim. Zoe met Lou."
    assert summarise(talk, max_words=2) == ""


def test_a_repeated_fact_has_no_value() -> None:
    talk = [Utterance("", "Zoe met Max.", n) for n in range(3)] + [Utterance("", "the cat slept.", 4)]
    assert summarise(talk, max_words=50) == "Zoe met Max. The cat slept."


def test_a_talk_of_two_townspeople_reads_well() -> None:
    talk = [
        Utterance("Ann Lee", "Nice to meet you at last, Bo.", 1),
        Utterance("Bo", "How are you today?", 1),
        Utterance("Ann Lee", "Fatima Benali is holding a plant exchange at Willow Park at 5:00 PM. ", 2),
        Utterance("Bo", "Of course, I promise: I will lend you the tall ladder.", 3),
        Utterance("Ann Lee", "Tell me, what do you think of Henrik Vestergaard?", 4),
        Utterance("Bo", "Björn is the first I would ask for help.", 5),
        Utterance("Ann Lee", "I had better get on.", 6),
        Utterance("Bo", "So had I. Have a good day, Ann Lee.", 6),
    ]
    assert summarise(talk, max_words=80) == (
        'Ann Lee told Bo: "Fatima Benali is holding a plant exchange at Willow Park at 5:00 PM." '
        'Bo told Ann: "Of course, I promise: I will lend you the tall ladder." '
        'Ann asked Bo: "Tell me, what do you think of Henrik Vestergaard?" '
        'Bo told Ann: "Björn is the first I would ask for help."'
    )


def test_a_minor_line_is_told_if_all_others_fit() -> None:
    asked = [Utterance("Ann", "Is the cat of Zoe ill?", 1), Utterance("Ann", "Shall we meet at 6 pm?", 2)]
    talk = [*asked, Utterance("Bo", "I fed 3 ducks.", 4)]
    assert summarise(talk, max_words=14) == 'Ann asked Bo: "Shall we meet at 6 pm?" Bo fed 3 ducks.'
    whole = 'Ann asked Bo: "Is the cat of Zoe ill?" and "Shall we meet at 6 pm?" Bo fed 3 ducks.'
    assert summarise(talk, max_words=80) == whole


def test_observations_are_not_reworded() -> None:
    seen = [
        Utterance("", "stove is burning", 1),
        Utterance("", "I am told apart from speech", 2),
        Utterance("", "stove is burning", 3),
    ]
    assert summarise(seen, max_words=20) == "Stove is burning. I am told apart from speech."


def test_other_scripts_are_quoted() -> None:
    talk = [
        Utterance("Анна", "Привет, Иван! Я вчера ездила в Москву к сестре.", 1),
        Utterance("Иван", "Завтра в 18:00 приходи на праздник в кафе.", 2),
    ]
    text = summarise(talk, max_words=40)
    assert "Анна → Иван: «Я вчера ездила в Москву к сестре.»" in text
    assert "Иван → Анна: «Завтра в 18:00 приходи на праздник в кафе.»" in text


def test_nothing_to_say_and_no_room_give_nothing() -> None:
    assert summarise([], max_words=50) == ""
    assert summarise(TALK, max_words=0, header="Who and when.") == ""
    assert summarise(TALK, max_words=3, header="Who and when.") == "Who and when."


@given(lines, st.integers(0, 60))
def test_never_longer_than_allowed_and_always_the_same(said: list[Utterance], limit: int) -> None:
    text = summarise(said, max_words=limit, header="At noon.")
    assert len(text.split()) <= limit
    assert text == summarise(list(said), max_words=limit, header="At noon.")
    assert text == text.strip()


def test_more_room_never_loses_an_entity() -> None:
    chance = random.Random(7)
    talk = [Utterance("Ann", f"I met {chance.choice(['Zoe', 'Max', 'Kim'])} in room {n}.", n) for n in range(30)]
    rooms = [{w for w in summarise(talk, max_words=limit).split() if w[0].isdigit()} for limit in (30, 60, 120)]
    assert len(rooms[0]) < len(rooms[1]) < len(rooms[2])


def unit(text: str, line: int, **weights: float) -> Unit:
    return Unit(text, len(text.split()), weights, line)


def test_units_are_chosen_by_weight_for_their_size_until_nothing_fits() -> None:
    heavy, light, long = unit("a b", 0, a=4), unit("c d", 1, c=2), unit("e f g h i j k l", 2, e=6)
    assert choose_units([light, heavy], 2) == [heavy]
    assert choose_units([light, heavy], 4) == [light, heavy], "in order of lines"
    assert choose_units([long, heavy, light], 8) == [heavy, light], "six for eight is less than four for two"
    even = unit("e f g h i j k l", 2, e=12)
    assert choose_units([even, heavy, light], 8) == [even], "size counts less than in proportion"
    assert choose_units([light, unit("x y", 3, x=2)], 2) == [light], "of equal ones the first"
    assert choose_units([unit("a", 0, a=0)], 9) == []


def test_repeated_facts_weigh_nothing_and_further_parts_of_a_line_less() -> None:
    first, same, other = unit("a b", 0, a=4), unit("c d", 1, a=2, c=1), unit("e f", 2, e=2)
    assert choose_units([first, same, other], 4) == [first, other]
    of_it, third = unit("c d", 0, c=3.5), unit("e f", 2, e=3)
    assert choose_units([first, of_it, third], 4) == [first, third], "3.5 counts as 2.625"
    again = unit("g h", 0, g=3.5)
    fourth = unit("i j", 3, i=2)
    assert choose_units([first, of_it, again, fourth], 6) == [first, of_it, fourth], "and then as 1.97"


def test_recorded_sessions_reach_their_goals(recordings: Path) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    from bench.quality.recordings import load_conversations
    from bench.quality.summaries import measure, ours, sessions

    talks = load_conversations(recordings)
    if not talks:
        pytest.skip("COGITATE_RECORDINGS holds no conversations")
    group = [session for talk in talks for session in sessions(talk)]
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)
    rouge, _, _, entities = measure(group, ours, scorer)
    assert isinstance(rouge, float)
    assert isinstance(entities, float)
    assert rouge >= 0.46
    assert entities >= 0.93


def test_consecutive_lines_of_one_speaker_are_one_sentence() -> None:
    lines = [
        Utterance("Ada Pike", "The council met in Highford in 1961.", 600),
        Utterance("Ada Pike", "The council sold 40 boats to Saltmarsh.", 601),
        Utterance("Bo Lind", "The ferry needs 12 planks.", 602),
    ]
    told = summarise(lines, max_words=60)
    assert told.count("Ada Pike told Bo Lind:") == told.count("Bo told Ada:") == 1
    assert all(figure in told for figure in ("1961", "40", "12"))
    assert len(summarise(lines, max_words=18).split()) <= 18
