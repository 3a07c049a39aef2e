"""The speakers of a talk, and which of them a text may name."""

from __future__ import annotations

import pytest

from cogitate.memory.language.talk import Speakers


def test_speakers_are_listed_once_in_order_of_speaking() -> None:
    speakers = Speakers(["Jon", "Gina", "Jon"])
    assert speakers.names == ("Jon", "Gina")
    assert "Gina" in speakers
    assert "gina" not in speakers


def test_a_word_matches_a_name_or_its_first_three_letters(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, bool]] = [
        ("melanie", True),
        ("smith", True),
        ("mel", True),
        ("melani", True),
        ("smi", True),
        ("me", False),
        ("", False),
        ("jo", True),
        ("j", False),
        ("lanie", False),
        ("Mel", False),
    ]
    for word, belongs in cases:
        with subtests.test(word=word):
            assert Speakers(["Melanie Smith", "Jo"]).is_part_of_name(word) is belongs


def test_the_other_speaker_is_known_only_among_two() -> None:
    two = Speakers(["Jon", "Gina"])
    assert [two.other_than(name) for name in ("Jon", "Gina", "Ann")] == ["Gina", "Jon", ""]
    assert Speakers(["Jon", "Gina", "Ann"]).other_than("Jon") == ""
    assert [Speakers(["Jon"]).other_than(name) for name in ("Jon", "Gina")] == ["", "Jon"]
    assert Speakers([]).other_than("Jon") == ""


def test_only_speakers_whose_first_letters_occur_are_searched() -> None:
    many = [f"X{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(28)]
    few = Speakers(["Melanie", "Jo", "Ann Lee", "Zöe", *many])
    assert few.perhaps_in("Nobody is named here.") == few.names
    speakers = Speakers(["Melanie", "Jo", "Ann Lee", "Zöe", *many, "Bo"])
    assert speakers.perhaps_in("") == []
    assert speakers.perhaps_in("Nobody is named.") == ["Bo"]  # "nobody": too many rather than too few
    assert speakers.perhaps_in("Ann told JO of mel and ZÖE.") == ["Melanie", "Jo", "Ann Lee", "Zöe"]
    assert speakers.perhaps_in("xab ann") == ["Ann Lee", "Xab"]
    assert speakers.perhaps_in("melon, an, x") == ["Melanie"]
    assert Speakers(["Q", *many, "Ann", "Ben", "Cleo", "Dan", "Eve"]).perhaps_in("Ask Q.") == ["Q"]


def test_the_other_speaker_of_an_outsider_is_known_only_if_one_speaks() -> None:
    assert Speakers(["Jon", "Gina", "Ann"]).other_than("Bob") == ""
    assert Speakers(["Jon"]).other_than("Bob") == "Jon"


def test_words_that_keep_their_capital_are_those_written_with_one() -> None:
    assert Speakers(["Ludwig van Beethoven", "McCoy", "de la Cruz"]).written == {
        "Ludwig",
        "Beethoven",
        "McCoy",
        "Cruz",
    }
