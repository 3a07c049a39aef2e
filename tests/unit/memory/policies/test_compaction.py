"""The limits hold after the boundary, whatever the stream contains, and nothing important is lost unsummarised."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogitate.memory.apply import apply, unmet
from cogitate.memory.effects import Append, Archive
from cogitate.memory.entry import MAX_TEXT, Entry, rating
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.compaction import (
    MOST_SUBJECTS,
    by_place,
    carry_out,
    choose,
    deserves_summary,
    enforce_limits,
    keeping_score,
    summary_entry,
)
from cogitate.memory.stream import Stream
from tests.unit.tasks.kind_cases import KLAUS, MARIA, WORLD, message, observation, stream_of

NOW = 5_000

entry = st.builds(
    Entry,
    type=st.sampled_from(["observation", "message", "reflection", "plan", "summary"]),
    text=st.text(min_size=1, max_size=60),
    minute=st.integers(0, NOW + 100),
    importance=st.integers(0, 10),
    location=st.sampled_from(["", "cafe", "library"]),
    subjects=st.sampled_from([(), (KLAUS,), (KLAUS, MARIA)]),
    source=st.sampled_from(["perception", "dialogue", "internal"]),
    valid_until=st.integers(0, NOW + 1440),
)
limits = st.builds(
    MemoryLimits,
    max_observations=st.integers(1, 25),
    max_reflections=st.integers(1, 6),
    max_plans=st.integers(1, 4),
    importance_threshold=st.integers(1, 10),
)


def lost(stream: Stream, threshold: int) -> list[Entry]:
    """Important observations and reflections that were archived into nothing."""
    return [
        stream.entries[number]
        for number, record in stream.archived.items()
        if not record.into and stream.entries[number].type != "plan" and rating(stream.entries[number]) >= threshold
    ]


def within(stream: Stream, limits: MemoryLimits) -> bool:
    return (
        stream.observed() <= limits.max_observations
        and stream.count("reflection") <= limits.max_reflections
        and stream.count("plan") <= limits.max_plans
    )


@given(st.lists(entry, max_size=45), limits)
@settings(max_examples=150, deadline=None)
def test_limits_hold_after_the_boundary_and_nothing_important_is_lost(
    entries: Sequence[Entry], limits: MemoryLimits
) -> None:
    stream = stream_of(*entries)
    fitted = within(stream, limits)
    newest = {t: stream.latest(t) for t in ("reflection", "plan")}
    effects = enforce_limits(stream, limits, NOW)
    assert bool(effects) is not fitted
    assert unmet({KLAUS: stream}, effects) is None
    apply({KLAUS: stream}, effects, 2)
    assert within(stream, limits)
    assert not lost(stream, limits.importance_threshold)
    assert enforce_limits(stream, limits, NOW) == ()
    assert all(len(e.text) <= MAX_TEXT and e.text for e in stream.live())
    for effect in effects:
        if isinstance(effect, Append):
            assert effect.entry.number == effect.entry.tick == 0
            assert not effect.entry.provisional
    assert newest["plan"] is None or stream.count("plan") >= 1


@given(st.lists(st.lists(entry, max_size=12), max_size=6), limits)
@settings(max_examples=60, deadline=None)
def test_limits_hold_over_many_boundaries_with_pruning_in_between(
    batches: Sequence[Sequence[Entry]], limits: MemoryLimits
) -> None:
    stream = stream_of()
    for tick, batch in enumerate(batches, start=1):
        for item in batch:
            stream.append(item, tick)
        cut = choose(KLAUS, stream.live(), limits, NOW)
        effects = carry_out(KLAUS, cut, stream.live(), limits, WORLD.names)
        assert unmet({KLAUS: stream}, effects) is None
        apply({KLAUS: stream}, effects, tick)
        apply({KLAUS: stream}, enforce_limits(stream, limits, NOW), tick)
        assert within(stream, limits)
    assert not lost(stream, limits.importance_threshold)


def test_it_cuts_a_little_below_the_limit_so_that_it_does_not_run_every_tick() -> None:
    stream = stream_of(*(observation(f"Saw tree {i}.", i) for i in range(201)))
    apply({KLAUS: stream}, enforce_limits(stream, MemoryLimits(), NOW), 2)
    assert stream.observed() == 190
    for i in range(10):
        stream.append(observation(f"Saw bush {i}.", NOW), 3)
        assert enforce_limits(stream, MemoryLimits(), NOW) == ()


def test_unimportant_entries_of_the_lowest_score_go_first() -> None:
    entries = [observation(f"Event {i}.", NOW - 40 * i, importance=2 + i % 3) for i in range(201)]
    stream = stream_of(*entries)
    (effect,) = enforce_limits(stream, MemoryLimits(), NOW)
    assert isinstance(effect, Archive)
    scores = {e.number: keeping_score(e, NOW) for e in stream.live()}
    kept = set(scores) - set(effect.numbers)
    assert max(scores[n] for n in effect.numbers) <= min(scores[n] for n in kept)


def test_where_all_are_important_the_oldest_are_summarised_into_one() -> None:
    entries = [observation(f"Maria promised Klaus {i} red chairs.", i, importance=5 + i % 5) for i in range(201)]
    stream = stream_of(*entries)
    append, archive = enforce_limits(stream, MemoryLimits(), NOW, WORLD.names)
    assert isinstance(append, Append)
    assert isinstance(archive, Archive)
    assert append.entry.type == "summary"
    assert append.entry.importance == 9
    assert append.entry.evidence == archive.numbers == tuple(range(1, 13))
    assert (append.entry.since_minute, append.entry.since_number, append.entry.minute) == (0, 12, 11)
    assert "Maria" in append.entry.text
    apply({KLAUS: stream}, (append, archive), 2)
    assert {record.into for record in stream.archived.values()} == {202}


def test_reflections_beyond_the_limit_leave_one_in_their_place() -> None:
    stream = stream_of(
        *(Entry(type="reflection", text=f"Maria keeps promise {i}.", minute=i, importance=7) for i in range(51))
    )
    apply({KLAUS: stream}, enforce_limits(stream, MemoryLimits(), NOW), 2)
    assert stream.count("reflection") == 48
    merged = stream.latest("reflection")
    assert merged is not None
    assert merged.evidence == (1, 2, 3, 4)


def test_the_newest_seven_plans_are_kept() -> None:
    plans = [Entry(type="plan", text=f"Plan {i}.", minute=i * 1440, valid_until=(i + 1) * 1440) for i in range(9)]
    stream = stream_of(*plans)
    apply({KLAUS: stream}, enforce_limits(stream, MemoryLimits(), NOW), 2)
    assert [e.text for e in stream.live("plan")] == [f"Plan {i}." for i in range(2, 9)]


def test_the_keeping_score_is_the_specified_one() -> None:
    assert keeping_score(observation("x", NOW, importance=4), NOW) == pytest.approx(0.7 * 4 + 3)
    assert keeping_score(observation("x", NOW - 360, importance=10), NOW) == pytest.approx(7 + 1.5)
    assert keeping_score(observation("x", NOW + 9, importance=0), NOW) == pytest.approx(0.7 * 3 + 3)


def test_routine_events_are_grouped_by_place() -> None:
    entries = stream_of(
        observation("Saw a dog.", 1, location="cafe", importance=2),
        observation("Read a page.", 2),
        observation("Saw a cat.", 3, location="cafe", importance=3),
    ).live()
    text = by_place(entries, {"cafe": "Hobbs Cafe"})
    assert text == "At Hobbs Cafe, 2 routine events occurred, among them: Saw a cat. At library: Read a page."
    told = by_place(entries, {"cafe": "Hobbs Cafe", KLAUS: "Klaus Mueller"}, KLAUS)
    assert told == (
        "At Hobbs Cafe, 2 routine events occurred, among them: Klaus Mueller saw a cat. At library: Read a page."
    )


def test_a_place_is_represented_by_its_event_outside_the_routine() -> None:
    seen = ["Ground six sacks.", "Ground six sacks.", "The miller's boy says the axle cracked.", "Ground six sacks."]
    entries = stream_of(*(observation(text, at, location="mill") for at, text in enumerate(seen))).live()
    told = by_place(entries, {"mill": "mill"})
    assert told == "At mill, 4 routine events occurred, among them: The miller's boy says the axle cracked."
    summary = Entry(type="summary", text=told, minute=9, location="mill", importance=3, evidence=(1, 2, 3, 4), number=9)
    again = [summary, *stream_of(*(observation(seen[0], at, location="mill") for at in range(20, 26))).live()]
    assert "axle" in by_place(again, {"mill": "mill"}), "it outlasts further routine"


def test_a_name_in_another_script_leaves_a_routine_event_english() -> None:
    saw = observation("Saw Анна Ковальская walking by.", 1, location="cafe", subjects=(KLAUS, MARIA))
    names = {KLAUS: "Klaus", MARIA: "Анна Ковальская", "cafe": "Hobbs Cafe"}
    assert by_place(stream_of(saw).live(), names, KLAUS) == "At Hobbs Cafe: Klaus saw Анна Ковальская walking by."


def test_an_arrival_represents_a_place_only_alone_and_a_place_is_named_once() -> None:
    saw = observation("Saw Maria engaged in an activity: cooking.", 1, location="cafe")
    arrived = observation("Arrived at Hobbs Cafe.", 2, location="cafe")
    names = {"cafe": "Hobbs Cafe", KLAUS: "Klaus"}
    assert by_place(stream_of(saw, arrived).live(), names, KLAUS) == (
        "At Hobbs Cafe, 2 routine events occurred, among them: Klaus saw Maria cooking."
    )
    assert by_place(stream_of(arrived).live(), names, KLAUS) == "Klaus arrived at Hobbs Cafe."


def test_a_long_routine_event_is_cut_after_a_whole_sentence_if_one_fits() -> None:
    told = by_place(stream_of(observation("The bell rang. " * 12 + "word " * 60, 1, location="")).live(), {})
    assert told == "Elsewhere: " + " ".join(["The bell rang."] * 12)


def test_routine_events_end_with_one_mark() -> None:
    entries = stream_of(
        observation("The bell rang!", 1, location="cafe"),
        observation("The shelf is\nfull...", 2),
        observation("word " * 60, 3, location=""),
    ).live()
    told = by_place(entries, {})
    assert told.startswith("At cafe: The bell rang! At library: The shelf is full. Elsewhere: word word")
    assert told.endswith("word…")


def test_entries_of_open_jobs_are_not_chosen() -> None:
    entries = [observation(f"Event {i}.", i, importance=2) for i in range(195)]
    entries += [message("Hello.", 10), message("Bye.", 11)]
    stream = stream_of(*entries)
    everything = choose(KLAUS, stream.live(), MemoryLimits(), NOW)
    assert everything.talks == ((196, 197),)
    busy = {1, 2, 3, 196, 197}
    cut = choose(KLAUS, stream.live(), MemoryLimits(), NOW, busy)
    assert cut.talks == ()
    assert not busy & set(cut.numbers)
    assert len(cut.numbers) == len(set(cut.numbers))


def test_a_summary_keeps_the_common_fields_of_its_entries() -> None:
    group = stream_of(
        message("One.", 5, tags=("bridge", "storm"), quest_id="q1", encounter_id="a"),
        message("Two.", 9, speaker=KLAUS, hearer=MARIA, tags=("storm", "mill"), quest_id="q1", encounter_id="b"),
    ).live()
    summary = summary_entry(group, "Said.", 4)
    assert summary.tags == ("bridge", "storm", "mill")
    assert (summary.quest_id, summary.encounter_id) == ("q1", "")
    assert summary.subjects == (MARIA, KLAUS)
    assert (summary.minute, summary.since_minute, summary.since_number, summary.source) == (9, 5, 2, "dialogue")
    again = summary_entry([summary, *group], "Said again.", 4)
    assert (again.since_minute, again.source) == (5, "internal")
    whole = summary_entry([summary], "S", 3)
    assert (whole.minute, whole.since_minute) == (9, 5), "it covers what the summary covered"


def test_a_summary_of_a_crowd_names_those_of_most_of_its_entries() -> None:
    crowd = [f"agent:{i}" for i in range(MOST_SUBJECTS)]
    seen = [observation(f"Saw {other}.", minute, subjects=(KLAUS, other)) for minute, other in enumerate(crowd)]
    often = [observation(f"Maria did {minute}.", minute, subjects=(KLAUS, MARIA)) for minute in (90, 91)]
    summary = summary_entry(stream_of(*seen, *often).live(), "Many were there.", 3)
    assert summary.subjects == (KLAUS, *crowd[: MOST_SUBJECTS - 2], MARIA)


def reflection(number: int, importance: int) -> Entry:
    return Entry(type="reflection", text=f"Maria keeps promise {number}.", minute=number, importance=importance)


def test_a_reflection_exactly_at_the_threshold_is_summarised() -> None:
    """Reflections at the threshold are merged into one; those below it leave no summary."""
    stream = stream_of(*(reflection(i, 5 - i % 2) for i in range(51)))
    surplus = [number for number, entry in stream.entries.items() if entry.minute < 4]
    apply({KLAUS: stream}, enforce_limits(stream, MemoryLimits(importance_threshold=5), NOW), 2)
    assert {number: bool(stream.archived[number].into) for number in surplus} == {1: True, 2: False, 3: True, 4: False}
    merged = stream.latest("reflection")
    assert merged is not None
    assert (merged.importance, merged.evidence, stream.count("reflection")) == (5, (1, 3), 48)


def test_reflections_below_the_threshold_leave_nothing_in_their_place() -> None:
    stream = stream_of(*(reflection(i, 4) for i in range(51)))
    apply({KLAUS: stream}, enforce_limits(stream, MemoryLimits(importance_threshold=5), NOW), 2)
    assert sorted(stream.archived) == [1, 2, 3]
    assert (stream.count("reflection"), len(stream.entries)) == (48, 51)


def test_exactly_the_limit_is_kept_and_one_more_is_cut() -> None:
    limits = MemoryLimits(max_observations=20, max_reflections=20, max_plans=20)
    kinds = (
        [observation(f"Event {i}.", i) for i in range(21)],
        [reflection(i, 3) for i in range(21)],
        [Entry(type="plan", text=f"Plan {i}.", minute=i, valid_until=9_999) for i in range(21)],
    )
    for entries in kinds:
        assert enforce_limits(stream_of(*entries[:20]), limits, NOW) == ()
        (archive,) = enforce_limits(stream_of(*entries), limits, NOW)
        assert isinstance(archive, Archive)
        assert len(archive.numbers) == 2, "one in twenty below the limit"
        assert archive.owner == KLAUS
        assert (archive.into_appended, archive.into_summary) == (False, False)


def test_an_observation_of_exactly_the_threshold_is_never_dropped() -> None:
    entries = [observation(f"Event {i}.", i, importance=5 if i < 20 else 4) for i in range(21)]
    stream = stream_of(*entries)
    apply({KLAUS: stream}, enforce_limits(stream, MemoryLimits(max_observations=20, importance_threshold=5), NOW), 2)
    assert {number: bool(record.into) for number, record in stream.archived.items()} == {21: False, 1: True, 2: True}
    assert stream.observed() == 19


def test_pruning_starts_at_85_percent_and_aims_at_75() -> None:
    limits = MemoryLimits(max_observations=100, importance_threshold=5)

    def routine(count: int, importance: int = 2) -> int:
        entries = stream_of(*(observation(f"Event {i}.", i, importance=importance) for i in range(count))).live()
        return len(choose(KLAUS, entries, limits, NOW).routine)

    assert [routine(count) for count in (84, 85, 86)] == [0, 11, 12]
    assert [routine(85, importance) for importance in (4, 5, 6)] == [11, 0, 0]


@pytest.mark.parametrize(("spare", "taken"), [(2, 0), (3, 3), (4, 4)])
def test_a_summary_of_fewer_than_three_routine_entries_saves_nothing(spare: int, taken: int) -> None:
    important = [observation(f"Event {i}.", i, importance=9) for i in range(90)]
    routine = [observation(f"Tea {i}.", i, importance=2) for i in range(spare)]
    cut = choose(KLAUS, stream_of(*important, *routine).live(), MemoryLimits(max_observations=100), NOW)
    assert len(cut.routine) == taken


def test_summaries_of_routine_entries_are_mundane() -> None:
    entries = stream_of(*(observation(f"Event {i}.", i, importance=1 + i % 4) for i in range(85))).live()
    limits = MemoryLimits(max_observations=100, importance_threshold=5)
    append, _ = carry_out(KLAUS, choose(KLAUS, entries, limits, NOW), entries, limits, WORLD.names)
    assert isinstance(append, Append)
    assert (append.entry.type, append.entry.importance) == ("summary", 3)


@pytest.mark.parametrize(
    ("size", "importance", "worth"),
    [(4, 9, False), (5, 5.9, False), (5, 6, True), (9, 5, False), (10, 1, True)],
)
def test_a_conversation_is_worth_a_model_if_long_enough_and_very_long_or_valuable(
    size: int, importance: float, worth: bool
) -> None:
    assert deserves_summary(size, importance, MemoryLimits(summary_threshold=5)) is worth


@pytest.mark.parametrize(("age", "settled"), [(36 * 60 - 1, False), (36 * 60, True)])
def test_a_conversation_is_settled_after_a_day_and_a_half(age: int, settled: bool) -> None:
    talk = [message("Hello.", NOW - age), message("Bye.", NOW - age + 1)]
    cut = choose(KLAUS, stream_of(*talk).live(), MemoryLimits(), NOW)
    assert cut.talks == (((1, 2),) if settled else ())


def test_each_talk_has_its_own_summary() -> None:
    talks = [message("Hello.", minute) for minute in (10, 11, 900, 1_500, 1_501)]
    cut = choose(KLAUS, stream_of(*talks).live(), MemoryLimits(), 9_999)
    assert cut.talks == ((1, 2), (3,), (4, 5))


def test_boundary_summaries_name_the_speakers() -> None:
    talk = [message(f"I promise {i} chairs.", i, importance=8) for i in range(21)]
    effects = enforce_limits(stream_of(*talk), MemoryLimits(max_observations=20), NOW, {MARIA: "Maria Lopez"})
    (told,) = [effect.entry.text for effect in effects if isinstance(effect, Append)]
    assert "Maria Lopez" in told
    assert MARIA not in told


def test_an_unrated_entry_counts_as_ordinary() -> None:
    assert [rating(observation("Tea.", 1, importance=importance)) for importance in (0, 1, 10)] == [3, 1, 10]


def test_an_overtaken_cut_takes_the_remaining_entries() -> None:
    entries = [observation(f"Tea {i}.", i, importance=2) for i in range(86)] + [
        message("Hello.", 1),
        message("Bye.", 2),
    ]
    stream = stream_of(*entries, *(reflection(i, 7) for i in range(51)))
    cut = choose(KLAUS, stream.live(), MemoryLimits(max_observations=100), NOW)
    assert cut.talks
    assert cut.reflections
    gone = {*cut.talks[0], *cut.routine[1:], *cut.reflections[2:]}
    effects = carry_out(KLAUS, cut, [e for e in stream.live() if e.number not in gone], MemoryLimits(), WORLD.names)
    archived = [number for effect in effects if isinstance(effect, Archive) for number in effect.numbers]
    assert sorted(archived) == [cut.routine[0], *cut.reflections[:2]]
