"""The clauses that a summary chooses from: what they say, and what each word of them weighs."""

from __future__ import annotations

import pytest

from cogitate.memory.language.talk import Utterance
from cogitate.memory.summaries.parts import sentence_in_parts
from cogitate.memory.summaries.units import MAX_SPEAKER, MOST_SENTENCES, NAME, Unit, units


def told(*lines: tuple[str, str]) -> list[Unit]:
    return units([Utterance(speaker, text, at) for at, (speaker, text) in enumerate(lines)])


def texts(*lines: tuple[str, str]) -> list[str]:
    return [unit.text for unit in told(*lines) if not unit.spare]


def test_an_observation_ends_with_one_full_stop(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("the cat slept", "The cat slept."),
        ("The cat slept?!", "The cat slept."),
        ("The cat slept…", "The cat slept."),
        ("The cat slept, ", "The cat slept."),
        ("He said “the cat slept.”", "He said “the cat slept.”"),
        ("He said (the cat slept!).", "He said (the cat slept)."),
        ("He said 'the cat slept.'", "He said 'the cat slept."),
        ('He asked "The cat?"', 'He asked "The cat?"'),
        ("猫睡了。", "猫睡了。"),
        ("猫睡了！", "猫睡了！"),
        ("猫睡了？", "猫睡了？"),
    ]
    for seen, ended in cases:
        with subtests.test(seen=seen):
            assert texts(("", seen)) == [ended]


def test_speech_with_content_is_reported(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, list[str]]] = [
        ("I promise I will bring the book.", ['Jon told Gina: "I promise I will bring the book."']),
        ("I promise to bring the book.", ["Jon promises to bring the book."]),
        ("Thanks, Gina!", []),
        ("Where is Zoe?", []),
        ("where is bus 12?", ['Jon asked Gina: "where is bus 12?"']),
        ("Bus 12?", ['Jon asked Gina: "Bus 12?"']),
        ("Is Gina at home?", []),  # Gina is no news
        ("Is the kettle on?", []),
        ("Need oxygen in bay 3.", ['Jon told Gina: "Need oxygen in bay 3."']),  # who needs it, nothing says
        ("Just met Gina at the mill.", ['Jon told Gina: "Just met Gina at the mill."']),
        ("If it rains.", []),
        ("Well done, you mended Zoe's gate.", ['Jon told Gina: "Well done, you mended Zoe\'s gate."']),
        ("Thanks for lending Zoe the ladder.", ['Jon told Gina: "Thanks for lending Zoe the ladder."']),
        ("You sat together with Zoe.", ['Jon told Gina: "You sat together with Zoe."']),
        ("If it rains, I stay.", ['Jon told Gina: "If it rains, I stay."']),
        ("The garden.", []),
        ("Louvre.", []),
        ("In Louvre.", []),
        ("The 9 gardens behind the mill.", ['Jon told Gina: "The 9 gardens behind the mill."']),
        ("The garden is old.", ['Jon told Gina: "The garden is old."']),
        ("I thanked Zoe.", ["Jon thanked Zoe."]),
        ("It broke.", []),  # what broke, nobody knows
        ("It broke in Louvre.", ['Jon told Gina: "It broke in Louvre."']),
        ("It cost 9 silver.", ['Jon told Gina: "It cost 9 silver."']),
    ]
    for said, reported in cases:
        with subtests.test(said=said):
            assert texts(("Jon", said), ("Gina", "Thanks!"), ("", "We saw the Louvre.")) == [
                *reported,
                "We saw the Louvre.",
            ]


def test_a_quote_names_the_only_listener() -> None:
    assert (
        texts(("Jon", "I trust you with mills."), ("Gina", "Thanks!"))[0] == 'Jon told Gina: "I trust you with mills."'
    )
    assert texts(("Jon", "I trust you with mills."), ("Gina", "Thanks!"), ("Ann", "Thanks!")) == [
        'Jon said: "I trust you with mills."'
    ]
    (alone,) = units([Utterance("Jon", "I trust you with mills.", 1, "Gina")])
    assert alone.text == 'Jon told Gina: "I trust you with mills."', "the one spoken to need not answer"


def test_dependent_sentences_are_resolved_or_left_out(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, list[str]]] = [
        (
            "My sister sang. She bought a piano.",
            ["Jon's sister sang.", 'Jon told Gina: "She bought a piano."'],
        ),
        ("She bought a piano.", ['Jon told Gina: "She bought a piano."']),
        ("Perhaps they will try that.", []),
        ("They say at the mill that the wheel broke.", ['Jon told Gina: "They say at the mill that the wheel broke."']),
        ("I am Jon, I sell boats.", ['Jon told Gina: "I am Jon, I sell boats."']),
        ("My name is Jon.", []),
        ("I can imagine.", []),
    ]
    for said, reported in cases:
        with subtests.test(said=said):
            assert texts(("Jon", said), ("Gina", "Thanks!")) == reported


def test_a_quotation_that_is_told_again_stays_whole() -> None:
    quoted = 'Jon said "Zoe and I will mend it, and we sing; she knows".'
    assert texts(("", quoted)) == [quoted]


def test_past_facts_are_told_in_the_past() -> None:
    said = [Utterance("Jon", "I will sing at the mill on day 2 at 5:00 PM.", 10, "Gina")]
    over, ahead = 1440 + 1021, 1440 + 1019
    assert [unit.text for unit in units(said, over)] == ["Jon was going to sing at the mill on day 2 at 5:00 PM."]
    assert [unit.text for unit in units(said, ahead)] == ["Jon will sing at the mill on day 2 at 5:00 PM."]


def test_a_unit_knows_its_line_and_how_many_words_it_has() -> None:
    found = told(("", "The cat slept. The dog ran off; the bird sang."), ("Jon", "Thanks!"), ("", "Owls hoot."))
    assert [(unit.text, unit.size, unit.line) for unit in found] == [
        ("The cat slept.", 3, 0),
        ("The dog ran off.", 4, 0),
        ("The bird sang.", 3, 0),
        ("Owls hoot.", 2, 2),
    ]


def test_a_word_weighs_by_its_lines_and_type() -> None:
    lines = [("", "She saw Zoe at seven. The cat."), ("", "Zoe paid 30 today."), ("", "the cat sleeps, cats cat")]
    first, second, third, fourth = told(*lines)
    assert first.weights == {"see": 1.0, "zoe": 2**0.5 + NAME, "seven": 1.0 + 0.3 * NAME}
    assert second.weights == {"cat": 2**0.5}
    assert third.weights == {"zoe": 2**0.5 + NAME, "pay": 1.0, "30": 1.0 + NAME, "today": 1.0 + 0.3 * NAME}
    assert fourth.weights == {"cat": 2**0.5, "sleep": 1.0}


def test_speakers_weigh_nothing() -> None:
    (unit,) = told(("", "Jon saw the cat."), ("Jon", "Thanks!"))
    assert unit.weights == {"see": 1.0, "cat": 1.0}


def test_sentences_without_content_words_are_left_out() -> None:
    assert texts(("", "It is. The cat is. …")) == ["The cat is."]


def test_the_last_of_very_many_sentences_and_clauses_holds_the_rest() -> None:
    most = " ".join(f"{n}!" for n in range(MOST_SENTENCES + 1))
    assert [unit.text for unit in told(("", most))][-2:] == ["298.", "299! 300."]
    clauses = "; ".join(f"it was {n}" for n in range(MOST_SENTENCES + 1))
    assert [unit.text for unit in told(("", clauses))][-2:] == ["It was 298.", "It was 299. it was 300."]


def test_a_long_name_is_cut() -> None:
    name = "N" * MAX_SPEAKER
    assert MAX_SPEAKER == 60
    assert texts((f"{name}o", "I trust 9 dogs.")) == [f"{name} trusts 9 dogs."]
    (unit,) = units([Utterance("Bo", "I trust you with 9 dogs.", 0, f"{name}o")])
    assert unit.text == f'Bo told {name}: "I trust you with 9 dogs."'


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ("Maud is glad that...", []),
        ("Maud Fenwick...", []),
        ("Maud sold the mill to a stranger...", ["Maud sold the mill to a stranger."]),
    ],
)
def test_truncated_lines_are_told_only_with_content(seen: str, told: list[str]) -> None:
    assert texts(("", seen)) == told


def test_the_parts_of_a_sentence_hold_all_its_words_and_no_other_space(subtests: pytest.Subtests) -> None:
    for letters in range(150, 420, 10):
        with subtests.test(letters=letters):
            word = "x" * letters
            parts = sentence_in_parts(Utterance("", f"{word} {word} and so on", 1), 20)
            assert [part.text for part in parts] == [part.text.strip() for part in parts]
            assert "".join(part.text.replace(" ", "") for part in parts) == f"{word}{word}andsoon"
            assert all(part.text for part in parts)
