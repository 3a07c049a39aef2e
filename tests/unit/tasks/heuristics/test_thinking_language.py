"""Thoughts without a model in other languages than English: quoted, in one language, with no word of English."""

from __future__ import annotations

import re

import pytest

from cogitate.memory.entry import Entry
from cogitate.memory.language.packs import SAID, packs
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.profile import Location, Profile
from cogitate.prompts.render import Templates
from cogitate.tasks.heuristics.insight import QUIET, is_quiet, quiet
from cogitate.tasks.heuristics.thinking_language import language_of_profiles, quoting_language, thinking_language
from cogitate.tasks.kind import WorldFacts
from cogitate.tasks.plan import Plan
from cogitate.tasks.reflect import Reflect
from tests.unit.tasks.kind_cases import KLAUS, MARIA, appended, case_of, message, observation, stream_of

PLAN, REFLECT = Plan(Templates()), Reflect(Templates())
OWNERS = {
    "zh": (
        Profile(name="王芳", occupation="面包师", currently="正在准备中秋节的月饼。", home="home", work="bakery"),
        ("面包店", "王芳的家"),
        ("面包店的烤箱坏了。", "李伟和他的妻子离婚了。", "路边有一只麻雀。"),
    ),
    "ja": (
        Profile(name="佐藤花子", occupation="パン職人", currently="パンを焼いている", home="home", work="bakery"),
        ("パン屋", "佐藤の家"),
        ("オーブンが壊れた。", "鈴木さんは妻と離婚した。", "雀がいる。"),
    ),
    "ru": (
        Profile(name="Анна Петрова", occupation="пекарь", currently="готовит пироги", home="home", work="bakery"),
        ("Пекарня", "Дом Анны"),
        ("Печь сломалась.", "Борис развёлся с женой.", "На дороге сидит воробей."),
    ),
    "ar": (
        Profile(name="مريم", occupation="خبازة", currently="تحضر الكعك للعيد", home="home", work="bakery"),
        ("المخبز", "بيت مريم"),
        ("تعطل الفرن.", "طلق أحمد زوجته.", "عصفور على الطريق."),
    ),
    "el": (
        Profile(name="Άννα", occupation="αρτοποιός", currently="ετοιμάζει πίτες", home="home", work="bakery"),
        ("Φούρνος", "Σπίτι της Άννας"),
        ("Ο φούρνος χάλασε.", "Ο Νίκος χώρισε.", "Ένα σπουργίτι."),
    ),
}
_ENGLISH = re.compile("[a-z]{2,}", re.IGNORECASE)


def _thinks_in(profile: Profile, *lived: Entry, around: str | None = None) -> str:
    """Return the language in which Klaus thinks with this profile, among agents whose profiles show another one."""
    world = WorldFacts(names={MARIA: "Maria Lopez", KLAUS: profile.name}, spoken=around)
    return thinking_language(case_of(REFLECT, stream_of(*lived), 1_100, world=world, profile=profile))


def _case_of(language: str) -> tuple[Profile, WorldFacts, list[Entry]]:
    profile, (bakery, home), seen = OWNERS[language]
    places = (Location(id="bakery", name=bakery, type="cafe"), Location(id="home", name=home, type="home"))
    world = WorldFacts(locations=places, names={KLAUS: profile.name, MARIA: "李伟"})
    return profile, world, [observation(text, 500 + at, importance=9 - at) for at, text in enumerate(seen)]


@pytest.mark.parametrize("language", OWNERS)
def test_a_reflection_quotes_in_the_words_and_marks_of_the_memories(language: str) -> None:
    profile, world, seen = _case_of(language)
    (entry,) = appended(REFLECT.heuristic(case_of(REFLECT, stream_of(*seen), 1_100, world=world, profile=profile)))
    *_, bird = said = OWNERS[language][2]
    assert set(split_sentences(entry.text)) in ({*said}, {*said} - {bird})


def test_where_an_owners_texts_tell_no_language_all_profiles_do() -> None:
    child, cook = Profile(name="Luca", occupation="bambino"), Profile(name="Elena", currently="Vuole convincere il re")
    teacher = Profile(name="Giulia", occupation="maestra della sezione dei grandi", routine="8:00 accogliere i bambini")
    around = language_of_profiles((child, cook, teacher))
    assert around == "it"
    aged = Profile(name="Pia", occupation="età")  # its letters tell that it is no English, and no more
    assert [_thinks_in(one, around=around) for one in (child, cook, teacher, aged)] == ["it"] * 4
    assert language_of_profiles((child, Profile(name="Ada", background="Ada is the smith of the town."))) is None


@pytest.mark.parametrize("language", OWNERS)
def test_a_plan_holds_one_language(language: str) -> None:
    profile, world, seen = _case_of(language)
    case = case_of(PLAN, stream_of(*seen), 420, world=world, profile=profile)
    (entry,) = appended(PLAN.heuristic(case))
    assert [item.description for item in entry.items][-1] == profile.currently.rstrip("。")
    broken, divorced, _ = (text.rstrip("。.") for text in OWNERS[language][2])
    assert broken in entry.text, "what presses"
    assert (divorced in entry.text) is (language not in packs()), "where nothing tells trouble, importance does"
    assert not _ENGLISH.search(entry.text)
    assert profile.currently.rstrip("。.") in entry.text
    left = {"unfinished": [{"description": i.description, "location": i.location} for i in entry.items]}
    case = case_of(PLAN, stream_of(*seen), 420 + 1_440, world=world, profile=profile, params=left)
    (again,) = appended(PLAN.heuristic(case))
    assert [i.description for i in again.items] == [i.description for i in entry.items], "nothing is taken up twice"


@pytest.mark.parametrize("language", OWNERS)
def test_a_quiet_period_is_told_in_the_owners_language(language: str) -> None:
    profile, world, _ = _case_of(language)
    (entry,) = appended(REFLECT.heuristic(case_of(REFLECT, stream_of(), 1_100, world=world, profile=profile)))
    assert not _ENGLISH.search(entry.text)
    assert is_quiet(entry.text)
    assert quiet("en") == QUIET


def test_another_persons_statement_is_quoted_with_its_speaker() -> None:
    profile, world, seen = _case_of("zh")
    said = message("明天十点在广场有音乐会。", 700, speaker=MARIA, hearer=KLAUS, importance=10)
    case = case_of(REFLECT, stream_of(*seen, said), 1_100, world=world, profile=profile)
    (entry,) = appended(REFLECT.heuristic(case))
    assert "李伟对王芳说：“明天十点在广场有音乐会。”" in entry.text


def test_every_language_has_every_phrase() -> None:
    assert [(language, key) for language, table in packs().items() for key in SAID if key not in table] == []


TALK = "明日の朝、一緒に市場へ行きましょう。"


def test_an_owner_thinks_in_the_language_of_its_profile_or_else_its_memories(subtests: pytest.Subtests) -> None:
    cases: list[tuple[Profile, tuple[Entry, ...], str]] = [
        (Profile(name="Ann"), (), "en"),
        (Profile(name="Ann", occupation="baker"), (observation("今天天气很好。", 1),), "zh"),
        (
            Profile(name="Anke", currently="hat vor dem Fest viel zu tun"),
            (observation("The oven is hot.", 1),),
            "de",
        ),
        (Profile(name="王芳", currently="is busy before the feast"), (), "en"),
        (Profile(name="王芳"), (), "zh"),
        (Profile(name="王芳"), (message(TALK, 1),), "zh"),
        (Profile(name="佐藤花子"), (observation(TALK, 1),), "ja"),
        (Profile(name="Анна Петрова"), (message(TALK, 1),), "ru"),
        (Profile(name="Reyes", occupation="Station commander"), (message(TALK, 1),), "en"),
        (
            Profile(name="Reyes", occupation="Station commander"),
            (observation(TALK, 1, source="dialogue", subjects=(MARIA, KLAUS)),),
            "en",
        ),
        (Profile(name="Reyes"), (message(TALK, 1, speaker=KLAUS, hearer=MARIA),), "ja"),
        (Profile(name="鈴木ゆい", occupation="文化委員"), (observation(TALK, 1),), "ja"),
        (Profile(name="王芳", occupation="文化委员"), (observation("今天天气很好。", 1),), "zh"),
        (Profile(name="Lola", occupation="inspectora de sanidad"), (observation("La cámara está a 9 °C.", 1),), "es"),
    ]
    for profile, lived, language in cases:
        with subtests.test(profile=profile):
            assert _thinks_in(profile, *lived) == language


def test_profiles_in_a_language_without_phrases_are_not_taken_for_english() -> None:
    keeper = Profile(name="Märta", currently="Märta vill att stationen är öppen till påsk.")
    guide = Profile(name="Jonas", routine="9:00 leda turen")
    around = language_of_profiles((keeper, guide))
    assert around is not None
    assert _thinks_in(guide, around=around) != "en"


def test_a_long_term_summary_shows_the_language_that_a_few_memories_do_not() -> None:
    stream = stream_of(observation("Korjasin pumpun.", 1))
    stream.head.summary = 'Näin, että silta on rikki. En löydä avainta. Maria: "We talked about the mill."'
    world = WorldFacts(names={MARIA: "Maria Lopez", KLAUS: "Aino"})
    case = case_of(REFLECT, stream, 1_100, world=world, profile=Profile(name="Aino"))
    assert (thinking_language(case), quoting_language(case)) == ("fi", "fi")
