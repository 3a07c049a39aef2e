"""Integration: when it is due, what a model sees, what comes of its answer, and the same without a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from cogitate.memory import typed_json
from cogitate.memory.apply import apply, unmet
from cogitate.memory.effects import AdvanceCursor, Effect, MarkAccessed, ReplaceSummary, SetCounter
from cogitate.memory.entry import Entry
from cogitate.memory.routing.routing import Event, Routing, route
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.long_term import estimate_tokens
from cogitate.prompts.answers import IntegratedAnswer
from cogitate.prompts.render import Templates
from cogitate.tasks.integrate import ASKED, CURSOR, DONE, ROOM, TOKENS, Integrate, asks_for_integration, merged
from cogitate.tasks.job import Request
from cogitate.tasks.kind import Case
from cogitate.tasks.shown import effects_of
from tests.unit.tasks.kind_cases import KLAUS, case_of, moment_of, observation, stream_of

INTEGRATE = Integrate(Templates())
RESULT = Event(
    kind="final_results",
    text="Consensus reached on Floor.",
    earnings="$24,000",
    counterfactuals={"Avg": "$24k", "Avg+Floor": "$25k"},
    group="group:one",
)


def happened(stream: Stream, event: Event, tick: int) -> Entry:
    """The event is appended at a tick, as a host's `event` does it."""
    routed = route(event, minute=tick)
    apply({stream.owner: stream}, [asks_for_integration(stream.owner, tick)], tick)
    return stream.append(routed.entry, tick)


def requested(stream: Stream, tick: int) -> Request | None:
    found = list(INTEGRATE.due(moment_of(stream, tick)))
    assert len(found) <= 1
    return found[0] if found else None


def case(stream: Stream, tick: int) -> Case:
    request = requested(stream, tick)
    assert request is not None
    asked = case_of(INTEGRATE, stream, tick, request=request)
    head = stream.head
    return replace(
        asked, job=msgspec.structs.replace(asked.job, summary=head.summary, summary_version=head.summary_version)
    )


def carried_out(stream: Stream, effects: tuple[Effect, ...]) -> None:
    assert unmet({stream.owner: stream}, effects) is None
    apply({stream.owner: stream}, effects, 99)


def test_it_is_due_once_an_event_waits_and_not_before() -> None:
    stream = stream_of(observation("I had breakfast.", 1))
    assert requested(stream, 2) is None
    happened(stream, RESULT, 3)
    request = requested(stream, 3)
    assert request is not None
    assert request.params == {"start": 0, "end": 2, "done": 3}
    assert [reads.owner for reads in request.reads] == ["group:one"]


def test_memory_service_complex_update() -> None:
    stream = stream_of(observation("I had breakfast.", 1))
    stream.head.summary = "I prefer the floor principle."
    happened(stream, RESULT, 3)
    answer = IntegratedAnswer(summary="The group reached consensus on my principle; I earned $24,000.")
    asked = case(stream, 3)
    effects = effects_of(INTEGRATE, asked, answer, INTEGRATE.prompt(asked))
    assert effects == (
        ReplaceSummary(owner=KLAUS, text=answer.summary, version=0),
        AdvanceCursor(owner=KLAUS, name=CURSOR, start=0, end=2, shown=(2,)),
        SetCounter(owner=KLAUS, name=DONE, value=3),
        MarkAccessed(owner=KLAUS, numbers=(1, 2), minute=3),
    )
    carried_out(stream, effects)
    assert "consensus" in stream.head.summary
    assert requested(stream, 4) is None
    assert stream.live()[-1].text.endswith("Earnings: $24,000. Otherwise: Avg $24k; Avg+Floor $25k.")


def test_the_prompt_shows_the_full_event_the_memory_and_the_group() -> None:
    stream = stream_of(observation("I had breakfast.", 1))
    stream.head.summary = "I prefer the floor principle."
    long = RESULT.model_copy(update={"text": "Consensus. " * 250})
    happened(stream, long, 3)
    shown = case(stream, 3)
    shared = Entry(type="message", text="Alice discussed the floor.", minute=2, number=1)
    shown = replace(shown, memories={**shown.memories, "group:one": [shared]})
    prompt = INTEGRATE.prompt(shown)
    assert "Present long-term memory: I prefer the floor principle." in prompt.user
    assert ("Consensus. " * 250).strip() in prompt.user
    assert "Avg+Floor $25k" in prompt.user
    assert "I had breakfast." in prompt.user
    assert "Alice discussed the floor." in prompt.user
    assert prompt.used == (1, 2)


def test_prompts_of_long_histories_show_the_latest() -> None:
    stream = stream_of(*[observation(f"Breakfast {n} was fine.", n) for n in range(1, 41)])
    happened(stream, RESULT, 41)
    said = [Entry(type="message", text=f"Alice made point {n}.", minute=n, number=n) for n in range(1, 31)]
    shown = case(stream, 41)
    prompt = INTEGRATE.prompt(replace(shown, memories={**shown.memories, "group:one": said}))
    assert prompt.used == (*range(11, 41), 41), "thirty of one's own, and what happened"
    assert [n for n in range(1, 31) if f"point {n}." in prompt.user] == list(range(11, 31)), "twenty of the group's"


def test_overflow_drops_the_oldest_half_of_the_memories_but_never_the_event() -> None:
    stream = stream_of(*[observation(f"Breakfast number {n} was fine.", n) for n in range(1, 9)])
    happened(stream, RESULT, 9)
    prompt = INTEGRATE.prompt(case(stream, 9), 0.5)
    assert prompt.used == (5, 6, 7, 8, 9)
    assert "number 4 " not in prompt.user
    assert "Consensus reached on Floor." in INTEGRATE.prompt(case(stream, 9), 0.0).user


def test_the_heuristic_keeps_the_old_summary_and_the_news_word_for_word() -> None:
    stream = stream_of()
    stream.head.summary = "I prefer the floor principle."
    entry = happened(stream, RESULT, 3)
    carried_out(stream, INTEGRATE.heuristic(case(stream, 3)))
    assert stream.head.summary == f"I prefer the floor principle. {entry.text}"
    assert stream.head.summary_version == 1
    assert requested(stream, 4) is None


def test_a_merged_summary_is_short_and_keeps_the_news() -> None:
    old = " ".join(f"On day {n} Klaus met Maria Lopez at the library and they talked about books." for n in range(60))
    news = observation("Final results: The floor won. Earnings: $24,000.", 9)
    text, cut = merged(old, [news], {})
    assert cut == 0
    assert estimate_tokens(text) <= TOKENS
    assert text.endswith(news.text)
    assert "Maria" in text
    long = observation("The group voted again and Bob promised to pay. " * 60, 9)
    text, _ = merged(old, [long], {})
    assert estimate_tokens(text) <= TOKENS
    assert "Bob promised to pay" in text


def test_all_events_that_wait_go_into_one_job() -> None:
    stream = stream_of()
    happened(stream, RESULT, 3)
    happened(stream, RESULT.model_copy(update={"text": "No consensus the second time."}), 3)
    user = INTEGRATE.prompt(case(stream, 3)).user
    assert "reached on Floor" in user
    assert "second time" in user


def test_events_too_long_for_one_job_wait_for_the_next() -> None:
    stream = stream_of()
    for tick in (3, 4, 5):
        happened(stream, RESULT.model_copy(update={"text": f"Round {tick}. " * 250}), tick)
    first = case(stream, 5)
    assert sum(len(e.text) for e in stream.live()) > ROOM
    carried_out(stream, INTEGRATE.heuristic(first))
    assert stream.head.cursors[CURSOR] == 2
    second = case(stream, 6)
    assert "Round 5." in INTEGRATE.prompt(second).user
    assert "Round 4." not in INTEGRATE.prompt(second).user.partition("New events")[2]
    carried_out(stream, INTEGRATE.heuristic(second))
    assert requested(stream, 7) is None


def test_an_event_that_arrives_while_a_job_is_open_is_due_after_it() -> None:
    stream = stream_of()
    happened(stream, RESULT, 3)
    open_job = case(stream, 3)
    happened(stream, RESULT.model_copy(update={"text": "A second vote."}), 8)
    carried_out(stream, INTEGRATE.heuristic(open_job))
    again = requested(stream, 13)
    assert again is not None
    assert again.params["start"] == 1


def test_a_summary_replaced_meanwhile_makes_the_job_stale_and_due_again() -> None:
    stream = stream_of()
    happened(stream, RESULT, 3)
    effects = INTEGRATE.heuristic(case(stream, 3))
    apply({KLAUS: stream}, [ReplaceSummary(owner=KLAUS, text="Compressed.", version=0)], 4)
    assert unmet({KLAUS: stream}, effects) is not None
    carried_out(stream, INTEGRATE.heuristic(case(stream, 5)))
    assert stream.head.summary.startswith("Compressed. Final results")


def test_an_event_that_waits_for_a_free_cell_is_integrated_when_it_has_one() -> None:
    stream = stream_of()
    happened(stream, RESULT, 3)
    stream.wait(route(RESULT.model_copy(update={"text": "A second vote."}), minute=3).entry)
    carried_out(stream, INTEGRATE.heuristic(case(stream, 3)))
    assert requested(stream, 13) is None
    stream.take_waiting(1, 20)
    assert "A second vote." in INTEGRATE.prompt(case(stream, 20)).user
    carried_out(stream, INTEGRATE.heuristic(case(stream, 20)))
    assert requested(stream, 21) is None


def test_simple_events_ask_for_nothing() -> None:
    stream = stream_of()
    stream.append(route(Event(kind="voting_initiated"), minute=3).entry, 3)
    assert requested(stream, 3) is None
    assert ASKED not in stream.head.counters


@pytest.mark.parametrize("params", [{}, {"start": "x", "end": None}])
def test_a_job_without_events_changes_nothing(params: dict[str, Any]) -> None:
    stream = stream_of(observation("I had breakfast.", 1))
    asked = case_of(INTEGRATE, stream, 5, request=Request(kind="integrate", owner=KLAUS, params=params))
    asked = replace(asked, job=msgspec.structs.replace(asked.job, summary="I moved here in spring."))
    assert not any(isinstance(e, ReplaceSummary) for e in INTEGRATE.heuristic(asked))
    with pytest.raises(ValueError, match="none of the events"):
        INTEGRATE.effects(asked, IntegratedAnswer(summary="Nothing."), ())


def test_requests_survive_json_and_structured_style_is_integrated_too() -> None:
    stream = stream_of()
    entry = route(RESULT, minute=3, routing=Routing(style="structured")).entry
    apply({KLAUS: stream}, [asks_for_integration(KLAUS, 3)], 3)
    stream.append(entry, 3)
    request = requested(stream, 3)
    assert request is not None
    assert typed_json.decode(msgspec.json.encode(request), Request) == request
    assert "Earnings: $24,000 | Counterfactuals:" in INTEGRATE.prompt(case(stream, 3)).user


def test_a_job_takes_exactly_the_characters_there_is_room_for() -> None:
    for lengths, taken in (((3_000, 3_000), 2), ((3_000, 3_001), 1), ((6_001, 1), 1), ((5_999, 1, 1), 2)):
        stream = stream_of()
        for tick, length in enumerate(lengths, start=3):
            stream.append(observation("x" * length, tick, tags=("integrate",)), tick)
        apply({KLAUS: stream}, [asks_for_integration(KLAUS, 9)], 9)
        request = requested(stream, 9)
        assert request is not None
        assert request.params["end"] == taken
        assert request.params["done"] == (9 if taken == len(lengths) else 3 + taken - 1)


def test_memories_waiting_for_a_cell_are_not_covered_by_this_job() -> None:
    stream = stream_of(observation("x", 1, tags=("integrate",)))
    apply({KLAUS: stream}, [asks_for_integration(KLAUS, 7)], 7)
    stream.wait(observation("y", 2))
    request = requested(stream, 9)
    assert request is not None
    assert request.params == {"start": 0, "end": 1, "done": 9}
    stream.wait(observation("z", 2, tags=("integrate",)))
    request = requested(stream, 9)
    assert request is not None
    assert request.params == {"start": 0, "end": 1, "done": 6}


@pytest.mark.parametrize(
    ("asked", "done", "due"), [(3, 2, True), (3, 3, False), (3, None, True), (0, None, True), (2, 3, False)]
)
def test_it_is_due_while_requests_exceed_completions(asked: int, done: int | None, due: bool) -> None:
    stream = stream_of(observation("x", 1, tags=("integrate",)))
    stream.set_counter(ASKED, asked)
    if done is not None:
        stream.set_counter(DONE, done)
    assert (requested(stream, 9) is not None) is due
    assert requested(stream_of(observation("x", 1, tags=("integrate",))), 9) is None


def test_only_histories_of_others_are_read_each_once() -> None:
    stream = stream_of(
        *(
            observation("x", 1, tags=("integrate",), source_id=source)
            for source in ("group:b", "group:a", "group:b", "agent:c", "", "world")
        )
    )
    apply({KLAUS: stream}, [asks_for_integration(KLAUS, 7)], 7)
    request = requested(stream, 9)
    assert request is not None
    assert [(reads.owner, reads.upto) for reads in request.reads] == [("group:a", 0), ("group:b", 0), ("world", 0)]
    assert (request.priority, request.owner, request.kind) == (3, KLAUS, "integrate")


def test_new_memories_keep_up_to_160_of_250_tokens() -> None:
    def words(count: int) -> str:
        return " ".join(["so"] * (count - 1)) + " Zoe."

    fits, long = observation(words(123), 1), observation(words(124), 1)  # 160 and 162 tokens
    assert merged("", [fits], {}) == (fits.text, 0)
    told, cut = merged("", [long], {})
    assert (told.endswith("Zoe."), cut > 0) == (True, True), "what has no room as a whole is told in part, and counted"
    old = " ".join(["Ann"] * 69)  # 90 tokens
    assert merged(old, [fits], {}) == (f"{old} {fits.text}", 0)
    told, cut = merged(f"{old} sang", [fits], {})
    assert told.endswith(f"sang {fits.text}") or told.endswith(f". {fits.text}"), "what stood is cut, and not dropped"
    assert cut > 0
    assert merged("", [], {}) == ("", 0)
    assert merged(old, [], {}) == (old, 0)


def test_the_first_tier_has_a_limit_and_the_newest_go_first() -> None:
    stream = stream_of(*(observation(f"Number {n} spoke for a long time. " + "And on. " * 110, n) for n in range(28)))
    happened(stream, RESULT, 60)
    prompt = INTEGRATE.prompt(case(stream, 61))
    shown = [n for n in range(28) if f"Number {n} spoke" in prompt.user]
    assert shown == list(range(28 - len(shown), 28))
    assert 5 <= len(shown) < 20, "12,000 characters hold about thirteen of these"
    assert "Consensus reached on Floor." in prompt.user


def test_memories_left_out_of_a_prompt_are_covered_only_up_to_the_previous_tick() -> None:
    stream = stream_of()
    for tick in (3, 5, 8):
        happened(stream, Event(kind="final_results", text=f"Result {tick}: " + f"w{tick} " * 200), tick)
    asked = case(stream, 9)
    assert asked.job.params == {"start": 0, "end": 3, "done": 9}
    answer = IntegratedAnswer(summary="Results came.")
    seen: dict[int, int] = {}
    for share in (0.25, 0.2, 0.1):
        effects = effects_of(INTEGRATE, asked, answer, INTEGRATE.prompt(asked, share))
        (end,) = [effect.end for effect in effects if isinstance(effect, AdvanceCursor)]
        (seen[end],) = [effect.value for effect in effects if isinstance(effect, SetCounter) and effect.name == DONE]
    assert seen == {3: 9, 2: 7, 1: 4}


def test_a_group_does_not_see_its_history_beside_its_memories() -> None:
    stream = stream_of(observation("The hall is cold.", 1), owner="group:one")
    happened(stream, RESULT, 3)
    prompt = INTEGRATE.prompt(case(stream, 9))
    assert prompt.user.count("The hall is cold.") == 1
    assert prompt.user.count("Consensus reached on Floor.") == 1


def test_only_events_to_be_integrated_take_room() -> None:
    stream = stream_of(observation("x" * ROOM, 1))
    happened(stream, RESULT, 3)
    stream.append(observation("y" * ROOM, 3), 3)
    happened(stream, RESULT.model_copy(update={"earnings": "$1"}), 4)
    request = requested(stream, 5)
    assert request is not None
    assert request.params == {"start": 0, "end": 4, "done": 5}


def test_a_group_reads_no_history_and_a_location_is_not_a_group() -> None:
    for owner, event, read in (
        ("group:one", RESULT, []),
        ("group:two", RESULT, ["group:one"]),
        (KLAUS, RESULT.model_copy(update={"group": "location:inn"}), []),
    ):
        stream = Stream(owner)
        happened(stream, event, 3)
        request = requested(stream, 3)
        assert request is not None
        assert [reads.owner for reads in request.reads] == read


def test_the_history_shown_is_that_of_groups_in_order_of_name() -> None:
    stream = stream_of(observation("I had breakfast.", 1))
    happened(stream, RESULT, 3)
    shown = case(stream, 3)

    def said(text: str) -> list[Entry]:
        return [Entry(type="message", text=text, minute=2, number=1)]

    others = {"group:two": said("Two said it."), "group:one": said("One said it."), "npc:bob": said("Bob said it.")}
    user = INTEGRATE.prompt(replace(shown, memories={**shown.memories, **others})).user
    assert "Bob said it." not in user
    assert 0 < user.index("One said it.") < user.index("Two said it.")


def test_a_job_without_bounds_passes_nothing() -> None:
    stream = stream_of(observation("I had breakfast.", 1))
    happened(stream, RESULT, 3)
    assert INTEGRATE.heuristic(case_of(INTEGRATE, stream, 3)) == ()
    wrong = case_of(INTEGRATE, stream, 3, params={"start": "x", "end": 2, "done": "y"})
    advance, done = INTEGRATE.heuristic(wrong)[-2:]
    assert advance == AdvanceCursor(owner=KLAUS, name=CURSOR, start=0, end=2)
    assert done == SetCounter(owner=KLAUS, name=DONE, value=0)
