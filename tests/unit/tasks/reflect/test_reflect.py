"""Reflection: its cadence, its three strengths, its evidence and what it tells the world."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from cogitate.memory.apply import apply
from cogitate.memory.effects import MarkAccessed, SetCounter, Tell
from cogitate.memory.entry import Entry
from cogitate.memory.limits import Cause, MemoryLimits
from cogitate.memory.routing.repeats import count_repeat
from cogitate.memory.stream import Stream
from cogitate.prompts.answers import ReflectionAnswer
from cogitate.prompts.render import Templates
from cogitate.tasks.heuristics.insight import QUIET
from cogitate.tasks.job import Request
from cogitate.tasks.kind import WorldFacts
from cogitate.tasks.reflect import EARLIER, Reflect, person_meant
from cogitate.tasks.summarise import Summarise
from tests.unit.tasks.kind_cases import (
    ISABELLA,
    KLAUS,
    MARIA,
    WORLD,
    appended,
    case_of,
    message,
    moment_of,
    observation,
    stream_of,
)

KIND = Reflect(Templates())
MORNING = 360


def day(count: int = 30, start: int = 420, owner: str = KLAUS) -> Stream:
    return stream_of(*(observation(f"Read page {i}.", start + i, subjects=(owner,)) for i in range(count)), owner=owner)


def reflecting(trigger: Cause, maximum: int) -> WorldFacts:
    limits = MemoryLimits(reflection_trigger=trigger, reflection_trigger_max=maximum)
    return replace(WORLD, limits=limits)


def reflected(stream: Stream, world: WorldFacts = WORLD, until: int = 3 * 1440, new: int = 3) -> list[int]:
    """The minutes at which the owner reflects, with some new observations every hour of the day."""
    minutes = []
    for minute in range(MORNING, until):
        if minute % 60 == 0 and 420 <= minute % 1440 < 1320:
            for i in range(new):
                stream.append(observation(f"Event {minute}/{i}.", minute), minute)
        for request in KIND.due(moment_of(stream, minute, world=world)):
            minutes.append(minute)
            apply({stream.owner: stream}, KIND.heuristic(case_of(KIND, stream, minute, request=request)), minute)
    return minutes


def test_about_twice_a_day_and_the_first_after_half_a_day() -> None:
    minutes = reflected(stream_of())
    assert MORNING + 720 <= minutes[0] < MORNING + 720 + 60 + 120
    assert 3 <= len(minutes) <= 6
    assert all(b - a >= 720 for a, b in itertools.pairwise(minutes))


def test_agents_do_not_all_reflect_in_one_tick() -> None:
    firsts = []
    for i in range(40):
        stream = day(owner=f"agent:{i}")
        firsts.append(next(m for m in range(MORNING, 2880) if list(KIND.due(moment_of(stream, m)))))
    assert len(set(firsts)) > 20
    assert max(firsts) < MORNING + 60 + 720 + 120
    repeated = [m for m in range(MORNING, 2880) if list(KIND.due(moment_of(day(owner="agent:0"), m)))]
    assert repeated[0] == firsts[0]


def test_waking_at_the_ticks_it_names_misses_no_due_time() -> None:
    for stream in (day(), day(1)):
        minute = 700
        while not list(KIND.due(moment_of(stream, minute))):
            wake = KIND.wake(moment_of(stream, minute))
            assert wake is not None
            assert wake > minute
            minute = wake
        assert minute == next(m for m in range(700, 4000) if list(KIND.due(moment_of(stream, m))))


def test_by_importance_an_agent_reflects_when_enough_has_happened() -> None:
    world = reflecting("importance", 30)
    stream = stream_of()
    counter, expected, actual = 30, [], []
    for minute in range(600, 900):
        importance = 1 + (minute * 7) % 10
        stream.append(observation(f"Event {minute}.", minute, importance=importance), minute)
        counter -= importance
        if counter <= 0:
            counter = 30
            expected.append(minute)
        for request in KIND.due(moment_of(stream, minute, world=world)):
            actual.append(minute)
            apply({KLAUS: stream}, KIND.heuristic(case_of(KIND, stream, minute, request=request)), minute)
    assert actual == expected
    assert len(expected) > 10


def test_by_interval_it_does_not_matter_how_much_has_happened() -> None:
    stream = stream_of(*(observation(f"Event {minute}.", minute, importance=9) for minute in range(600, 620)))
    asked = [list(KIND.due(moment_of(stream, 620, world=reflecting(by, 30)))) for by in ("importance", "interval")]
    assert [bool(requests) for requests in asked] == [True, False]


def test_either_condition_triggers_whichever_comes_first() -> None:
    assert reflected(stream_of(), reflecting("either", 10_000)) == reflected(stream_of())
    assert len(reflected(stream_of(), reflecting("either", 20))) > len(reflected(stream_of()))


def test_repeats_count_for_the_trigger_and_are_told() -> None:
    world = reflecting("importance", 30)
    stream = stream_of(*(observation(f"Read page {i}.", 600 + i, importance=2) for i in range(5)))
    for minute in range(610, 616):
        assert not list(KIND.due(moment_of(stream, minute, world=world)))
        count_repeat(stream, 2, minute, importance=3)
    assert not list(KIND.due(moment_of(stream, 616, world=world)))
    count_repeat(stream, 4, 616, importance=2)
    (request,) = KIND.due(moment_of(stream, 617, world=world))
    assert request.params["repeats"] == {"2": 6, "4": 1}
    count_repeat(stream, 2, 618, importance=3)  # after the request: for the next
    effects = KIND.heuristic(case_of(KIND, stream, 620, request=request))
    assert "Read page 1." in appended(effects)[0].text, "what recurs weighs more"
    apply({KLAUS: stream}, effects, 627)
    assert stream.head.counters["repeated"] - stream.head.counters["reflect.repeated"] == 3
    assert not list(KIND.due(moment_of(stream, 628, world=world)))


@pytest.mark.parametrize(("importance", "told"), [(8, True), (2, False)])
def test_what_matters_and_is_repeated_after_a_reflection_makes_no_quiet_period(importance: int, told: bool) -> None:
    stream = stream_of(*(observation(f"The well in yard {n} is dry.", 600 + n, importance=importance) for n in (1, 2)))
    apply({KLAUS: stream}, (SetCounter(KLAUS, "reflect.number", 2), SetCounter(KLAUS, "reflect.minute", 640)), 640)
    count_repeat(stream, 1, 640, importance=importance)  # before that reflection was requested
    count_repeat(stream, 2, 700, importance=importance)
    minute = 640 + 2 * WORLD.limits.reflection_interval
    (request,) = KIND.due(moment_of(stream, minute))
    assert request.params.get("again") == ([2] if told else None)
    case = case_of(KIND, stream, minute, request=request)
    (entry,) = appended(KIND.heuristic(case))
    assert (entry.text == QUIET, "yard 2" in entry.text, "yard 1" in entry.text) == (not told, told, False)
    assert ("yard 2" in KIND.prompt(case).user) == told


@pytest.mark.parametrize(("new", "later"), [(0, 720), (2, 720), (3, 0), (4, 0)])
def test_with_fewer_than_three_observations_it_waits_for_a_second_interval_to_be_over(new: int, later: int) -> None:
    stream = stream_of(observation("Old.", 300), *(observation(f"New {i}.", 500) for i in range(new)))
    stream.head.counters |= {"reflect.minute": 400, "reflect.number": 1}
    asked = [minute for minute in range(400, 2_000) if list(KIND.due(moment_of(stream, minute)))]
    assert asked[0] == 400 + 720 + later
    assert asked == list(range(asked[0], 2_000)), "until it has reflected"
    wakes = [KIND.wake(moment_of(stream, minute)) for minute in (400, 1_119, 1_120, 1_839, 1_840)]
    assert wakes == [1_120, 1_120, 1_840, 1_840, None]


def test_only_observations_end_the_wait() -> None:
    thought = [Entry(type="reflection", text=f"Thought {i}.", minute=500) for i in range(3)]
    stream = stream_of(observation("Old.", 300), *thought, message("Hi.", 500), observation("Tea.", 500))
    stream.head.counters |= {"reflect.minute": 400, "reflect.number": 1}
    assert not list(KIND.due(moment_of(stream, 1_839)))
    stream.append(message("Ho.", 501), 501)
    assert list(KIND.due(moment_of(stream, 1_120)))


@pytest.mark.parametrize(
    ("trigger", "minute", "heeds"),
    [("interval", 1_119, False), ("interval", 1_120, True), ("importance", 500, True), ("either", 500, True)],
)
def test_it_heeds_observations_after_the_interval_or_with_an_importance_trigger(
    trigger: Cause, minute: int, heeds: bool
) -> None:
    stream = stream_of(observation("Old.", 300))
    stream.head.counters["reflect.minute"] = 400
    assert KIND.heeds(observation("Tea.", minute), stream, reflecting(trigger, 30), minute) is heeds
    assert KIND.heeds(observation("Tea.", minute), stream_of(), reflecting(trigger, 30), minute)


def test_the_prompt_shows_recent_reflections_without_quiet_or_replaced_ones() -> None:
    thoughts = [Entry(type="reflection", text=f"Thought {i}.", minute=500 + i) for i in range(EARLIER + 2)]
    quiet = Entry(type="reflection", text=QUIET, minute=600)
    stream = stream_of(*thoughts, quiet, observation("Tea.", 700))
    shown = KIND.prompt(case_of(KIND, stream, 800)).user
    assert [i for i in range(EARLIER + 2) if f"Thought {i}." in shown] == list(range(2, EARLIER + 2))
    assert QUIET not in shown
    again = KIND.prompt(case_of(KIND, stream, 800, params={"replaces": EARLIER + 2})).user
    assert [i for i in range(EARLIER + 2) if f"Thought {i}." in again] == list(range(1, EARLIER + 1))


def test_places_do_not_reflect() -> None:
    assert not any(list(KIND.due(moment_of(day(owner="location:cafe"), m))) for m in range(360, 3000, 10))
    assert KIND.wake(moment_of(day(owner="location:cafe"), 600)) is None


def test_the_twenty_most_important_observations_since_the_last_reflection() -> None:
    stream = stream_of(
        *(observation(f"Old {i}.", 400 + i, importance=10) for i in range(5)),
        *(observation(f"New {i}.", 500 + i, importance=1 + i % 9) for i in range(40)),
        Entry(type="reflection", text="Insight.", minute=560, importance=9),
    )
    prompt = KIND.prompt(case_of(KIND, stream, 700, params={"since": 5}))
    assert len(prompt.used) == 20
    assert all(stream.entries[n].text.startswith("New") for n in prompt.used)
    least = min(stream.entries[n].importance for n in prompt.used)
    assert all(e.importance <= least for e in stream.live("observation")[5:] if e.number not in prompt.used)
    _, _, memories = prompt.user.partition("<memories>")
    shown = [line for line in memories.split("\n") if line.startswith("- [")]
    assert [stream.entries[n].text for n in sorted(prompt.used)] == [line.partition("] ")[2] for line in shown]


def answer(**fields: object) -> ReflectionAnswer:
    values = {"insight": "Maria and I work well together.", "significance": 3, "relationship_changes": []} | fields
    return ReflectionAnswer.model_validate(values)


def test_a_models_insight_counts_at_least_seven() -> None:
    stream = day(10)
    case = case_of(KIND, stream, 1200)
    used = KIND.prompt(case).used
    (modest,) = appended(KIND.effects(case, answer(), used))
    (grand,) = appended(KIND.effects(case, answer(significance=9), used))
    assert (modest.importance, grand.importance) == (7, 9)
    assert modest.evidence == used == tuple(range(1, 11))
    assert modest.minute == 1200
    assert MarkAccessed(owner=KLAUS, numbers=used, minute=1200) in KIND.effects(case, answer(), used)


def test_an_insight_is_about_persons_in_the_shown_entries() -> None:
    stream = stream_of(
        observation("Maria sang.", 600, subjects=(KLAUS, MARIA)),
        observation("Isabella cooked.", 610, subjects=(KLAUS, "agent:isabella")),
        observation("Klaus read.", 620),
    )
    (insight,) = appended(KIND.effects(case_of(KIND, stream, 1200), answer(), (1, 3)))
    assert (insight.subjects, insight.evidence) == ((KLAUS, MARIA), (1, 3))


def test_the_next_reflection_starts_where_this_one_stopped() -> None:
    stream = day(10)
    effects = KIND.heuristic(case_of(KIND, stream, 1200))
    assert SetCounter(owner=KLAUS, name="reflect.minute", value=1200) in effects
    assert SetCounter(owner=KLAUS, name="reflect.number", value=10) in effects


def test_relationship_changes_are_told_once_for_each_person() -> None:
    changes = [
        {"agent_id": "Maria Lopez", "change": 2, "reason": "helped"},
        {"agent_id": MARIA, "change": -1, "reason": "said twice"},
        {"agent_id": ISABELLA, "change": 0, "reason": "nothing"},
        {"agent_id": KLAUS, "change": 1, "reason": "self"},
    ]
    effects = KIND.effects(case_of(KIND, day(), 1200), answer(relationship_changes=changes), (1, 2, 3))
    told = [e for e in effects if isinstance(e, Tell)]
    assert told == [Tell(owner=KLAUS, topic="relationship", data={"agent": MARIA, "change": 2, "reason": "helped"})]


@pytest.mark.parametrize(
    "insight",
    ["this is blank", "Ok.", "This is blank.", "1,5:50 AM (12:53 PM) 1", "maria-lopez: 12:23 PM", "100% 75% 8"],
)
def test_an_empty_insight_is_refused(insight: str) -> None:
    with pytest.raises(ValueError, match="says nothing"):
        KIND.effects(case_of(KIND, day(), 1200), answer(insight=insight), (1,))


def test_little_to_reflect_on_gives_a_minimal_reflection() -> None:
    (entry,) = appended(KIND.heuristic(case_of(KIND, day(2), 1200)))
    assert (entry.importance, entry.evidence, entry.text) == (4, (), QUIET)


def test_the_heuristic_tells_important_events_and_a_promise_with_evidence() -> None:
    stream = stream_of(
        *(observation(f"Read page {i}.", 400 + i, importance=2, subjects=(KLAUS, ISABELLA)) for i in range(5)),
        message("I promise to lend you 3 books on Friday.", 600, importance=5),
        *(observation("Saw the library door closed.", 700 + i, importance=2) for i in range(4)),
        observation("The bridge collapsed in the storm.", 800, importance=9, location="bridge"),
    )
    (entry,) = appended(KIND.heuristic(case_of(KIND, stream, 1200, params={"since": 5})))
    assert entry.importance == 6
    assert entry.text == (
        'The bridge collapsed in the storm. Maria Lopez told Klaus Mueller: "I promise to lend you 3 books on Friday."'
    )
    assert entry.evidence == (6, 11)


def test_an_agent_without_earlier_memories_claims_no_first_meeting_with_friends() -> None:
    stream = stream_of(
        Entry(type="plan", text="Plan.", minute=360, valid_until=1800, subjects=(KLAUS,)),
        *(message(f"Line {i}.", 600 + i) for i in range(5)),
    )
    (entry,) = appended(KIND.heuristic(case_of(KIND, stream, 1200)))
    assert "first time" not in entry.text
    assert "Maria Lopez" in entry.text


def test_a_quotation_keeps_its_meaning_on_a_later_day() -> None:
    stream = stream_of(
        message("Come to my party tomorrow at 5 pm! Will you come?", 600, importance=8),
        *(observation(f"Read page {i}.", 700 + i) for i in range(3)),
    )
    (entry,) = appended(KIND.heuristic(case_of(KIND, stream, 1200)))
    assert 'Maria Lopez told Klaus Mueller: "Come to my party tomorrow at 5 pm!"' in entry.text


def test_an_insight_calls_its_owner_as_the_notes_do() -> None:
    stream = stream_of(
        message("I will bring the red chairs to the party.", 600, speaker=KLAUS, hearer=MARIA),
        message("The mayor is ill and the party is off.", 601, importance=9),
        *(observation("Saw Maria Lopez engaged in an activity: reading.", 700 + i) for i in range(3)),
        observation("Klaus Mueller is asking his neighbours to join him at his stall.", 710, importance=8),
    )
    (entry,) = appended(KIND.heuristic(case_of(KIND, stream, 1200)))
    assert 'Maria Lopez told Klaus Mueller: "The mayor is ill and the party is off."' in entry.text
    assert "Klaus Mueller was asking his neighbours to join him at his stall." in entry.text


def test_an_uneventful_period_is_told_by_its_topics_and_claims_no_meeting() -> None:
    entries = [observation(f"Read page {i}.", 400 + i, subjects=(KLAUS, MARIA)) for i in range(2)]
    (entry,) = appended(KIND.heuristic(case_of(KIND, stream_of(*entries, observation("Read on.", 500)), 1200)))
    assert entry.text == "Read page 0."
    assert (entry.importance, entry.evidence) == (6, (1,))


def summarised(stream: Stream, numbers: tuple[int, ...], minute: int) -> None:
    """Summarise these entries by heuristic, as a host may request it."""
    kind = Summarise(Templates())
    request = Request(kind="summarise", owner=stream.owner, numbers=numbers)
    apply({stream.owner: stream}, kind.heuristic(case_of(kind, stream, minute, request=request)), minute)


@pytest.mark.parametrize("make", [observation, message])
def test_a_summary_counts_as_its_entries(make: Callable[..., Entry]) -> None:
    stream = stream_of(*(make("The oven caught fire!", 600 + i, importance=9) for i in range(8)))
    summarised(stream, tuple(range(1, 9)), 700)
    assert [e.type for e in stream.live()] == ["summary"]
    (request,) = KIND.due(moment_of(stream, 3000))
    (entry,) = appended(KIND.heuristic(case_of(KIND, stream, 3000, request=request)))
    assert QUIET not in entry.text
    assert "oven caught fire" in entry.text
    assert (entry.importance, entry.evidence) == (6, (9,))


def test_a_summary_of_routine_is_not_told() -> None:
    tea = [observation(f"Maria poured tea at table {i}.", 600 + i, importance=3) for i in range(4)]
    deeds = [observation(f"{name} slept.", 700 + i) for i, name in enumerate(("Klaus", "Maria", "Isabella"))]
    stream = stream_of(*tea, *deeds)
    summarised(stream, (1, 2, 3, 4), 800)
    (entry,) = appended(KIND.heuristic(case_of(KIND, stream, 1200)))
    assert "slept" in entry.text
    assert "tea" not in entry.text


def test_a_summary_of_reflected_entries_is_not_new() -> None:
    stream = stream_of(*(observation("The oven caught fire!", 600 + i, importance=9) for i in range(8)))
    (request,) = KIND.due(moment_of(stream, 3000))
    apply({KLAUS: stream}, KIND.heuristic(case_of(KIND, stream, 3000, request=request)), 3000)
    summarised(stream, tuple(range(1, 9)), 3100)
    (request,) = KIND.due(moment_of(stream, 6000))
    case = case_of(KIND, stream, 6000, request=request)
    (entry,) = appended(KIND.heuristic(case))
    assert (entry.text, entry.importance) == (QUIET, 4)
    assert "oven" not in KIND.prompt(case).user.partition("memories")[2]


@pytest.mark.parametrize(
    ("importance", "told"), [(9, "The oven caught fire!"), (4, "The oven caught fire!"), (3, QUIET)]
)
def test_one_important_of_fewer_than_three_events_is_told(importance: int, told: str) -> None:
    stream = stream_of(*(observation("The oven caught fire!", 600 + i, importance=importance) for i in range(2)))
    (entry,) = appended(KIND.heuristic(case_of(KIND, stream, 3000)))
    assert entry.text == told


def test_the_prompt_names_persons_in_a_fixed_order() -> None:
    orders = ((MARIA, ISABELLA), (ISABELLA, MARIA))
    seen = [[observation(f"Tea {i}.", 500 + i, subjects=(who,)) for i, who in enumerate(order)] for order in orders]
    prompts = [KIND.prompt(case_of(KIND, stream_of(*entries), 600)).user for entries in seen]
    assert all(text.index("Isabella Rodriguez") < text.index("Maria Lopez") for text in prompts)


def test_of_two_namesakes_an_answer_means_the_first_by_id() -> None:
    names = {"agent:b": "Ann Lee", "agent:a": "Ann Lee", "agent:c": "Ann Lee Smith"}
    assert person_meant("ann LEE", names) == "agent:a"
    assert person_meant("smith", names) == "agent:c"
    assert person_meant("agent:b", names) == "agent:b"
    for said in ("Ann", "Bob", ""):
        with pytest.raises(ValueError, match="is called"):
            person_meant(said, names)


def test_a_request_names_the_twenty_entries_that_were_repeated_most() -> None:
    stream = stream_of(*(observation(f"Read page {i}.", 600 + i) for i in range(21)))
    for number in range(1, 22):
        for _ in range(1 + number % 21):
            count_repeat(stream, number, 700, importance=3)
    (request,) = KIND.due(moment_of(stream, 701, world=reflecting("importance", 1)))
    assert request.params["repeats"] == {str(number): 1 + number for number in range(1, 21)}, "all but the last"
