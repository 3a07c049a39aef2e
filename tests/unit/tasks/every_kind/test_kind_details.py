"""Bounds and defaults of kinds that only single values show: whom an answer means, what counts, what may be odd."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import pytest

from cogitate.memory.effects import (
    Append,
    Archive,
    Effect,
    ForgetWaiting,
    ReplaceSummary,
    SetCounter,
    TakeWaiting,
)
from cogitate.memory.entry import Entry
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.compaction import SETTLED
from cogitate.memory.routing.repeats import REPEATED
from cogitate.memory.stream import Stream
from cogitate.prompts.answers import SummaryAnswer
from cogitate.prompts.render import Templates
from cogitate.tasks import long_term, timing
from cogitate.tasks.kind import Case
from cogitate.tasks.kind_check import KindError, check_kind
from cogitate.tasks.plan import Plan
from cogitate.tasks.prune import EVERY, OVERDUE, SOON, Prune
from cogitate.tasks.rate import BATCH, SIZE, RateImportance
from cogitate.tasks.recount import Span, recount_request
from cogitate.tasks.reflect import COUNTED, NUMBER, person_meant, salience
from cogitate.tasks.shown import effects_of
from cogitate.tasks.summarise import Summarise
from tests.unit.tasks.kind_cases import (
    ISABELLA,
    KLAUS,
    MARIA,
    WORLD,
    case_of,
    message,
    moment_of,
    observation,
    stream_of,
)
from tests.unit.tasks.own_kind_case import Own

NAMES = {"agent:a": "Ann Lee", "agent:b": "Bo Lee", "agent:c": "Cy", "agent:d": "Cy"}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("agent:c", "agent:c"),
        ("Ann Lee", "agent:a"),
        ("ann  LEE", "agent:a"),
        ("Ann", "agent:a"),
        ("bo", "agent:b"),
        ("Cy", "agent:c"),
        ("Lee Ann", "agent:a"),
    ],
)
def test_a_person_is_found_by_id_name_or_unique_part(said: str, meant: str) -> None:
    assert person_meant(said, NAMES) == meant


@pytest.mark.parametrize(
    ("said", "why"), [("Lee", "more than one"), ("Zoe", "nobody"), ("", "nobody"), (" ", "nobody")]
)
def test_an_unknown_or_ambiguous_person_is_refused(said: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{why} is called '{said}'"):
        person_meant(said, NAMES)


def test_importance_since_the_last_reflection_counts_events_and_repeats() -> None:
    stream = stream_of(
        observation("Old.", 1, importance=9),
        observation("New.", 2, importance=4),
        message("Hi.", 3, importance=8),
        observation("Told.", 4, importance=7, source="dialogue"),
        observation("Unrated.", 5, importance=0),
        Entry(type="reflection", text="Hm.", minute=6, importance=9),
    )
    assert salience(stream) == 9 + 4 + 3
    stream.set_counter(NUMBER, 1)
    assert salience(stream) == 4 + 3
    stream.set_counter(REPEATED, 20)
    assert salience(stream) == 27
    stream.set_counter(COUNTED, 15)
    assert salience(stream) == 12
    assert salience(Stream(KLAUS)) == 0


def test_a_recount_reads_its_own_stream_or_the_worlds() -> None:
    span = Span(start=1, end=9, minute=5)
    own = recount_request("world", span, (3, 4))
    assert (own.kind, own.owner, own.priority, own.numbers, own.reads) == ("recount", "world", 2, (3, 4), ())
    other = recount_request("npc:x", span, (3, 4))
    assert (other.owner, other.priority, other.numbers) == ("npc:x", 2, ())
    assert [(reads.owner, reads.upto, reads.numbers) for reads in other.reads] == [("world", 9, (3, 4))]


def test_an_owner_near_its_limit_is_checked_for_pruning_sooner() -> None:
    limits, minute, tick = MemoryLimits(max_observations=20, max_reflections=1, max_plans=1), 5_000, 50

    def wake(*entries: Entry) -> str:
        moment = moment_of(stream_of(*entries), minute, world=dataclasses.replace(WORLD, limits=limits), tick=tick)
        turns = {"soon": timing.next_turn(moment, SOON), "at its turn": timing.next_turn(moment, EVERY)}
        found = Prune().wake(moment)
        return "never" if found is None else next((turn for turn, at in turns.items() if at == found), "later")

    assert timing.offset(KLAUS, 100) // 10 not in (5,), "or both turns would be one"
    seen = [observation("Tea.", n) for n in range(20)]
    assert [wake(*seen[:count]) for count in (16, 17, 18)] == ["never", "at its turn", "soon"]
    thoughts = [msgspec.structs.replace(entry, type="reflection") for entry in seen]
    plans = [msgspec.structs.replace(entry, type="plan", items=()) for entry in seen]
    assert [wake(*many) for many in (thoughts[:1], thoughts[:2], plans[:1], plans[:2])] == ["never", "at its turn"] * 2
    said = [wake(message("Hi.", minute - age)) for age in (OVERDUE, SETTLED, SETTLED - 100, OVERDUE - 5)]
    assert said == ["soon", "at its turn", "later", "soon"]
    assert wake(observation("Hi.", minute - OVERDUE)) == "never", "that is no line of a conversation"


@pytest.mark.parametrize(
    ("size", "doubled"), [(5, 10), (10, 20), (19, 20), (20, None), (0, None), (-1, None), ("9", None)]
)
def test_the_size_of_batches_doubles_up_to_twenty(size: Any, doubled: int | None) -> None:
    kind = RateImportance(Templates())
    case = case_of(kind, stream_of(observation("Tea.", 1, importance=0)), 9, params={"size": size})
    answer = kind.prompt(case).answer.model_validate({"ratings": [{"number": 1, "importance": 4}]})
    counters = [effect for effect in kind.effects(case, answer, (1,)) if isinstance(effect, SetCounter)]
    assert BATCH == 20
    assert counters == ([] if doubled is None else [SetCounter(KLAUS, SIZE, doubled)])


@pytest.mark.parametrize(
    ("entry", "kept"),
    [
        (message("Meet me tomorrow at 4 pm.", 600), "Maria Lopez: Meet me today at 4 pm"),
        (
            message("Meet me tomorrow at 4 pm.", 600, subjects=(MARIA, KLAUS, ISABELLA)),
            "Maria Lopez: Meet me today at 4 pm",
        ),
        (message("I will meet you tomorrow at 4 pm.", 600), "Maria Lopez: I will meet you today at 4 pm"),
        (observation("Meet me tomorrow at 4 pm.", 600, subjects=(MARIA, KLAUS)), "Meet me today at 4 pm"),
    ],
)
def test_a_statement_for_an_hour_is_planned_with_its_speaker(entry: Entry, kept: str) -> None:
    kind = Plan(Templates())
    (append, *_) = kind.heuristic(case_of(kind, stream_of(entry), 1_440 + 360))
    assert isinstance(append, Append)
    assert [item.description for item in append.entry.items if item.minute == 1_440 + 960] == [kept]


def compressing(*entries: Entry, params: dict[str, Any], summary: str = "", model: str = "", keep: bool = False) -> Any:
    kind = Summarise(Templates())
    limits = MemoryLimits(on_failure="unchanged" if keep else "heuristic")
    case = case_of(kind, stream_of(*entries), 700, params=params, world=dataclasses.replace(WORLD, limits=limits))
    job = msgspec.structs.replace(case.job, summary=summary, summary_version=4, model=model)
    return dataclasses.replace(case, job=job)


def answered(case: Case, summary: str) -> tuple[Effect, ...]:
    kind = Summarise(Templates())
    return effects_of(kind, case, SummaryAnswer(summary=summary), kind.prompt(case))


@pytest.mark.parametrize(
    ("params", "policy"),
    [
        ({}, None),
        ({"policy": "cells"}, "cells"),
        ({"policy": "tokens"}, "tokens"),
        ({"policy": "stream"}, None),
        ({"policy": ["cells"]}, None),
    ],
)
def test_the_policy_of_a_summary_is_cells_tokens_or_none(params: dict[str, Any], policy: str | None) -> None:
    assert long_term.policy_of(params) == policy


TEA = observation("Ann sold 9 teas.", 1)


def test_summarised_cells_are_archived_and_as_many_admitted() -> None:
    case = compressing(TEA, params={"policy": "cells"})
    assert answered(case, "S") == (
        ReplaceSummary(owner=KLAUS, text="S", version=4),
        Archive(owner=KLAUS, numbers=(1,), into_summary=True, shown=(1,)),
        TakeWaiting(KLAUS, 1),
    )
    assert long_term.heuristic(case) == (
        ReplaceSummary(owner=KLAUS, text="Ann sold 9 teas.", version=4),
        Archive(owner=KLAUS, numbers=(1,), into_summary=True),
        TakeWaiting(KLAUS, 1),
    )
    with pytest.raises(ValueError, match="none of the cells"):
        answered(compressing(params={"policy": "cells"}), "S")
    assert long_term.heuristic(compressing(params={"policy": "cells"})) == ()
    unchanged = compressing(TEA, params={"policy": "cells"}, model="m", keep=True)
    assert long_term.heuristic(unchanged) == (ForgetWaiting(KLAUS, 1),)
    assert len(long_term.heuristic(compressing(TEA, params={"policy": "cells"}, keep=True))) == 3, "no model was asked"
    assert len(long_term.heuristic(compressing(TEA, params={"policy": "cells"}, model="m"))) == 3


@pytest.mark.parametrize(("number", "passed"), [(2, 2), (None, 1), ("x", 1)])
def test_a_window_counts_its_passes(number: Any, passed: int) -> None:
    params = {"policy": "tokens", "pass": number}
    done = SetCounter(KLAUS, "compression_passes", passed)
    assert answered(compressing(TEA, params=params), "S") == (
        ReplaceSummary(owner=KLAUS, text="S", version=4),
        Archive(owner=KLAUS, numbers=(1,), into_summary=True, shown=(1,)),
        done,
    )
    shorter = compressing(params=params, summary="Ann sang well.")
    assert answered(shorter, "Ann sang.") == (ReplaceSummary(owner=KLAUS, text="Ann sang.", version=4), done)
    for text in ("Ann sang well.", "Ann sang very well."):
        with pytest.raises(ValueError, match="no shorter"):
            answered(shorter, text)
    assert long_term.heuristic(shorter) == (done,), "its one sentence cannot be told shorter"
    assert long_term.heuristic(compressing(params=params, model="m", keep=True)) == (done,)
    assert long_term.heuristic(compressing(TEA, params=params, model="m", keep=True)) == ()


@pytest.mark.parametrize(
    ("room", "told", "cut"), [(9, "Ann sold 9 teas.", 0), (6, "Ann sold 9 teas.", 0), (5, "sold 9 teas.", 2)]
)
def test_a_window_is_summarised_within_its_room(room: int, told: str, cut: int) -> None:
    replaced, *_ = long_term.heuristic(compressing(TEA, params={"policy": "tokens", "room": room}))
    assert replaced == ReplaceSummary(owner=KLAUS, text=told, version=4, cut=cut)


@pytest.mark.parametrize("room", [0, -1, None, "9"])
def test_an_invalid_number_of_tokens_is_replaced_by_the_default(room: Any) -> None:
    params = {"policy": "tokens", "room": room}
    words = Summarise(Templates()).prompt(compressing(TEA, params=params)).user
    usual = Summarise(Templates()).prompt(compressing(TEA, params={"policy": "tokens"})).user
    assert words == usual
    assert "at most 368 words" in usual, "600 tokens are 461 words, of which a model is asked for four fifths"


@pytest.mark.parametrize(
    ("size", "params"), [(None, {}), (BATCH, {}), (BATCH - 1, {"size": BATCH - 1}), (5, {"size": 5})]
)
def test_a_smaller_rating_request_says_so(size: int | None, params: dict[str, int]) -> None:
    stream = stream_of(*(observation(f"Tea {n}.", n, importance=0) for n in range(30)))
    if size is not None:
        stream.set_counter(SIZE, size)
    (request,) = RateImportance(Templates()).due(moment_of(stream, 9))
    assert len(request.numbers or ()) == (size or BATCH)
    assert {name: value for name, value in request.params.items() if name != "estimates"} == params
    assert request.params["estimates"].keys() == {str(n) for n in request.numbers or ()}


def test_an_interrupt_while_a_field_is_shown_is_not_its_fault() -> None:
    class Interrupts:
        def __repr__(self) -> str:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_kind(Own(order=Interrupts()))  # type: ignore[arg-type]


def test_a_value_that_cannot_be_shown_is_named_by_its_type() -> None:
    class Fails:
        def __repr__(self) -> str:
            raise RuntimeError

    with pytest.raises(KindError, match="order a value of type Fails is not an integer from -1000000 to 1000000"):
        check_kind(Own(order=Fails()))  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "shown"), [("", "of class Own"), (None, "of class Own"), ("x" * 99, f"'{'x' * 64}'")])
def test_a_kind_without_a_name_is_named_by_its_class(name: Any, shown: str) -> None:
    with pytest.raises(KindError, match=rf"^the kind {shown} cannot be registered: "):
        check_kind(Own(name=name))
