"""The kinds that a process knows, and what asking for another says."""

from __future__ import annotations

import pytest

from tasks.registry import UnknownKind, kind_of, kinds

BUILT_IN = ["rate", "plan", "act", "reflect", "integrate", "summarise", "recount", "prune"]


def test_the_built_in_kinds_are_there_in_the_order_of_admission() -> None:
    known = [kind for kind in kinds() if kind.name in BUILT_IN]
    assert [kind.name for kind in known] == BUILT_IN
    assert [kind.order for kind in kinds()] == sorted(kind.order for kind in kinds())
    for kind in known:
        assert kind_of(kind.name) is kind


def test_a_kind_that_nobody_registered_is_refused_with_the_names_of_those_that_are() -> None:
    with pytest.raises(UnknownKind, match=r"no kind of job is called 'sing'; known are .*plan"):
        kind_of("sing")
