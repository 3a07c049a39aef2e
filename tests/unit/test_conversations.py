"""Conversations are found by who talks and when, and told without losing names, numbers and promises."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
from kind_cases import ISABELLA, KLAUS, MARIA, WORLD, message, observation, stream_of

from memory.conversations import GAP, LONGEST, conversations, digest, is_dialogue, line
from memory.entry import Entry


def test_same_participants_close_in_time_are_one_conversation() -> None:
    stream = stream_of(
        message("Hi.", 600),
        message("Hello.", 605, speaker=KLAUS, hearer=MARIA),
        message("A word?", 606, speaker=ISABELLA),
        message("Still here?", 634),
        message("Back again.", 664),
    )
    assert [talk.numbers for talk in conversations(KLAUS, stream.live())] == [(1, 2, 4), (3,), (5,)]


def test_the_owner_takes_part_whether_named_or_not() -> None:
    heard = message("Hi.", 600)
    told = observation("Maria says hi.", 601, subjects=(MARIA,), source="dialogue")
    assert len(conversations(KLAUS, stream_of(heard, told).live())) == 1


def test_observations_reflections_and_summaries_are_no_lines() -> None:
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
def test_every_line_is_in_one_conversation_and_none_could_be_joined(lines: list[tuple[int, tuple[str, str]]]) -> None:
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
    assert line(message("See you.", 600), WORLD.names)[:2] == ("Maria Lopez", "See you.")
    assert line(message("Klaus Mueller: See you.", 600), WORLD.names)[:2] == ("Klaus Mueller", "See you.")
    assert line(message("Note: bring snacks.", 600), WORLD.names)[:2] == ("Maria Lopez", "Note: bring snacks.")
    assert line(observation("Maria Lopez: the name on a door.", 600), {})[:2] == (
        "",
        "Maria Lopez: the name on a door.",
    )


def test_a_digest_keeps_who_when_names_numbers_and_promises() -> None:
    talk = [
        message("Hey! How are you?", 600),
        message("I will bring 20 red balloons to Hobbs Cafe at 4 pm.", 601, speaker=KLAUS, hearer=MARIA),
        message("Great. Isabella Rodriguez needs 12 chairs.", 602),
    ]
    text = digest(stream_of(*talk).live(), {**WORLD.names, "cafe": "Hobbs Cafe"})
    for kept in ("Klaus Mueller", "Maria Lopez", "Isabella Rodriguez", "20", "12", "4 pm", "Hobbs Cafe", "10:00 AM"):
        assert kept.casefold() in text.casefold()
    assert "How are you" not in text


def test_a_digest_is_never_empty() -> None:
    for text in ("?", "Hm?", "…", "Как дела?"):
        assert digest(stream_of(message(text, 600)).live(), WORLD.names).strip()
        assert digest(stream_of(observation(text, 600)).live(), {}).strip()
    assert digest([], {})
