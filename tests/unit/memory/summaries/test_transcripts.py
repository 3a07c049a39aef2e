"""Directions and fillers of a transcript are not part of the speech."""

from __future__ import annotations

import pytest

from cogitate.memory.language.english.retelling import is_cut_off
from cogitate.memory.summaries.transcripts import without_directions


def test_directions_and_fillers_are_left_out(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("um {disfmarker} we want to {gap} uh sort {vocalsound} them .", "we want to sort them ."),
        ("*waves* [click, TV static] Welcome (laughter) to the mill.", "Welcome to the mill."),
        ("(Aparte.) ¡Señor! (Vase.) No lo sé.", "¡Señor! No lo sé."),
        ("He rests (a little). (Exit Élodie.) So do I.", "He rests. So do I."),
        ("We sort {gap} [click], then {gap}(laughter) go.", "We sort, then go."),
        ("Ask Bo (the smith), I <b>never</b> said <i>no</i>.", "Ask Bo, I never said no."),
        ("(Grog voice) I would like to rage.", "I would like to rage."),
        ("Uh - huh .", ""),
        ("Ask (my brother's friend Bo) at 3 * 4 * 5.", "Ask (my brother's friend Bo) at 3 * 4 * 5."),
        ("if a<b and c>d then (see page 7)", "if a<b and c>d then (see page 7)"),
        ("The thermometer said 30 mm.", "The thermometer said 30 mm."),
        ("Ele quer um cavalo [risos] na praça.", "Ele quer um cavalo na praça."),
        ("Et nous nous sommes vus à la mairie.", "Et nous nous sommes vus à la mairie."),
    ]
    for text, said in cases:
        with subtests.test(text=text):
            assert without_directions(text) == said


@pytest.mark.parametrize(
    ("sentence", "cut"),
    [
        ("--will air tomorrow.", True),
        ("They came to--", True),
        ("Up to the age of 18—", True),
        ("A well-known mill.", False),
    ],
)
def test_a_sentence_that_a_dash_opens_or_ends_is_cut_off(sentence: str, cut: bool) -> None:
    assert is_cut_off(sentence) is cut
