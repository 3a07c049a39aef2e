"""A short talk behind its heading is told line by line, word for word."""

from __future__ import annotations

import pytest

from cogitate.memory.language.talk import Utterance
from cogitate.memory.summaries.summary import summarise

HEADER = "Ruth and Dan talked on day 1."
TALK = [
    Utterance("Ruth", "Morning, Dan. How are you?", 540, "Dan"),
    Utterance("Dan", "Thank you!", 541, "Ruth"),
    Utterance("Ruth", "I've rung the engineer. Could you let him in?", 542, "Dan"),
    Utterance("Dan", "All right, I'll meet him at the sluice at nine.", 543, "Ruth"),
    Utterance("Ruth", "He likes tea. It rained. And he needs 4 keys.", 544, "Dan"),
]


def test_lines_are_quoted_in_order_without_courtesies() -> None:
    assert summarise(TALK, max_words=80, header=HEADER) == (
        f'{HEADER} Ruth: "I\'ve rung the engineer. Could you let him in?" '
        'Dan: "All right, I\'ll meet him at the sluice at nine." '
        'Ruth: "He likes tea. It rained. And he needs 4 keys."'
    )


def test_an_omission_within_a_line_is_marked() -> None:
    told = summarise(TALK[2:], max_words=36, header=HEADER)
    assert told.endswith('Ruth: "He likes tea. … And he needs 4 keys."')


def test_a_question_stays_as_long_as_its_answer() -> None:
    for words in range(10, 50):
        told = summarise(TALK[2:4], max_words=words, header=HEADER)
        assert "let him in?" in told or "meet him" not in told


@pytest.mark.parametrize("words", [4, 9, 14, 20, 30])
def test_minutes_keep_to_their_room(words: int) -> None:
    assert len(summarise(TALK, max_words=words, header=HEADER).split()) <= max(words, 6)


def test_a_long_talk_is_told_by_its_clauses() -> None:
    said = [Utterance("Ruth", f"I bought {n} new trays for the theatre.", 540, "Dan") for n in range(20)]
    assert "Ruth bought" in summarise(said, max_words=80, header=HEADER)


def test_each_language_has_its_marks() -> None:
    said = [Utterance("Chiara", "Compralo. Costa poco.", 540, "Gino"), Utterance("Gino", "Lo ordino oggi.", 541)]
    told = summarise(said, max_words=60, header="Chiara, Gino · Giorno 1.", language="it")
    assert told.endswith("Chiara: «Compralo. Costa poco.» Gino: «Lo ordino oggi.»")
