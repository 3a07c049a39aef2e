"""The entries that pruning archives, and the summaries that replace them."""

from __future__ import annotations

import msgspec
import pytest

from cogitate.memory import typed_json
from cogitate.memory.effects import Append, Archive
from cogitate.memory.entry import MAX_TEXT, Entry
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.compaction import Cut, by_place, carry_out, choose, enforce_limits
from tests.unit.tasks.kind_cases import ISABELLA, KLAUS, MARIA, WORLD, appended, message, observation, stream_of

NOW = 20_000
SMALL = MemoryLimits(max_observations=20, max_reflections=4, max_plans=4)


def summary(minute: int, *evidence: int, text: str = "At cafe: 3 routine events occurred.", **fields: object) -> Entry:
    values = {"location": "cafe", "importance": 3, "source": "internal"} | fields
    return typed_json.convert(
        {"type": "summary", "text": text, "minute": minute, "evidence": evidence, **values}, Entry
    )


def plan(minute: int) -> Entry:
    return Entry(type="plan", text=f"Plan of {minute}.", minute=minute, valid_until=99_999)


def reflection(minute: int, importance: int = 3) -> Entry:
    return Entry(type="reflection", text=f"Maria kept promise {minute}.", minute=minute, importance=importance)


def test_the_numbers_of_a_cut_ascend() -> None:
    stream = stream_of(
        *(observation(f"Event {i}.", 100 - i, importance=2) for i in range(20)),
        *(reflection(100 - i) for i in range(5)),
        *(plan(100 - i) for i in range(6)),
        message("Bye.", 61),
        message("Hello.", 60),
    )
    cut = choose(KLAUS, stream.live(), SMALL, NOW)
    assert cut.reflections == (25,)
    assert cut.plans == (30, 31)
    assert cut.talks == ((32, 33),)
    assert list(cut.routine) == sorted(cut.routine)
    assert cut.numbers == tuple(sorted([*cut.routine, 25, 30, 31, 32, 33]))
    together = stream_of(*(reflection(100 - i) for i in range(9)))
    assert choose(KLAUS, together.live(), SMALL, NOW).reflections == (5, 6, 7, 8, 9)
    talks = stream_of(*(message("Hello.", minute) for minute in (900, 901, 10, 11)))
    assert choose(KLAUS, talks.live(), SMALL, NOW).talks == ((3, 4), (1, 2))
    plans = stream_of(*(plan(100 - i) for i in range(6)))
    assert enforce_limits(plans, SMALL, NOW) == (Archive(owner=KLAUS, numbers=(5, 6)),)


@pytest.mark.parametrize("policy", ["cells", "tokens"])
def test_under_another_policy_only_reflections_and_plans_are_pruned(policy: str) -> None:
    limits = msgspec.structs.replace(SMALL, policies={KLAUS: policy})
    entries = [observation(f"Event {i}.", i, importance=2) for i in range(30)]
    entries += [message("Hello.", 60), *map(reflection, range(5)), *map(plan, range(5))]
    cut = choose(KLAUS, stream_of(*entries).live(), limits, NOW)
    assert (cut.routine, cut.talks) == ((), ())
    assert (len(cut.reflections), len(cut.plans)) == (1, 1)


def test_plans_and_reflections_within_the_limit_are_left_alone() -> None:
    limits = msgspec.structs.replace(SMALL, max_reflections=20, max_plans=20)
    cut = choose(KLAUS, stream_of(*map(reflection, range(20)), *map(plan, range(20))).live(), limits, NOW)
    assert cut.numbers == ()


def test_routine_are_unimportant_observations_of_the_lowest_score_and_no_lines_of_talk() -> None:
    entries = [
        reflection(5, importance=1),
        *(message(f"Line {i}.", 10, importance=1) for i in range(5)),
        *(observation(f"Event {i}.", NOW - i, importance=3) for i in range(6)),
        *(observation(f"Tea {i}.", NOW - 5_000 - i, importance=1) for i in range(8)),
    ]
    cut = choose(KLAUS, stream_of(*entries).live(), SMALL, NOW)
    assert cut.routine == (16, 17, 18, 19, 20), "the oldest of the least important"


def test_a_talk_is_replaced_by_a_summary_of_its_highest_importance() -> None:
    talk = [message("I will sing on day 2 at 9 am.", 600, importance=2), message("Nice.", 601, importance=4)]
    stream = stream_of(*talk)
    append, archive = carry_out(KLAUS, Cut(talks=((1, 2),)), stream.live(), SMALL, WORLD.names, minute=NOW)
    assert isinstance(append, Append)
    assert (append.owner, append.entry.importance, append.entry.evidence) == (KLAUS, 4, (1, 2))
    assert append.entry.text.endswith('on day 1, 10:00 AM. Maria: "I will sing on day 2 at 9 am."')
    assert archive == Archive(owner=KLAUS, numbers=(1, 2), into_appended=True)
    assert carry_out(KLAUS, Cut(talks=((8, 9),)), stream.live(), SMALL, WORLD.names) == ()


def test_plans_beyond_the_limit_are_archived_into_nothing() -> None:
    stream = stream_of(*map(plan, range(3)))
    assert carry_out(KLAUS, Cut(plans=(1, 2)), stream.live(), SMALL, {}) == (Archive(owner=KLAUS, numbers=(1, 2)),)
    assert carry_out(KLAUS, Cut(plans=(8,)), stream.live(), SMALL, {}) == ()


def test_only_important_reflections_archive_nothing_else_and_keep_the_highest_importance() -> None:
    stream = stream_of(*(reflection(i, importance=6 + i) for i in range(3)))
    append, archive = carry_out(KLAUS, Cut(reflections=(1, 2, 3)), stream.live(), SMALL, WORLD.names)
    assert isinstance(append, Append)
    assert (append.entry.type, append.entry.importance) == ("reflection", 8)
    assert archive == Archive(owner=KLAUS, numbers=(1, 2, 3), into_appended=True)


def test_the_boundary_summarises_only_the_oldest_important_entries() -> None:
    entries = [
        *(observation(f"Maria lost ring {i}.", 200 - i, importance=7) for i in range(20)),
        observation("A leaf fell.", 2, importance=2),
        observation("A dog barked.", 1, importance=1),
        observation("Maria will sing on day 1 at 9 am.", 3, importance=9),
    ]
    effects = enforce_limits(stream_of(*entries), SMALL, NOW, WORLD.names)
    dropped, append, archive = effects
    assert dropped == Archive(owner=KLAUS, numbers=(21, 22))
    assert isinstance(append, Append)
    assert archive == Archive(owner=KLAUS, numbers=(19, 20, 23), into_appended=True)
    assert "was going to sing" in append.entry.text


def test_a_place_is_represented_by_its_most_telling_event() -> None:
    entries = stream_of(
        summary(1, 90, 91, 92, importance=5),
        observation("Saw a dog.", 2, location="cafe", importance=3),
        observation("Saw a big cat bite the old grey postman.", 3, location="cafe", importance=3),
    ).live()
    told = "Saw a big cat bite the old grey postman."
    assert by_place(entries, {}) == f"At cafe, 5 routine events occurred, among them: {told}"
    assert by_place(entries[1:2], {}) == "At cafe: Saw a dog."
    assert by_place(entries[:2], {}) == "At cafe: 3 routine events occurred.", "a summary may tell more"


def test_a_place_with_only_a_summary_keeps_it() -> None:
    entries = stream_of(summary(1, 90, 91, 92), observation("Read a page.", 2)).live()
    assert by_place(entries, {}) == "At cafe: 3 routine events occurred. At library: Read a page."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a" * 195 + " bcd.", "a" * 195 + " bcd."),
        ("a" * 190 + " bcdefg hi", "a" * 190 + " bcdefg hi."),
        ("a" * 190 + " bcdefg hi!", "a" * 190 + " bcdefg…"),
        ("a" * 190 + " bc, d e f g", "a" * 190 + " bc, d e…"),
        ("a" * 196 + " b, cd", "a" * 196 + " b…"),
    ],
)
def test_an_event_of_more_than_200_characters_ends_after_a_whole_word(text: str, told: str) -> None:
    assert by_place(stream_of(observation(text, 1, location="")).live(), {}) == f"Elsewhere: {told}"


@pytest.mark.parametrize(("beyond", "length"), [(0, 4_000), (1, 3_999), (2, 4_000), (3, 3_999), (4, 4_000)])
def test_a_summary_by_place_ends_after_the_last_whole_word_that_fits_an_entry(beyond: int, length: int) -> None:
    entries = [observation("x" * 99, i, location=f"place {i:02d}") for i in range(33)]
    whole, words = by_place(stream_of(*entries).live(), {}), "y " * 98 + "y!"
    end = "e" * (MAX_TEXT + beyond - len(f"{whole} At : {words}"))
    text = by_place(stream_of(*entries, observation(words, 99, location=end)).live(), {})
    told = f"{whole} At {end}: {words}"
    assert len(told) == MAX_TEXT + beyond
    assert len(text) == length
    assert text == told if not beyond else told.startswith(text.removesuffix(" y…"))


def test_a_summary_names_each_participant_once() -> None:
    stream = stream_of(message("Hi.", 1), message("Ho.", 2, speaker=ISABELLA), message("Hm.", 3))
    (told,) = appended(carry_out(KLAUS, Cut(talks=((1, 2, 3),)), stream.live(), SMALL, WORLD.names))
    assert told.subjects == (MARIA, KLAUS, ISABELLA)
