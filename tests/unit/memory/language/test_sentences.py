"""Sentences, clauses, and speech told in the third person."""

from __future__ import annotations

import pytest

from cogitate.memory.language.english.address import clean
from cogitate.memory.language.english.clauses import split_clauses
from cogitate.memory.language.english.courtesies import is_small_talk
from cogitate.memory.language.english.persons import HE, SHE, THEY, pronouns_of, third_person
from cogitate.memory.language.entities import is_number, is_time, name_words
from cogitate.memory.language.sentences import all_of, split_sentences
from cogitate.memory.language.talk import Speakers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Smith came at 7.30 p.m. on foot. He left.", ["Dr. Smith came at 7.30 p.m. on foot.", "He left."]),
        ('We danced "Finding Freedom." It went well.', ['We danced "Finding Freedom."', "It went well."]),
        ("Привет! Как дела? Хорошо.", ["Привет!", "Как дела?", "Хорошо."]),
        ("好的。再见！", ["好的。", "再见！"]),
        ("« Je viens. » Elle rit. «Да.» Он ушёл.", ["« Je viens. »", "Elle rit.", "«Да.»", "Он ушёл."]),
        ("„Ich komme.“ Er ging. “Yes.” She left.", ["„Ich komme.“", "Er ging.", "“Yes.”", "She left."]),
        ("Aino: ”Tule. Nyt!” Jan: „Nie. Nie.”", ["Aino: ”Tule. Nyt!”", "Jan: „Nie. Nie.”"]),
        ("שיר: ”כן. בוא.“ דוד: ”לא.“", ["שיר: ”כן. בוא.“", "דוד: ”לא.“"]),
        ("Toplantı 2. gün saat 15:00'te. Köprü kapalı.", ["Toplantı 2. gün saat 15:00'te.", "Köprü kapalı."]),
        ("Jutro o godz. 9 przy 3. bramie, tj. obok studni.", ["Jutro o godz. 9 przy 3. bramie, tj. obok studni."]),
        ("Przynieś ok. 20 desek. It is ok. Twenty came.", ["Przynieś ok. 20 desek.", "It is ok.", "Twenty came."]),
        ("no stop at the end", ["no stop at the end"]),
        ("  \n ", []),
    ],
)
def test_sentences_end_at_stops_of_several_scripts(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


def test_clauses_are_cut_only_where_each_part_stands_alone() -> None:
    assert split_clauses("I lost my job, but I found a studio!") == ["I lost my job!", "I found a studio!"]
    assert split_clauses("It is late - we go home.") == ["It is late.", "we go home."]
    assert split_clauses("She likes tea and cake.") == ["She likes tea and cake."]
    assert split_clauses("A well-known cafe.") == ["A well-known cafe."]
    assert split_clauses("Ada said: “I came; he left!”") == ["Ada said: “I came; he left!”"]


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Wow, that's great", "that's great"),
        ("And we won 🎉", "we won"),
        ("Thanks!", "Thanks!"),  # never nothing
        ("It is  so \n fun", "It is so fun"),
        ("Yes, wow! Totally, I sing.", "I sing."),
        ("Totally fun", "Totally fun"),
        ("🎉", ""),
    ],
)
def test_cleaning_removes_interjections_and_emoji(said: str, left: str) -> None:
    assert clean(said) == left


def test_statements_about_oneself_are_told_in_the_third_person(subtests: pytest.Subtests) -> None:
    for said, told in [
        ("I lost my job as a banker.", "Jon lost his job as a banker."),
        ("I'm gonna try it myself.", "Jon is going to try it himself."),
        ("My crew won.", "Jon's crew won."),
        ("Lately I spend my evenings here.", "Lately Jon spends his evenings here."),
        ("I 100% agree.", "Jon 100% agrees."),
        ("…", "…"),
    ]:
        with subtests.test(said=said):
            assert third_person(said, "Jon") == told


def test_an_unknown_name_becomes_they() -> None:
    assert third_person("I love my map.", "Zyx") == "Zyx loves their map."


def test_pronouns_go_by_the_given_name_only() -> None:
    assert pronouns_of("Maria Lopez") is SHE
    assert pronouns_of("klaus Mueller") is HE
    assert pronouns_of("Anna") is pronouns_of("Анна") is SHE
    assert pronouns_of("") is pronouns_of("Lopez Maria") is THEY


def test_names_are_known_by_capitals_inside_sentences() -> None:
    names = name_words(
        ["We met Anna's dog in Paris.", "Luna and Oliver sleep.", "NASA called.", "READ ALL OF THIS NOW"]
    )
    assert names == {"Anna", "Paris", "Oliver", "Luna", "NASA"}
    assert name_words(["Wow, I said OK."]) == frozenset()
    assert name_words(["Ask Ada Bo."]) == {"Ada", "Bo"}, "three words are no title"
    assert name_words(["Ask Ada, Bo, Cy."]) == frozenset()
    assert is_number("18:00")
    assert is_number("Seven")
    assert not is_number("often")


def test_courtesies_are_recognised() -> None:
    assert is_small_talk("Hey Mel, good to see you!", Speakers(["Melanie"]))
    assert not is_small_talk("Good to see you in Paris", Speakers(["Melanie"]))


def test_full_stops_that_end_no_sentence_are_known(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, list[str]]] = [
        ("I came at 5 p.m. on foot.", ["I came at 5 p.m. on foot."]),
        ("I came at 5 p.m. On foot.", ["I came at 5 p.m.", "On foot."]),
        ("I came at 5 p.m.", ["I came at 5 p.m."]),
        ("I came at 5 p.m. 7 stayed.", ["I came at 5 p.m.", "7 stayed."]),
        ("J. R. Hobbs came.", ["J. R. Hobbs came."]),
        ("It was I. He left.", ["It was I.", "He left."]),
        ("(Mr. Hobbs) came.", ["(Mr. Hobbs) came."]),
        ("Wait... what?! Yes.", ["Wait...", "what?!", "Yes."]),
        ("He said (yes.) He left.", ["He said (yes.)", "He left."]),
        ("One\n\nTwo", ["One", "Two"]),
        ("\n\nOne.", ["One."]),
        ("Version 1.5.2 works.", ["Version 1.5.2 works."]),
        ("好。」再见", ["好。」", "再见"]),
        ("Dr.", ["Dr."]),
    ]
    for text, expected in cases:
        with subtests.test(text=text):
            assert split_sentences(text) == expected


def test_clauses_end_as_their_sentence_does(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, list[str]]] = [
        (" , ", []),
        ("", []),
        (" —— ", []),
        ("My wife and I argued about money.", ["My wife and I argued about money."]),
        ("Only the baker and she have a key.", ["Only the baker and she have a key."]),
        ("The mill — it burned down last night.", ["The mill — it burned down last night."]),
        ("If it rains — we stay home.", ["If it rains — we stay home."]),
        ("The boat sank; nobody was hurt.", ["The boat sank.", "nobody was hurt."]),
        ("I sing; I dance", ["I sing.", "I dance."]),
        ("I sing; I dance?", ["I sing?", "I dance?"]),
        ("I sing!; I dance.", ["I sing!", "I dance."]),
        ("I sing — I dance.", ["I sing.", "I dance."]),
        ("I sing and I dance well.", ["I sing.", "I dance well."]),
        ("I sing and I dance.", ["I sing and I dance."]),
        ("I sing, but they dance well.", ["I sing.", "they dance well."]),
        ("Tea, sugar and milk.", ["Tea, sugar and milk."]),
        ("我来；你走。", ["我来；你走。"]),
        ("Мы спали — но мама пела!", ["Мы спали!", "но мама пела!"]),
    ]
    for sentence, clauses in cases:
        with subtests.test(sentence=sentence):
            assert split_clauses(sentence) == clauses


def test_names_are_distinguished_from_other_capitalized_words(subtests: pytest.Subtests) -> None:
    cases: list[tuple[list[str], set[str]]] = [
        (["We met Sadly there."], set()),  # an adverb
        (["We met I'm there."], set()),
        (["We met TV's there."], set()),
        (["We met Ann’s dog."], {"Ann"}),
        (["Ann and Bo sing."], {"Ann", "Bo"}),
        (["Ann and the dog sing.", "ann"], set()),  # it is written small elsewhere
        (["The and Bo sing."], {"Bo"}),
        (["Paris."], {"Paris"}),
        (["Paris is big."], set()),
        (["A B C d"], {"B", "C"}),
        (["My Big Red Dog"], set()),  # in title case
        (["My Big red Dog sings"], {"Big", "Dog"}),
        (["NASA sings.", "X sings."], {"NASA"}),
        (["UK trains are late."], {"UK"}),
        (["See 4K films."], set()),
        ([""], set()),
    ]
    for sentences, names in cases:
        with subtests.test(sentences=sentences):
            assert name_words(sentences) == names


@pytest.mark.parametrize(
    ("sentence", "clauses"),
    [
        # what depends needs what comes after it, and only there
        ("If it rains - we stay - it is late.", ["If it rains - we stay.", "it is late."]),
        ("It is late - because we stay.", ["It is late.", "because we stay."]),
        ("Tea; it is late; we stay.", ["Tea; it is late.", "we stay."]),
        ("It is late; tea; we stay.", ["It is late; tea.", "we stay."]),
        ("It is late; tea", ["It is late; tea."]),
        ("Поздно; пора", ["Поздно.", "пора."]),
        ("Late; and", ["Late; and."]),
    ],
)
def test_a_sentence_is_cut_between_parts_that_stand_alone(sentence: str, clauses: list[str]) -> None:
    assert split_clauses(sentence) == clauses


def test_an_abbreviation_is_known_behind_a_bracket_and_across_a_line() -> None:
    assert split_sentences("He met (Dr. Smith) there. Then he left.") == ["He met (Dr. Smith) there.", "Then he left."]
    assert split_sentences("One etc. goes on. Two etc. And three.") == ["One etc. goes on.", "Two etc.", "And three."]


@pytest.mark.parametrize(
    ("word", "time"), [("today", True), ("noon", True), ("завтра", True), ("paris", False), ("", False)]
)
def test_words_for_times_are_recognised(word: str, time: bool) -> None:
    assert is_time(word) is time


def test_a_title_is_not_a_source_of_names() -> None:
    assert name_words(["We Met Old Anna In Paris"]) == frozenset()
    assert name_words(["we Met Old Anna in Paris here at a new inn"]) == {"Met", "Old", "Anna", "Paris"}
    assert name_words(["Bread and Cheese", "we eat bread"]) == {"Cheese"}, "what is written small elsewhere is no name"
    assert name_words(["He saw Ok's dog and a Sadly there"]) == frozenset()


def test_parts_are_listed_as_in_a_sentence() -> None:
    assert [all_of(parts) for parts in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
