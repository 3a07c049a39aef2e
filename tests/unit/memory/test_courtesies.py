"""Thanks, praise and other courtesies, told in one sentence."""

from __future__ import annotations

from collections import Counter

import pytest

from memory.language.courtesies import acts, is_small_talk, tell_acts
from memory.language.speakers import Speakers

JON_AND_GINA = ("Jon", "Gina")


@pytest.mark.parametrize(
    ("jon", "gina", "told"),
    [
        ("praised", "", "Jon praised Gina."),
        ("", "praised", "Gina praised Jon."),
        ("", "", ""),
        ("praised", "praised", "Jon and Gina praised each other."),
        ("praised", "thanked", "Jon praised Gina, who thanked him."),
        ("praised thanked thanked", "praised consoled",
         "Jon and Gina praised each other; Jon thanked Gina, and Gina consoled Jon."),
        ("praised", "praised consoled", "Gina and Jon praised each other; Gina consoled Jon."),
        ("praised thanked", "praised", "Jon and Gina praised each other; Jon thanked Gina."),
        ("thanked", "consoled", "Jon thanked Gina, who consoled him."),  # a tie: who spoke first
        ("thanked", "consoled consoled", "Gina consoled Jon, who thanked her."),
        ("thanked praised", "", "Jon praised and thanked Gina."),
        ("thanked praised congratulated", "", "Jon congratulated, praised and thanked Gina."),
        # three at most: of those done as often, the first in the alphabet
        ("thanked thanked praised congratulated consoled", "", "Jon congratulated, consoled and thanked Gina."),
    ],
)  # fmt: skip
def test_who_did_what_is_told_in_one_sentence(jon: str, gina: str, told: str) -> None:
    counts = {"Jon": Counter(jon.split()), "Gina": Counter(gina.split())}
    assert tell_acts(counts, JON_AND_GINA) == told
    assert tell_acts({who: counted for who, counted in counts.items() if counted}, JON_AND_GINA) == told


@pytest.mark.parametrize("speakers", [[], ["Jon"], ["Jon", "Gina", "Ann"]])
def test_only_two_are_told_of(speakers: list[str]) -> None:
    assert tell_acts({"Jon": Counter(["praised"])}, speakers) == ""


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Congrats!", ["congratulated"]),
        ("So sorry to hear that.", ["consoled"]),
        ("That must have been tough.", ["consoled"]),
        ("You’re so talented!", ["praised"]),
        ("  Sounds really great", ["praised"]),
        ("It sounds fun.", ["praised"]),
        ("Good luck!", ["encouraged"]),
        ("Don't ever give up.", ["encouraged"]),
        ("Totally!", ["agreed with"]),
        ("We totally won.", []),
        ("I agree.", ["agreed with"]),
        ("Thank you.", ["thanked"]),
        ("He said thank you.", []),
        ("I appreciate it.", ["thanked"]),
        ("", []),
    ],
)
def test_an_act_is_known_by_its_words(said: str, found: list[str]) -> None:
    assert acts(said) == found


@pytest.mark.parametrize(
    ("said", "empty"),
    [
        ("", True),
        ("Wow, Mel!", True),
        ("Wow, Melon!", False),
        ("It’s so good to see you again, Ann", True),
        ("Nice to meet Melanie Smith.", True),
        ("Nice to meet Melanie Jones.", False),
        ("  So do I!  ", True),
        ("So do I, on Sundays.", False),
        ("I have to get going.", True),
        ("I have to get going to Rome.", False),
        ("How have you been?", True),
        ("I am not sure yet.", True),
        ("I am not sure that he lives.", False),
        ("I will think about it.", True),
        ("I do not think we have talked before.", True),
        ("I do not think we have talked before the queen.", False),
        ("I had better tell the others.", True),
        ("I had better tell the queen.", False),
    ],
)
def test_small_talk_is_a_formula_or_has_only_polite_words_and_names(said: str, empty: bool) -> None:
    assert is_small_talk(said, Speakers(["Melanie Smith", "Ann"])) is empty
