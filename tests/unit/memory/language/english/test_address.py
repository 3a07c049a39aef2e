"""Whom a sentence addresses."""

from __future__ import annotations

import pytest

from cogitate.memory.language.english.address import addressee
from cogitate.memory.language.talk import Speakers


@pytest.mark.parametrize(
    ("sentence", "called"),
    [
        ("You kept your word, Gina.", "Gina"),
        ("Gina, I have a horse.", "Gina"),
        ("Four silver is not what you promised, Oswin Pike.", ""),  # not one of the speakers
        ("I met Gina, Bo and Liesl Amory.", ""),
        ("I love tea, biscuits, Liesl Amory.", ""),  # nobody is spoken to
        ("Last Monday, I saw a wolf.", ""),
        ("You met Jon, Gina and me.", ""),
        ("The tea, they keep, Liesl Amory.", ""),  # what a later word says is no request
    ],
)
def test_a_vocative_names_the_addressee(sentence: str, called: str) -> None:
    assert addressee(Speakers(["Jon", "Gina"]), sentence, "Jon") == called


def test_no_speaker_addresses_themselves() -> None:
    assert addressee(Speakers(["Jon", "Gina"]), "Jon, I said to myself.", "Jon") == ""
