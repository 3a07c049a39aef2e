"""The table of limits: how cells are named, and which limit applies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.scheduler.config.limits import (
    LIMIT_UNITS,
    MAX_LIMIT,
    PERIODS,
    LimitError,
    LimitName,
    LimitTable,
    parse_limit_name,
)

scopes = st.one_of(
    st.just("run"), st.text(min_size=1).map(lambda t: f"kind:{t}"), st.text(min_size=1).map(lambda t: f"owner:{t}")
)


@given(st.sampled_from(PERIODS), scopes, st.sampled_from(LIMIT_UNITS))
def test_every_name_reads_back(period: str, scope: str, unit: str) -> None:
    name = LimitName(period, scope, unit)  # type: ignore[arg-type]
    assert parse_limit_name(name.text()) == name


def test_the_short_form_means_the_whole_run() -> None:
    assert parse_limit_name("day.tokens") == parse_limit_name("day.run.tokens") == LimitName("day", "run", "tokens")


def test_owners_may_hold_dots_and_colons() -> None:
    assert parse_limit_name("day.owner:agent:j.r.smith.calls") == LimitName("day", "owner:agent:j.r.smith", "calls")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "period ''"),
        ("day", "period 'day'"),
        ("week.run.calls", "period 'week'"),
        ("day.run.token", "unit 'token'"),
        ("day.run.", "unit ''"),
        ("day.kind:.calls", "scope 'kind:'"),
        ("day.kinds:plan.calls", "scope 'kinds:plan'"),
        ("day..calls", "scope ''"),
        ("day.run.run.calls", "scope 'run.run'"),
    ],
)
def test_an_invalid_limit_is_named(text: str, wrong: str) -> None:
    with pytest.raises(LimitError, match=wrong):
        parse_limit_name(text)


@pytest.mark.parametrize("value", [-1, MAX_LIMIT + 1, 1.0, "5", True, None])
def test_limits_are_integers_that_lua_holds(value: object) -> None:
    with pytest.raises(LimitError, match=r"day\.run\.calls"):
        LimitTable({"day.run.calls": value})  # type: ignore[dict-item]


@pytest.mark.parametrize("value", [0, 1, MAX_LIMIT])
def test_any_cell_may_be_set(value: int) -> None:
    assert LimitTable({"day.run.calls": value}).of("day", "run", "calls") == value


def test_an_exact_scope_goes_before_its_wildcard() -> None:
    table = LimitTable({"day.owner:*.calls": 5, "day.owner:agent:a.calls": 0, "day.kind:*.tokens": 7})
    assert table.of("day", "owner:agent:a", "calls") == 0
    assert table.of("day", "owner:agent:b", "calls") == 5
    assert table.of("day", "kind:plan", "tokens") == 7
    assert table.of("day", "run", "calls") is None
    assert table.of("tick", "owner:agent:b", "calls") is None
    assert table.limited("day", "owner:agent:b")
    assert not table.limited("run", "owner:agent:b")


def test_it_is_listed_in_a_fixed_order() -> None:
    limits = {"day.run.tokens": 2, "day.run.calls": 1, "run.run.calls": 3}
    assert list(LimitTable(limits)) == list(LimitTable(dict(reversed(limits.items()))))
