"""A clause is told in the third person where its speaker tells of itself alone, and quoted otherwise."""

from __future__ import annotations

import pytest

from cogitate.memory.language.talk import Utterance
from cogitate.memory.summaries.units import NAME, REMARK, units


def texts(*lines: tuple[str, str]) -> list[str]:
    found = units([Utterance(speaker, text, at) for at, (speaker, text) in enumerate(lines)])
    return [unit.text for unit in found if not unit.spare]


TWO = (("Jon", "The mill is old."), ("Gina", "The dam is new."))
THREE = (*TWO, ("Unit Seven", "The lock is shut."))


def test_among_three_only_plain_statements_about_oneself_are_reported(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str, str]] = [
        ("Jon", "I sold my boat in Rome.", "Jon sold his boat in Rome."),
        ("Jon", "I'd put my boat in Rome.", 'Jon said: "I\'d put my boat in Rome."'),
        ("Jon", "We meet in Rome on Friday.", 'Jon said: "We meet in Rome on Friday."'),
        ("Jon", "You can always meet people in Rome.", 'Jon said: "You can always meet people in Rome."'),
        (
            "Unit Seven",
            "All those filters are from Rome I guess.",
            'Unit Seven said: "All those filters are from Rome I guess."',
        ),
        ("Unit Seven", "I swap our filter from Rome.", 'Unit Seven said: "I swap our filter from Rome."'),
        ("Jon", "Tuned the bells in Rome.", 'Jon said: "Tuned the bells in Rome."'),
        ("Jon", "She chose Rome because it's warm.", 'Jon said: "She chose Rome because it\'s warm."'),
        ("Jon", "Bring the salt to Rome.", 'Jon said: "Bring the salt to Rome."'),
        ("Jon", "Loan instead of levy, and repairs in Rome.", 'Jon said: "Loan instead of levy, and repairs in Rome."'),
        ("Jon", 'They call it "the pit" in Rome.', "Jon said: \"They call it 'the pit' in Rome.\""),
    ]
    for speaker, said, told in cases:
        with subtests.test(speaker=speaker):
            assert texts(*THREE, (speaker, said))[-1] == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("We meet in Rome on Friday.", 'Jon told Gina: "We meet in Rome on Friday."'),
        (
            "Having people who back you makes a difference in Rome.",
            'Jon told Gina: "Having people who back you makes a difference in Rome."',
        ),
        (
            "Learning to trust yourself in Rome takes time.",
            'Jon told Gina: "Learning to trust yourself in Rome takes time."',
        ),
        ("Keep your shop in Rome.", 'Jon told Gina: "Keep your shop in Rome."'),
        ("I sold my shop in Rome to you.", 'Jon told Gina: "I sold my shop in Rome to you."'),
        ("I sold our shop in Rome.", 'Jon told Gina: "I sold our shop in Rome."'),
        ("I know that I sold it in Rome.", 'Jon told Gina: "I know that I sold it in Rome."'),
        ('I call it "my pit" in Rome.', "Jon told Gina: \"I call it 'my pit' in Rome.\""),
        ("I think my shop in Rome is old.", "Jon thinks his shop in Rome is old."),
        ("I sold my shop in Rome.", "Jon sold his shop in Rome."),
        ("My shop is in Rome.", "Jon's shop is in Rome."),
        ("Remember, failures lead you to Rome.", 'Jon told Gina: "Remember, failures lead you to Rome."'),
    ],
)
def test_between_two_only_plain_statements_about_oneself_are_reported(said: str, told: str) -> None:
    assert texts(*TWO, ("Jon", said))[-1] == told


@pytest.mark.parametrize(
    "said",
    [
        "{vocalsound} Mm .",
        "(laughter)",
        "While they were coming to Rome--",
        "Uh - huh .",
        "Is the cat of Zoe ill, or did they sell the mill in Rome, you think?",
    ],
)
def test_noise_and_fragments_are_left_out(said: str) -> None:
    assert texts(*THREE, ("Jon", said)) == texts(*THREE)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("La tormenta hundió dos barcas. ¿Y la gente?", ["Jon: «La tormenta hundió dos barcas.»"]),
        ("桥坏了？桥被大水冲坏了！", ["Jon：“桥被大水冲坏了！”"]),
        ("火事ですか。二番ポンプが壊れました。", ["Jon：「二番ポンプが壊れました。」"]),
    ],
)
def test_other_languages_are_quoted_with_their_marks_and_questions_left_out(said: str, told: list[str]) -> None:
    assert texts(("Jon", said)) == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("你好，Jon！谢谢你。桥被大水冲坏了。", ["Jon 对 Gina 说：“桥被大水冲坏了。”"]),
        (
            "おはようございます、Gina。ポンプが壊れました。ありがとうございます。",
            ["Jon が Gina に：「ポンプが壊れました。」"],
        ),
        ("¡Buenos días, Gina! Muchas gracias. El puente se cayó.", ["Jon a Gina: «El puente se cayó.»"]),
        (
            "“Kimse giremez” dedi. Toplantı yarın meydanda.",
            ["Jon → Gina: “‘Kimse giremez’ dedi.”", "Jon → Gina: “Toplantı yarın meydanda.”"],
        ),
        ("Доброе утро! Спасибо. Мост сгорел ночью.", ["Jon → Gina: «Мост сгорел ночью.»"]),
        ("สวัสดีครับ", []),
    ],
)
def test_courtesies_of_other_languages_are_left_out(said: str, told: list[str]) -> None:
    assert texts(("Jon", said), ("Gina", "OK.")) == told


def test_speech_with_hesitations_is_quoted_and_broken_speech_left_out() -> None:
    said = "I um sold the mill . The {pause} . I wis -- th--"
    assert texts(*THREE, ("Jon", said))[3:] == ['Jon said: "I sold the mill ."']


def test_a_name_in_another_script_makes_no_other_language() -> None:
    assert texts(("Анна Ковальская", "I saw Max."), ("Jon", "Анна Ковальская, the old mill is sold."))[-1] == (
        'Jon told Анна Ковальская: "Анна Ковальская, the old mill is sold."'
    )


def test_a_short_line_of_an_english_talk_is_read_as_english() -> None:
    assert texts(
        ("Jon", "Dancing helps me de-stress."), ("Gina", "Thanks a ton, Jon! The mill is old, and I like it.")
    ) == [
        'Jon told Gina: "Dancing helps me de-stress."',
        'Gina told Jon: "The mill is old…"',
    ]


def test_the_hour_that_answers_a_proposal_is_told() -> None:
    lines = (("Jon", "Come back on day 2 at nine. Or can we say 10?"), ("Gina", "Ten, then."), ("Jon", "Good, then."))
    assert texts(*lines)[-1] == 'Jon asked Gina: "Or can we say 10?" Gina told Jon: "Ten, then."'


@pytest.mark.parametrize(
    ("asked", "said", "told"),
    [
        ("Can you open the sluice at 6?", "Yes, gladly.", ' Gina told Jon: "Yes, gladly."'),
        ("Can you open the sluice at 6?", "Thanks!", ""),
        ("Can you open the sluice at 6.", "Yes, gladly.", ""),
    ],
)
def test_a_bare_reply_is_told_with_the_question_that_it_answers(asked: str, said: str, told: str) -> None:
    verb = "asked" if asked.endswith("?") else "told"
    assert texts(("Jon", asked), ("Gina", said)) == [f'Jon {verb} Gina: "{asked}"{told}']
    assert texts(("Gina", said)) == []


@pytest.mark.parametrize("said", ["Yes, that one too.", "Sí, esa también.", "Ja, das auch."])
def test_a_bare_reply_without_its_question_is_left_out(said: str) -> None:
    around = {"S": "El molino viejo se quemó anoche.", "J": "Die alte Mühle ist gestern abgebrannt."}
    told = texts(("Jon", around.get(said[0], "The old mill burned last night.")), ("Gina", said))
    assert len(told) == 1
    assert said not in told[0]


def test_a_denial_is_quoted() -> None:
    assert texts(*TWO, ("Unit Seven", "I never said it was certain."))[-1] == (
        'Unit Seven said: "I never said it was certain."'
    )


def test_between_two_the_words_of_a_remark_weigh_half_but_names_in_full() -> None:
    (deed,) = units([Utterance("Gina", "I burned the mill in Rome.", 1, "Jon")])
    assert deed.weights == {"burn": 1.0, "mill": 1.0, "rome": 1.0 + NAME}
    (remark,) = units([Utterance("Gina", "The mill burned in Rome.", 1, "Jon")])
    assert remark.weights == {"tell": REMARK / 2, "burn": REMARK, "mill": REMARK, "rome": REMARK + NAME}
