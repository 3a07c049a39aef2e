"""The effects of a kind without a model: what its own code returns or raises ends nothing but its job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cogitate.memory.effects import SetCounter
from cogitate.scheduler.intake.kind_effects import KindEffects, made_without_model, place_of
from tests.unit.scheduler.scheduler_case import ANN, Thinker

CASE: Any = None  # no kind here looks at it
WHOLE, HALF = SetCounter(ANN, "whole", 1), SetCounter(ANN, "half", 1)


class Asking(Thinker):
    """A kind that makes what a test says."""

    def __init__(self, makes: Callable[[], Any]) -> None:
        super().__init__("think")
        self.makes = makes

    def heuristic(self, case: Any) -> Any:
        return self.makes()


class Halved(Asking):
    """A kind whose question can be made smaller."""

    def halve(self, case: Any) -> Any:
        return (HALF,)


def fails(error: BaseException) -> Callable[[], Any]:
    def makes() -> Any:
        raise error

    return makes


@pytest.mark.parametrize(
    ("kind", "how", "made"),
    [
        (Asking(lambda: (WHOLE,)), {}, WHOLE),
        (Asking(lambda: (WHOLE,)), {"halved": True}, WHOLE),
        (Halved(lambda: (WHOLE,)), {}, WHOLE),
        (Halved(lambda: (WHOLE,)), {"halved": False}, WHOLE),
        (Halved(lambda: (WHOLE,)), {"halved": True}, HALF),
    ],
)
def test_a_kind_shrinks_its_prompt_on_demand_if_it_can(kind: Asking, how: Any, made: SetCounter) -> None:
    assert made_without_model(kind, CASE, **how) == KindEffects((made,))


def test_an_error_is_named_by_place_without_its_text() -> None:
    made = made_without_model(Asking(fails(ValueError("what Ada remembers"))), CASE)
    assert made.effects == ()
    assert made.refusal.startswith("kind 'think': heuristic raised ValueError in test_kind_effects.py, line ")
    assert "Ada" not in made.refusal


def test_unwritable_effects_are_refused_and_an_interrupt_passes() -> None:
    refusal = made_without_model(Asking(lambda: 5), CASE).refusal
    line = Asking.heuristic.__code__.co_firstlineno
    assert refusal.startswith(
        f"kind 'think': heuristic (test_kind_effects.py, line {line}): int is not a tuple of effects"
    )
    with pytest.raises(KeyboardInterrupt):
        made_without_model(Asking(fails(KeyboardInterrupt())), CASE)


def test_a_reason_is_short_for_any_error_name() -> None:
    odd = type("Odd" * 200, (Exception,), {})
    for makes in (fails(odd()), lambda: odd()):
        assert len(made_without_model(Asking(makes), CASE).refusal) == 300


def test_the_place_of_an_error_is_the_innermost() -> None:
    def inner() -> None:
        raise LookupError

    def outer() -> None:
        inner()

    assert place_of(LookupError()) == "", "it was never raised"
    with pytest.raises(LookupError) as raised:
        outer()
    line = inner.__code__.co_firstlineno + 1
    assert place_of(raised.value) == f"in test_kind_effects.py, line {line}"
