"""Conversations are found by who talks and when, and told without losing names, numbers and promises."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.entry import MAX_TEXT, Entry, is_dialogue, resolve_name
from cogitate.memory.language.languages import languages_of
from cogitate.memory.language.packs import pack_of
from cogitate.memory.language.talk import Utterance
from cogitate.memory.language.word_count import count_words
from cogitate.memory.summaries.conversations import (
    GAP,
    LONGEST,
    conversations,
    first_person,
    is_header,
    parse_line,
    summarise_entries,
)
from tests.unit.tasks.kind_cases import ISABELLA, KLAUS, MARIA, WORLD, message, observation, stream_of


def test_same_participants_close_in_time_are_one_conversation() -> None:
    stream = stream_of(
        message("Hi.", 600),
        message("Hello.", 605, speaker=KLAUS, hearer=MARIA),
        message("A word?", 606, speaker=ISABELLA),
        message("Still here?", 634),
        message("Back again.", 664),
    )
    assert [talk.numbers for talk in conversations(KLAUS, stream.live())] == [(1, 2, 4), (3,), (5,)]


@pytest.mark.parametrize("mark", [": ", ":\n", " : ", "\u00a0: ", "：", "﹕", "： "])
@pytest.mark.parametrize("name", ["Ada Smith", "鈴木健", "ليلى حسن"])
def test_a_name_before_the_colon_of_any_script_is_the_speakers(mark: str, name: str) -> None:
    names = {KLAUS: "佐藤花子", MARIA: name}
    told = parse_line(message(f"{name}{mark}ok", 600, speaker=KLAUS, hearer=MARIA), names)
    assert (told.speaker, told.text, told.listener) == (name, "ok", "佐藤花子")


def test_the_owner_takes_part_whether_named_or_not() -> None:
    heard = message("Hi.", 600)
    told = observation("Maria says hi.", 601, subjects=(MARIA,), source="dialogue")
    assert len(conversations(KLAUS, stream_of(heard, told).live())) == 1


def test_observations_reflections_and_summaries_are_not_lines() -> None:
    summary = Entry(type="summary", text="They talked.", minute=600, source="dialogue", subjects=(KLAUS, MARIA))
    assert conversations(KLAUS, stream_of(observation("A tree.", 600), summary).live()) == []


def test_a_talk_without_end_is_cut_after_a_day() -> None:
    lines = [message(f"Line {i}.", i * 20) for i in range(100)]
    found = conversations(KLAUS, stream_of(*lines).live())
    assert all(talk.entries[-1].minute - talk.oldest < LONGEST for talk in found)
    assert len(found) == 2


@given(
    st.lists(
        st.tuples(st.integers(0, 4000), st.sampled_from([(KLAUS, MARIA), (MARIA, KLAUS), (KLAUS, ISABELLA)])),
        max_size=40,
    )
)
def test_every_line_is_in_one_conversation_and_no_two_could_be_joined(lines: list[tuple[int, tuple[str, str]]]) -> None:
    entries = [message("x", minute, speaker=who[0], hearer=who[1]) for minute, who in lines]
    live = stream_of(*entries).live()
    found = conversations(KLAUS, live)
    assert sorted(n for talk in found for n in talk.numbers) == [e.number for e in live if is_dialogue(e)]
    for talk in found:
        minutes = [e.minute for e in talk.entries]
        assert minutes == sorted(minutes)
        assert all(b - a < GAP for a, b in itertools.pairwise(minutes))
    for one in found:
        for other in found:
            if one is not other and one.participants == other.participants and one.oldest <= other.oldest:
                far = other.oldest - one.entries[-1].minute >= GAP
                assert far or other.oldest - one.oldest >= LONGEST
    assert conversations(KLAUS, reversed(live)) == found


def test_the_speaker_is_named_by_the_text_or_is_the_first_subject() -> None:
    assert parse_line(message("See you.", 600), WORLD.names)[:2] == ("Maria Lopez", "See you.")
    assert parse_line(message("Klaus Mueller: See you.", 600), WORLD.names)[:2] == ("Klaus Mueller", "See you.")
    assert parse_line(message("Note: bring snacks.", 600), WORLD.names)[:2] == ("Maria Lopez", "Note: bring snacks.")
    assert parse_line(observation("Maria Lopez: the name on a door.", 600), {})[:2] == (
        "",
        "Maria Lopez: the name on a door.",
    )


def test_a_digest_keeps_names_times_numbers_and_promises() -> None:
    talk = [
        message("Hey! How are you?", 600),
        message("I will bring 20 red balloons to Hobbs Cafe at 4 pm.", 601, speaker=KLAUS, hearer=MARIA),
        message("Great. Isabella Rodriguez needs 12 chairs.", 602),
    ]
    text = summarise_entries(stream_of(*talk).live(), {**WORLD.names, "cafe": "Hobbs Cafe"})
    for kept in ("Klaus Mueller", "Maria Lopez", "Isabella Rodriguez", "20", "12", "4 pm", "Hobbs Cafe", "10:00 AM"):
        assert kept.casefold() in text.casefold()
    assert "How are you" not in text


def test_a_digest_is_never_empty() -> None:
    for text in ("?", "Hm?", "…", "Как дела?"):
        assert summarise_entries(stream_of(message(text, 600)).live(), WORLD.names).strip()
        assert summarise_entries(stream_of(observation(text, 600)).live(), {}).strip()
    assert summarise_entries([], {})


def test_a_line_at_the_very_end_of_the_pause_or_of_the_day_opens_a_new_talk() -> None:
    def talks(*minutes: int) -> list[tuple[int, ...]]:
        found = conversations(KLAUS, stream_of(*(message("x", minute) for minute in minutes)).live())
        return [talk.numbers for talk in found]

    assert talks(600, 600 + GAP - 1) == [(1, 2)]
    assert talks(600, 600 + GAP) == [(1,), (2,)]
    steps = range(0, LONGEST, 20)
    assert len(talks(*steps, LONGEST - 1)) == 1
    assert talks(*steps, LONGEST)[1:] == [(len(steps) + 1,)]


def test_a_talk_has_numbers_start_and_mean_importance() -> None:
    later, first = message("Later.", 620, importance=8), message("First.", 610, importance=0)
    (talk,) = conversations(KLAUS, stream_of(later, first, message("Same minute.", 620, importance=3)).live())
    assert [entry.text for entry in talk.entries] == ["First.", "Later.", "Same minute."]
    assert (talk.numbers, talk.oldest, talk.importance) == ((1, 2, 3), 610, 5.5)
    assert talk.participants == (KLAUS, MARIA)
    (unrated,) = conversations(KLAUS, [first])
    assert unrated.importance == 0.0


def test_participants_are_sorted_regardless_of_the_speaker() -> None:
    crowd = [message("x", 600 + n, subjects=(f"agent:{n:02}", KLAUS, MARIA)) for n in range(20)]
    for talk in conversations(ISABELLA, crowd):
        assert talk.participants == tuple(sorted({ISABELLA, *talk.entries[0].subjects}))
    assert len(conversations(MARIA, [message("x", 1, speaker=KLAUS, hearer=MARIA), message("x", 2)])) == 1


@pytest.mark.parametrize(
    ("fields", "is_line"),
    [
        ({"type": "message", "source": "perception"}, True),
        ({"type": "message", "source": "dialogue"}, True),
        ({"type": "observation", "source": "dialogue"}, True),
        ({"type": "observation", "source": "perception"}, False),
        ({"type": "summary", "source": "dialogue"}, False),
    ],
)
def test_a_line_is_a_message_or_an_overheard_observation(fields: dict[str, Any], is_line: bool) -> None:
    assert is_dialogue(Entry(text="x", minute=1, **fields)) is is_line


def test_the_name_of_an_owner_is_the_display_name_or_its_id() -> None:
    names = {MARIA: "Maria Lopez", KLAUS: ""}
    assert [resolve_name(owner, names) for owner in (MARIA, KLAUS, "cafe", "agent:")] == [
        "Maria Lopez",
        "klaus",
        "cafe",
        "agent:",
    ]


def test_a_line_has_a_speaker_a_text_and_a_time(subtests: pytest.Subtests) -> None:
    cases: list[tuple[Entry, str, str]] = [
        (message("Isabella Rodriguez: Hi.", 1), "Isabella Rodriguez", "Hi."),  # known by her name, though not there
        (message("ben: Hi.", 1, speaker="agent:ben"), "ben", "Hi."),  # there, though without a display name
        (message("Ann: Hi.", 1), "Maria Lopez", "Ann: Hi."),
        (message("Maria Lopez:Hi.", 1), "Maria Lopez", "Maria Lopez:Hi."),
        (message("Maria Lopez:  \n Hi.", 1), "Maria Lopez", "Hi."),
        (message("Maria Lopez: ", 1), "Maria Lopez", "Maria Lopez: "),
        (message("Hi.", 1, subjects=()), "", "Hi."),
        (observation("Maria Lopez: Hi.", 1, source="dialogue"), "Maria Lopez", "Hi."),
        (observation("Maria Lopez: Hi.", 1), "", "Maria Lopez: Hi."),
        (observation("Maria waves.", 1, subjects=(MARIA,)), "", "Maria waves."),
    ]
    for entry, speaker, text in cases:
        with subtests.test(entry=entry):
            assert parse_line(entry, WORLD.names)[:3] == (speaker, text, 1)


def test_the_listener_is_the_only_other_participant() -> None:
    assert parse_line(message("Hi.", 1), WORLD.names).listener == "Klaus Mueller"
    assert parse_line(message("Klaus Mueller: Hi.", 1), WORLD.names).listener == "Maria Lopez"
    assert parse_line(message("Hi.", 1, subjects=(MARIA, KLAUS, ISABELLA)), WORLD.names).listener == ""
    assert parse_line(observation("Hi.", 1, subjects=(KLAUS, MARIA)), WORLD.names).listener == ""


def test_an_entry_is_read_as_its_owners(subtests: pytest.Subtests) -> None:
    cases: list[tuple[Entry, str]] = [
        (message("I am holding a party for my son.", 1), "Maria Lopez is holding a party for Maria Lopez's son."),
        (message("I'll see you at six.", 1), "Maria Lopez will see Maria Lopez at six."),
        (message("Will you meet me?", 1, subjects=(MARIA, KLAUS, ISABELLA)), "Will you meet Maria Lopez?"),
        (message("I will see you at six.", 1, speaker=KLAUS, hearer=MARIA), "I will see Maria Lopez at six."),
        (message("I will see you at six.", 1, subjects=(KLAUS, MARIA, ISABELLA)), "I will see you at six."),
        (message("I will see you.", 1, subjects=(MARIA, KLAUS, ISABELLA)), "Maria Lopez will see you."),
        (message("I'm late, wait for me!", 1), "Maria Lopez is late, wait for Maria Lopez!"),
        (observation("Klaus Mueller is holding a party.", 1), "I am holding a party."),
    ]
    for entry, text in cases:
        with subtests.test(entry=entry):
            assert first_person(entry, KLAUS, WORLD.names).text == text


def test_a_digest_opens_with_participants_place_and_time(subtests: pytest.Subtests) -> None:
    cases: list[tuple[list[Entry], str]] = [
        (
            [message("I will bring 20 chairs tomorrow.", 600), message("Thanks!", 601)],
            "Maria Lopez and Klaus Mueller talked at cafe on day 1, 10:00 AM. "
            'Maria: "I will bring 20 chairs tomorrow."',
        ),
        (
            [message("I will bring 20 chairs.", 1440 + 615, subjects=(MARIA, KLAUS, ISABELLA), location="")],
            "Maria Lopez, Klaus Mueller and Isabella Rodriguez talked on day 2, 10:15 AM. "
            'Maria: "I will bring 20 chairs."',
        ),
        (
            [message("I will buy 3 ducks.", 600, subjects=(KLAUS,))],
            'Conversation with Klaus Mueller at cafe on day 1, 10:00 AM. Klaus: "I will buy 3 ducks."',
        ),
        (
            [message("I will bring 20 chairs.", 9), observation("A tree fell.", 8)],
            "A tree fell. Maria Lopez will bring 20 chairs.",
        ),
        ([message("4 ducks.", 600, subjects=())], "4 ducks."),
        ([message("Hm?", 600)], "Maria Lopez and Klaus Mueller talked at cafe on day 1, 10:00 AM."),
        (
            [message("Oh?", 601), message("Hm?", 600)],
            "Maria Lopez and Klaus Mueller talked at cafe on day 1, 10:00 AM.",
        ),
        ([observation("?", 600)], "?"),
        ([], "Nothing worth keeping was said."),
    ]
    for entries, told in cases:
        with subtests.test(entries=entries):
            assert summarise_entries(stream_of(*entries).live(), WORLD.names) == told


@pytest.mark.parametrize(
    ("owner", "header"),
    [
        (MARIA, "Maria Lopez talked with Klaus Mueller and Isabella Rodriguez at cafe on day 1, 10:00 AM."),
        (ISABELLA, "Isabella Rodriguez talked with Maria Lopez and Klaus Mueller at cafe on day 1, 10:00 AM."),
        ("location:cafe", "Maria Lopez, Klaus Mueller and Isabella Rodriguez talked at cafe on day 1, 10:00 AM."),
    ],
)
def test_a_digest_of_a_talk_opens_with_its_owner(owner: str, header: str) -> None:
    said = message("Hm?", 600, subjects=(MARIA, KLAUS, ISABELLA))
    assert summarise_entries(stream_of(said).live(), WORLD.names, owner=owner) == header
    alone = message("Hm?", 600, subjects=(KLAUS,))
    opening = "Klaus Mueller talked at cafe on day 1, 10:00 AM."
    assert summarise_entries(stream_of(alone).live(), WORLD.names, owner=KLAUS) == opening
    assert is_header(opening)


def test_of_a_crowd_twelve_are_named() -> None:
    people = [f"agent:a{n}" for n in range(30)]
    text = summarise_entries([observation("Hm?", 600, subjects=people, source="dialogue")], {}, owner="agent:a0")
    assert text.startswith("a0 talked with a1, a2, a3,")
    assert "a11 and 18 others at library" in text


@pytest.mark.parametrize("owner", [KLAUS, MARIA])
def test_a_repeated_statement_is_told_once(owner: str) -> None:
    noted = [
        message("Klaus Mueller promises to bring the stones by Friday.", 600, subjects=(KLAUS,)),
        message("Klaus Mueller promises to bring the stones by Friday.", 601, subjects=(KLAUS,)),
        message("Klaus Mueller votes yes.", 602, subjects=(KLAUS,)),
    ]
    told = summarise_entries(stream_of(*noted).live(), WORLD.names, owner=owner)
    assert told.endswith("AM. Klaus Mueller promises to bring the stones by Friday. Klaus Mueller votes yes.")
    earlier = Entry(type="summary", text="Klaus Mueller votes yes.", minute=500)
    assert summarise_entries(stream_of(earlier, *noted).live(), WORLD.names, owner=owner).count("votes yes") == 1


@pytest.mark.parametrize("verb", ["told me", "said", "asked Isabella Rodriguez", "told me on day 1"])
@pytest.mark.parametrize("subjects", [(MARIA,), (MARIA, KLAUS), ()])
def test_a_line_that_names_its_speaker_is_told_as_written(verb: str, subjects: tuple[str, ...]) -> None:
    noted = Entry(type="message", text=f'Maria Lopez {verb}: "I promise: I will sing."', minute=600, subjects=subjects)
    assert parse_line(noted, WORLD.names) == Utterance("", noted.text, 600)


def test_a_denial_is_quoted() -> None:
    for said in ("I never promised the salt.", "I did not promise the salt.", "I haven't promised the salt."):
        told = summarise_entries(stream_of(message(said, 600, speaker=MARIA, hearer=KLAUS)).live(), WORLD.names)
        assert f'Maria: "{said}"' in told


def test_a_digest_takes_a_third_of_the_words_but_80_to_120(subtests: pytest.Subtests) -> None:
    cases: list[tuple[int, int]] = [
        (79, 79),
        (80, 80),
        (81, 80),
        (242, 80),
        (243, 81),
        (359, 119),
        (360, 120),
        (363, 120),
        (500, 120),
    ]
    for words, kept in cases:
        with subtests.test(words=words):
            seen = [observation(f"{1000 + n}", n) for n in range(words)]
            assert len(summarise_entries(stream_of(*seen).live(), {}).split()) == kept


def test_the_header_of_a_digest_takes_nothing_of_its_room() -> None:
    said = [message(f"{1000 + n}", n) for n in range(150)]
    said = [msgspec.structs.replace(entry, text=f"Maria Lopez promises {entry.text} ducks.") for entry in said[:48]]
    header = "Maria Lopez and Klaus Mueller talked at cafe on day 1, 12:00 AM."
    told = summarise_entries(stream_of(*said).live(), WORLD.names)
    assert told.startswith(header)
    assert 75 < len(told.removeprefix(header).split()) <= 80


def test_a_digest_is_bounded_by_the_text_limit() -> None:
    people = [f"agent:{'x' * 400}{n}" for n in range(30)]
    text = summarise_entries([observation("A talk.", 1, subjects=people, source="dialogue")], {})
    assert MAX_TEXT - 450 < len(text) <= MAX_TEXT


@pytest.mark.parametrize(
    ("said", "told"),
    [
        # Russian, and Han without a full stop
        (
            "мама мыла раму и потом пошла в лес за грибами и " * 20,
            "День 1 10:00. Maria → Klaus: «…раму и потом пошла в лес",
        ),
        (
            "".join(chr(0x4E00 + 7 * n) for n in range(900)),
            f"第1天 10:00。Maria Lopez 对 Klaus Mueller 说：“{chr(0x4E00)}",
        ),
        (
            "I think the harvest at Pike Farm takes eleven days with six people and a wagon that Rolf lent for "
            "nine silver " * 6,
            "nine silver I think the harvest at Pike Farm takes eleven days",
        ),
        (
            "Borin owes Elara 9 crowns. " + "and so on without any end " * 60,
            '10:00 AM. Maria told Klaus: "Borin owes Elara 9 crowns."',
        ),
    ],
)
def test_part_of_an_unfinished_line_is_told(said: str, told: str) -> None:
    text = summarise_entries([message(said[:3_900], 600)], WORLD.names)
    assert told in text
    assert count_words(text) <= (120 if text.isascii() else 240) + 12, "the header has twelve words"


def test_a_talk_of_nothing_but_courtesies_is_not_quoted() -> None:
    said = stream_of(message("Hello, and good morning to you!", 600), message("See you!", 601)).live()
    assert '"' not in summarise_entries(said, WORLD.names)


def test_the_last_of_very_many_clauses_may_be_told() -> None:
    clauses = "; ".join(f"it was {n}" for n in range(320))
    assert "8,000 crowns" in summarise_entries([message(f"{clauses}; Borin owes Elara 8,000 crowns", 600)], WORLD.names)


def test_sixty_characters_of_an_endless_name_are_told() -> None:
    names = {MARIA: "M" * 80, KLAUS: "K" * 80}
    said = message("I am late, and I will tell you.", 600)
    assert first_person(said, KLAUS, names).text == f"{'M' * 60} is late, and {'M' * 60} will tell {'M' * 60}."
    mine = message("I will tell you.", 600, speaker=KLAUS, hearer=MARIA)
    assert first_person(mine, KLAUS, names).text == f"I will tell {'M' * 60}."
    full = message("I am late. " * (MAX_TEXT // 11), 600)
    assert MAX_TEXT - 60 < len(first_person(full, KLAUS, names).text) <= MAX_TEXT, (
        "no entry holds more, whatever stands for I"
    )


@pytest.mark.parametrize(
    ("said", "header", "items"),
    [
        ("五時までに鯛を用意できますか。", "maria、klaus · cafe · 1日目 10:00。", "a；b"),
        ("明天你能准备好十条鱼吗？", "maria、klaus · cafe · 第1天 10:00。", "a；b"),
        ("سأحضر التمر إلى السوق غدا.", "maria، klaus · cafe · اليوم 1 10:00.", "a؛ b"),
        ("فردا خرما را به بازار می‌آورم.", "maria، klaus · cafe · روز 1 10:00.", "a؛ b"),
        ("Mañana traigo los dátiles al mercado.", "maria, klaus · cafe · Día 1 10:00.", "a; b"),
    ],
)
def test_lists_have_the_marks_of_their_language(said: str, header: str, items: str) -> None:
    assert summarise_entries([message(said, 600)], {}).startswith(header)
    assert pack_of(languages_of(said)[0]).listed(["a", "b"]) == items
