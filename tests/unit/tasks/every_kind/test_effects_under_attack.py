"""Every answer that a kind's model allows: the kind refuses it by a ValueError, or asks for what a run takes."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cogitate.memory import typed_json
from cogitate.memory.effects import Effect
from cogitate.memory.stream import Stream
from cogitate.scheduler.intake.effects import check_effect
from cogitate.tasks.job import Request
from cogitate.tasks.kind import Case, Kind
from cogitate.tasks.registry import kinds
from cogitate.tasks.shown import effects_of
from tests.unit.tasks.every_kind.answer_schemas import drawn_answer
from tests.unit.tasks.kind_cases import KLAUS, MARIA, case_of, message, moment_of, observation, stream_of


def lived() -> Stream:
    entries = [
        entry
        for hour in range(7, 12)
        for entry in (
            observation(f"Klaus saw the mill at {hour}.", hour * 60, subjects=(KLAUS, MARIA)),
            message(f"Have you seen the river at {hour}?", hour * 60 + 5),
        )
    ]
    return stream_of(*entries)


def case_for(kind: Kind) -> Case:
    stream = lived()
    asked = next(iter(kind.due(moment_of(stream, 720))), Request(kind=kind.name, owner=KLAUS))
    return case_of(kind, stream, 720, request=asked)


ASKING = [kind for kind in kinds() if kind.name != "prune"]  # which asks nothing


@pytest.mark.parametrize("kind", ASKING, ids=lambda kind: kind.name)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_valid_answer_does_more_than_a_run_takes(kind: Kind, data: st.DataObject) -> None:
    case = case_for(kind)
    prompt = kind.prompt(case)
    answer = drawn_answer(prompt.answer, data)
    if answer is None:
        return
    effects: tuple[Effect, ...] = ()
    with suppress(ValueError):  # unusable, as a kind says it; nothing else may be raised
        effects = effects_of(kind, case, answer, prompt)
    for effect in effects:
        assert check_effect(effect) == effect
    raw = msgspec.json.encode(effects)
    assert typed_json.decode(raw, tuple[Effect, ...]) == effects
    assert len(raw) < 200_000
