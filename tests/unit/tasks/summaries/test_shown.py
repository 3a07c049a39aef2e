"""A job archives, or passes with its cursor, what its prompt showed: nothing is lost between prompt and effect."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cogitate.memory.apply import apply, unmet
from cogitate.memory.effects import (
    AdvanceCursor,
    Append,
    Archive,
    Effect,
    ReplaceSummary,
    SetCounter,
    TakeWaiting,
    losses,
)
from cogitate.memory.entry import Entry
from cogitate.memory.language.times import anchor_days
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.routing.scopes import CURSOR
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.long_term import SummarySize, estimate_tokens
from cogitate.prompts.answers import IntegratedAnswer, SummaryAnswer
from cogitate.prompts.render import TemplateError, Templates
from cogitate.tasks.integrate import Integrate
from cogitate.tasks.job import Request
from cogitate.tasks.kind import Case, Prompt
from cogitate.tasks.recount import Recount
from cogitate.tasks.shown import NOT_BEGUN, Begun, TooLong, begun_in, begun_params, effects_of, oldest_first
from cogitate.tasks.summarise import SIZE, Summarise
from cogitate.workers.jobs.fitting import PromptDoesNotFit, fit
from cogitate.workers.llm.requests.tokens import prompt_tokens
from tests.unit.memory.scope_case import INN, Realm
from tests.unit.tasks.kind_cases import KLAUS, case_of, due_turn, message, moment_of, observation, stream_of
from tests.unit.tasks.own_kind_case import Own
from tests.unit.tasks.policy_cases import OGILVY, Host

SUMMARISE, RECOUNT, INTEGRATE = Summarise(Templates()), Recount(Templates()), Integrate(Templates())
OATH = "Borin swore to marry Elara and owes her 500 crowns."
LONG = "He told of the flood and of the harvest. " * 32 + OATH  # 1,363 characters
SAID, VOTED = SummaryAnswer(summary="They spoke of the bridge."), IntegratedAnswer(summary="We voted.")


# -- four ways in which memories were lost ---------------------------------------------------------


def test_a_dropping_cell_is_shown_to_its_end() -> None:
    host = Host(MemoryLimits(policy="cells", cells=1), lambda case: "Borin swore an oath.")
    host.live({OGILVY: [LONG, "Elara smiled."]})
    (case,) = host.open.values()
    assert OATH in SUMMARISE.prompt(case).user
    host.live()
    assert host.streams[OGILVY].archived.keys() == {1}


def test_a_window_stores_the_whole_requested_summary() -> None:
    host = Host(MemoryLimits(policy="tokens"), lambda case: told)
    host.live({OGILVY: [f"Elara walked {n} miles north to the old stone bridge." for n in range(260)]})
    (case,) = host.open.values()
    prompt = SUMMARISE.prompt(case)
    words = int(prompt.user.partition("Write at most ")[2].partition(" words")[0])
    told = "Elara went on. " * ((words - 3) // 3) + "Borin betrayed Elara."
    assert prompt.answer.model_validate({"summary": told}).summary == told  # type: ignore[attr-defined]
    host.live()
    assert host.streams[OGILVY].head.summary == told
    assert host.lost == {}


def test_a_scope_passes_the_shown_messages_and_tells_the_others_next() -> None:
    realm = Realm()
    realm.say(*(f"Message {n}: {'the river rises above the meadow, ' * 8}and so on." for n in range(1, 81)))
    realm.leave()
    for _ in range(40):
        if not realm.open:
            break
        case = realm.open[INN]
        prompt = fit(RECOUNT, case, RECOUNT.prompt_cap)
        before = realm.cursor(INN)
        effects = effects_of(RECOUNT, realm.open.pop(INN), SAID, prompt)
        shown = [n for n in range(1, 81) if f"Message {n}:" in prompt.user]
        assert shown == list(range(before + 1, before + 1 + len(shown))), "the oldest that were not told yet"
        assert unmet(realm.streams, effects) is None
        apply(realm.streams, effects, 99)
        assert realm.cursor(INN) == shown[-1]
        realm.trigger()
    assert realm.cursor(INN) == 80
    assert 2 < len(realm.memories(INN)) < 10
    assert [memory.since_minute for memory in realm.memories(INN)][1:] == [
        (memory.since_number or 0) + 1 for memory in realm.memories(INN)
    ][:-1], "each memory tells from where the one before ends"


def test_a_long_conversation_takes_several_jobs() -> None:
    stream = stream_of(
        *(message(f"Line {n}: {'the chairs and the tables ' * 12}.", 600 + n, importance=8) for n in range(100))
    )
    minute, summaries = 600 + 24 * 60 + 101, 0
    while requests := due_turn(SUMMARISE, stream, minute):
        (request,) = requests
        case = case_of(SUMMARISE, stream, minute, request=request)
        prompt = fit(SUMMARISE, case, SUMMARISE.prompt_cap)
        shown = {n + 1 for n in range(100) if f"Line {n}:" in prompt.user}
        archived = set(stream.archived)
        apply({KLAUS: stream}, effects_of(SUMMARISE, case, SAID, prompt), minute)
        assert set(stream.archived) - archived == shown
        summaries, minute = summaries + 1, minute + 40
    assert summaries > 2
    assert len(stream.archived) == 100


# -- what a prompt shows ---------------------------------------------------------------------------


def test_the_oldest_are_shown_first_without_gaps() -> None:
    entries = [(observation("x" * size, at, number=at + 1), "x" * size) for at, size in enumerate((300, 300, 100))]
    for share, numbers in ((1.0, [1, 2, 3]), (0.9, [1, 2]), (0.86, [1, 2]), (0.85, [1]), (0.43, [1])):
        assert [piece.entry.number for piece in oldest_first(entries, share)] == numbers
    assert oldest_first([], 1.0) == []


@pytest.mark.parametrize(("share", "numbers"), [(1.0, [1, 2]), (0.5, [1]), (0.99, [1])])
def test_only_the_rest_of_a_partly_shown_memory_takes_room(share: float, numbers: list[int]) -> None:
    sizes = (1_000, 300)
    entries = [(observation("x" * size, at, number=at + 1), "x" * size) for at, size in enumerate(sizes)]
    pieces = oldest_first(entries, share, Begun(1, 700))
    assert [piece.entry.number for piece in pieces] == numbers
    assert pieces[0].text == "…" + "x" * 300
    assert pieces[0].whole


def test_a_memory_that_does_not_fit_is_shown_in_parts_that_end_with_sentences() -> None:
    text = "One is told. " * 50  # 650 characters
    entry, begun, parts = observation(text, 1, number=7), NOT_BEGUN, []
    for _ in range(9):
        (piece,) = oldest_first([(entry, text)], 0.4, begun)
        parts.append(piece.text)
        if piece.whole:
            break
        begun = Begun(7, piece.upto)
    assert "".join(part.strip("…") + " " for part in parts) == text
    assert len(parts) == 3
    assert all(part.strip("…").endswith(".") for part in parts)
    assert [(part.startswith("…"), part.endswith("…")) for part in parts] == [
        (False, True),
        (True, True),
        (True, False),
    ]


@pytest.mark.parametrize("first", [True, False])
def test_a_name_that_comes_or_goes_between_two_parts_hides_nothing(first: bool) -> None:
    """A message names its speaker; whether that stands in the text depends on who is known at the time."""
    words = [f"word{n}" for n in range(200)]
    entry = observation(f"Maria: {' '.join(words)}", 1, number=7)
    as_shown = (entry.text, " ".join(words))
    (part,) = oldest_first([(entry, as_shown[first])], 0.5)
    (rest,) = oldest_first([(entry, as_shown[not first])], 1.0, Begun(7, part.upto))
    assert [*part.text.removeprefix("Maria: ").strip("…").split(), *rest.text.strip("…").split()] == words
    assert rest.whole


def test_two_partly_shown_talks_are_both_completed() -> None:
    """They share the counters of an owner: one begins anew, and none is passed over."""
    stream, shown = stream_of(message(LONG, 600), message(LONG.replace("bridge", "mill"), 900)), [""] * 2
    begun: dict[int, list[int]] = {}
    while stream.live("message"):
        for number in [entry.number for entry in stream.live("message")]:
            params = {"begun": begun[number]} if number in begun else {}
            request = Request(kind="summarise", owner=KLAUS, numbers=(number,), params=params)
            case = case_of(SUMMARISE, stream, 3_000, request=request)
            prompt = SUMMARISE.prompt(case, 0.6)
            shown[number - 1] += prompt.user
            apply({KLAUS: stream}, effects_of(SUMMARISE, case, SAID, prompt), 3_000)
        begun = {n: p["begun"] for n in (1, 2) if (p := begun_params(stream, "summarise", (n,)))}
    assert all(OATH in text and text.count("…") >= 1 for text in shown)


def test_text_without_spaces_is_shown_in_parts_too() -> None:
    text = "王先生明天给我钥匙" * 400
    case = case_of(
        SUMMARISE, stream_of(message(text, 600)), 3_000, request=Request(kind="summarise", owner=KLAUS, numbers=(1,))
    )
    stream, shown, prompts = stream_of(message(text, 600)), "", 0
    while stream.is_live(1):
        prompt = fit(SUMMARISE, case, SUMMARISE.prompt_cap)
        assert prompt_tokens(prompt) <= SUMMARISE.prompt_cap
        line = next(line for line in prompt.user.splitlines() if "王先" in line or "钥匙" in line)
        shown += line.partition("Maria Lopez: ")[2].strip("…")
        apply({KLAUS: stream}, effects_of(SUMMARISE, case, SAID, prompt), 3_000)
        counters = stream.head.counters
        params = {"begun": [counters["summarise.part"], counters["summarise.upto"]]}
        case = dataclasses.replace(case, job=msgspec.structs.replace(case.job, params=params))
        prompts += 1
    assert shown == anchor_days(text, 600), "no part is lost where days are told by their numbers"
    assert prompts > 2
    assert [len(entry.evidence) for entry in stream.live("summary")] == [1] * prompts


def test_a_part_of_a_cell_lets_nothing_in() -> None:
    host = Host(MemoryLimits(policy="cells", cells=1), lambda case: "…")
    host.live({OGILVY: [LONG, "Elara smiled."]})
    (case,) = host.open.values()
    prompt = SUMMARISE.prompt(case, 0.5)
    effects = effects_of(SUMMARISE, case, SAID, prompt)
    assert [type(effect) for effect in effects] == [ReplaceSummary, SetCounter, SetCounter]
    host.open.clear()
    host.change(effects)
    host.live()
    (case,) = host.open.values()
    assert begun_in(case.job).number == 1
    assert OATH in SUMMARISE.prompt(case).user
    assert len(SUMMARISE.prompt(case).user) < len(LONG)
    effects = effects_of(SUMMARISE, case, SAID, SUMMARISE.prompt(case))
    assert [type(effect) for effect in effects] == [ReplaceSummary, Archive, TakeWaiting]


def test_a_replaced_summary_is_always_shown_in_full() -> None:
    summary = "Elara left home. " * 30 + "Borin owes her 500 crowns."
    for policy in ("cells", "tokens"):
        case = case_of(SUMMARISE, stream_of(observation(LONG, 600)), 700, params={"policy": policy})
        case = dataclasses.replace(case, job=msgspec.structs.replace(case.job, summary=summary))
        assert summary in SUMMARISE.prompt(case, 0.0).user


def test_a_prompt_without_room_for_anything_is_not_sent() -> None:
    case = case_of(SUMMARISE, stream_of(observation(LONG, 600)), 700, params={"policy": "cells"})
    with pytest.raises(PromptDoesNotFit):
        fit(SUMMARISE, case, 100)


def test_a_template_that_shows_less_passes_less(tmp_path: Path) -> None:
    stream = stream_of(*(message(f"Line {n}.", 600 + n) for n in range(4)))
    case = case_of(SUMMARISE, stream, 3_000, request=Request(kind="summarise", owner=KLAUS, numbers=(1, 2, 3, 4)))

    def own(user: str) -> Summarise:
        (tmp_path / "summarise.j2").write_text(
            "{% block system %}Be brief.{% endblock %}{% block user %}" + user + "{% endblock %}"
        )
        return Summarise(Templates(tmp_path))

    two = own("{% for line in lines[:2] %}{{ line.text }} {% endfor %}")
    assert two.prompt(case).shown == (1, 2)
    assert effects_of(two, case, SAID, two.prompt(case))[1] == Archive(
        owner=KLAUS, numbers=(1, 2), into_appended=True, shown=(1, 2)
    )
    assert own("{{ lines[1].text }} {{ lines[0].text }} {{ lines[3].text }}").prompt(case).shown == (1, 2)
    for user in ("{{ name }}", "{{ lines[0].text[:4] }}", "{{ lines[1].text }}"):
        with pytest.raises(TemplateError, match="shows in full none of the memories"):
            own(user).prompt(case)


# -- repairs and later answers ---------------------------------------------------------------------


def test_a_repair_shows_all_of_its_entries_or_is_not_made() -> None:
    stream = stream_of(*(message(f"Line {n}: {'x' * 200}", 600 + n) for n in range(9)))
    request = Request(kind="summarise", owner=KLAUS, numbers=tuple(range(1, 10)), params={"replaces": 10})
    case = case_of(SUMMARISE, stream, 3_000, request=request)
    prompt = SUMMARISE.prompt(case, 0.1)
    assert prompt.used == tuple(range(1, 10))
    assert prompt.then == ()
    with pytest.raises(PromptDoesNotFit):
        fit(SUMMARISE, case, 900)


# -- the size of a summary -------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [40, 250, 600])
def test_words_tokens_and_bound_follow_from_one_number(bound: int) -> None:
    size = SummarySize(bound)
    assert size.fits(" ".join(["word"] * size.words))
    assert size.fits(" ".join(["word"] * (size.words * 6 // 5))), "a model that writes a fifth too much is not cut"
    assert not size.fits(" ".join(["word"] * (size.words * 7 // 5)))
    assert size.output_cap >= 2 * size.words


def test_an_answer_that_is_too_long_is_refused_and_then_cut_at_its_oldest_sentences_and_counted() -> None:
    stream = stream_of(*(message(f"Line {n}.", 600 + n) for n in range(3)))
    case = case_of(SUMMARISE, stream, 3_000, request=Request(kind="summarise", owner=KLAUS, numbers=(1, 2, 3)))
    prompt, long = (
        SUMMARISE.prompt(case),
        SummaryAnswer(summary="The bridge fell down. " * 60 + "Borin betrayed Elara."),
    )
    with pytest.raises(TooLong, match=f"has 243 words: write at most {SIZE.words}"):
        effects_of(SUMMARISE, case, long, prompt)
    effects = effects_of(SUMMARISE, case, long, prompt, cut=True)
    append = effects[0]
    assert isinstance(append, Append)
    assert append.entry.text.startswith("The bridge fell down.")
    assert append.entry.text.endswith("Borin betrayed Elara.")
    assert SIZE.fits(append.entry.text)
    assert append.cut == estimate_tokens(long.summary) - estimate_tokens(append.entry.text)
    assert [loss.name for loss in losses(effects)] == ["memory.summary_cut"]


def test_cuts_are_counted_only_where_a_text_is_stored() -> None:
    def answers(case: Case, answer: SummaryAnswer) -> tuple[Effect, ...]:
        if answer == SAID:
            raise TooLong("too long", SummaryAnswer(summary="Hm."), 7)
        return Append(KLAUS, observation(answer.summary, 1)), SetCounter(KLAUS, "hummed", 1)

    case = case_of(SUMMARISE, stream_of(message("Hm.", 1)), 3_000, request=Request(kind="summarise", owner=KLAUS))
    prompt = Prompt(system="", user="", answer=SummaryAnswer, used=(), version="1")
    effects = effects_of(Own(answers=answers), case, SAID, prompt, cut=True)
    assert effects == (Append(KLAUS, observation("Hm.", 1), cut=7), SetCounter(KLAUS, "hummed", 1))


def test_a_kinds_own_count_of_cuts_is_kept() -> None:
    own = Own(answers=lambda case, answer: (Append(KLAUS, observation("Hm.", 1), cut=7),))
    case = case_of(SUMMARISE, stream_of(message("Hm.", 1)), 3_000, request=Request(kind="summarise", owner=KLAUS))
    (effect,) = effects_of(own, case, SAID, Prompt(system="", user="", answer=SummaryAnswer, used=(), version="1"))
    assert effect == Append(KLAUS, observation("Hm.", 1), cut=7)


# -- scopes ----------------------------------------------------------------------------------------


def test_a_recount_that_failed_is_not_tried_again_until_the_next_trigger() -> None:
    realm = Realm()
    realm.say(*(f"Message {n}." for n in range(1, 9)))
    realm.leave()
    realm.settle(INN, share=0.5)
    assert (realm.cursor(INN), realm.trigger()) == (4, [INN])
    realm.settle(INN, fails=True)
    assert realm.trigger() == []
    assert realm.waiting == []
    assert realm.leave() == [INN]
    realm.settle(INN)
    assert realm.told[INN] == list(range(1, 9))


def test_a_message_longer_than_a_prompt_is_recounted_in_parts() -> None:
    realm = Realm()
    realm.say(LONG)
    realm.leave()
    assert not any(isinstance(effect, AdvanceCursor) for effect in realm.settle(INN, share=0.5))
    assert (realm.cursor(INN), realm.trigger()) == (0, [INN])
    assert OATH in RECOUNT.prompt(realm.open[INN]).user
    assert realm.settle(INN)[1] == AdvanceCursor(owner=INN, name=CURSOR, start=0, end=1, shown=(1,))
    assert realm.trigger() == []


@pytest.mark.parametrize("odd", [None, [], [1], ["1", 2], [1, 2, 3], [1, 0], {"number": 1}, [1, None], [9, 10**9]])
def test_an_invalid_progress_mark_restarts(odd: Any) -> None:
    case = case_of(SUMMARISE, stream_of(message("Line 1.", 600)), 3_000, params={"begun": odd})
    assert "Line 1." in SUMMARISE.prompt(case).user


def test_a_partly_shown_entry_is_named_by_number_and_shown_characters() -> None:
    for upto, begun in ((0, NOT_BEGUN), (1, Begun(1, 1)), (9, Begun(1, 9))):
        case = case_of(SUMMARISE, stream_of(message("Line 1.", 600)), 3_000, params={"begun": [1, upto]})
        assert begun_in(case.job) == begun


# -- integration -----------------------------------------------------------------------------------


def integrating(*events: Entry) -> tuple[Stream, Case]:
    stream = stream_of(*events)
    stream.set_counter("integrate.asked", 9)
    (request,) = INTEGRATE.due(moment_of(stream, 9))
    return stream, case_of(INTEGRATE, stream, 9, request=request)


def test_events_that_do_not_fit_wait_for_the_next_integration() -> None:
    events = [observation(f"Vote {n}. " * 30, n, tags=("integrate",)) for n in range(1, 5)]
    stream, case = integrating(*events)
    effects = effects_of(INTEGRATE, case, VOTED, INTEGRATE.prompt(case, 0.125))
    apply({KLAUS: stream}, effects, 9)
    assert stream.head.cursors["integrate"] == 2
    (again,) = INTEGRATE.due(moment_of(stream, 9))
    assert again.params["start"] == 2
    assert "Vote 3." in INTEGRATE.prompt(case_of(INTEGRATE, stream, 9, request=again)).user


def test_an_event_longer_than_a_prompt_is_integrated_in_parts() -> None:
    stream, case = integrating(observation(LONG, 1, tags=("integrate",)))
    effects = effects_of(INTEGRATE, case, VOTED, INTEGRATE.prompt(case, 0.125))
    assert not any(isinstance(effect, AdvanceCursor) for effect in effects)
    apply({KLAUS: stream}, effects, 9)
    (again,) = INTEGRATE.due(moment_of(stream, 9))
    case = case_of(INTEGRATE, stream, 9, request=again)
    case = dataclasses.replace(case, job=msgspec.structs.replace(case.job, summary_version=1))
    prompt = INTEGRATE.prompt(case)
    assert OATH in prompt.user
    apply({KLAUS: stream}, effects_of(INTEGRATE, case, VOTED, prompt), 9)
    assert list(INTEGRATE.due(moment_of(stream, 9))) == []


def test_a_memory_counts_as_begun_if_its_number_and_its_characters_are_known() -> None:
    stream = stream_of(message("One.", 1))
    assert begun_params(stream, "summarise", (0, 1)) == {}
    stream.set_counter("summarise.upto", 5)
    assert begun_params(stream, "summarise", (1,)) == {}
    stream.set_counter("summarise.part", 1)
    assert begun_params(stream, "summarise", (1,)) == {"begun": [1, 5]}
    assert begun_params(stream, "summarise", (2,)) == {}
