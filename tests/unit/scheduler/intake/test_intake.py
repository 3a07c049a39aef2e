"""The edge: what a host passes in is checked, copied, and refused with a reason."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory import typed_json
from cogitate.memory.effects import Append, Archive, Effect, SetPlanStatus, Tell
from cogitate.memory.entry import MAX_TEXT, Entry, PlanItem
from cogitate.memory.profile import Location, Profile
from cogitate.scheduler.intake.checks import (
    MAX_DEPTH,
    MAX_LABEL,
    MAX_NAMES,
    MAX_NUMBERS,
    MAX_PARAMS,
    InputError,
    as_read,
    check_locations,
    check_owner,
    check_params,
    check_profile,
    check_request,
    check_within,
    reason,
)
from cogitate.scheduler.intake.effects import check_effect
from cogitate.scheduler.intake.observations import Observation, check_entry
from cogitate.tasks.job import JobKey, Reads, Request
from cogitate.tasks.meters import Meter
from cogitate.tasks.registry import kinds
from tests.unit.scheduler.scheduler_case import ANN
from tests.unit.tasks.own_kind_case import Own

INN = Location(id="inn", name="The inn")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def check(**fields: Any) -> Request:
    every = {kind.name: kind for kind in (*kinds(), Own())}
    checked = check_request(Request(**{"kind": "hum", "owner": ANN, **fields}), every)
    check_params(checked, every[checked.kind])
    return checked


@pytest.mark.parametrize(
    "owner",
    [
        "agent:isabella",
        "npc:guard 7",
        "location:café/東京",
        "group:a:b:c",
        "world",
        "agent:" + "x" * 194,
        "agent:می\u200cخواهم",
        "npc:क्\u200dष",
        "agent:👩\u200d🚀",
        "npc:☀\ufe0f",
        "agent:e\u0301",
        "agent:\ue000",
        "npc:!",
    ],
)
def test_owners(owner: str) -> None:
    assert check_owner(owner) == owner
    key = JobKey(1, "plan", owner, 0, 0)
    assert JobKey.parse(key.text()) == key


def test_invalid_owners_are_refused(subtests: pytest.Subtests) -> None:
    for owner in [
        "",
        "agent",
        "agent:",
        ":x",
        "isabella",
        "Agent:x",
        "world:",
        "tree:x",
        "agent:a\nb",
        "agent:\x00",
        "agent:\x7f",
        "agent:\x9b2J",
        "agent:\u202eada",
        "agent:\u200b",
        "agent: ",
        "agent:\u200d",
        "group:\u200c\u200d",
        "npc:\u3164",
        "location:\ufe0f",
        "agent:\u2800",
        "agent:\u0301",
        "agent:\u115f ",
        "agent:" + "x" * 195,
        "agent:\ud800",
        "agent:a}:0123456789abcdef:job:x",
    ]:
        with subtests.test(owner=owner), pytest.raises(InputError, match="is not an owner"):
            check_owner(owner)


def test_an_observation_becomes_an_entry() -> None:
    given_as = {"text": "saw", "minute": 5, "subjects": ["a", "b"], "importance": 3}
    entry = Entry(type="observation", text="saw", minute=5, subjects=("a", "b"), importance=3)
    assert check_entry(ANN, given_as, 5) == entry
    assert check_entry(ANN, Observation(**given_as), 5) == entry  # type: ignore[arg-type]
    assert check_entry(ANN, entry, 5) == entry


def test_an_entry_keeps_fields_that_an_observation_lacks() -> None:
    entry = Entry(type="summary", text="s", minute=9, evidence=(1, 2), since_minute=3)
    assert check_entry(ANN, entry, 5) == entry
    listed: Any = ["a"]
    assert check_entry(ANN, Entry(type="observation", text="s", minute=9, subjects=listed), 5).subjects == ("a",)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"text": "x" * (MAX_TEXT + 1)}, "text"),
        ({"minute": -1}, "minute"),
        ({"minute": 10**30}, "minute"),
        ({"minute": "noon"}, "minute"),
        ({"importance": 11}, "importance"),
        ({"type": "dream"}, "type"),
        ({"source": "gossip"}, "source"),
        ({"subjects": ["x" * 501]}, "subjects"),
        ({"colour": "red"}, "colour"),
        ({"text": "half \ud800"}, "text"),
        ({"text": None}, "text"),
        ({"text": b"bytes"}, "text .*bytes are not text"),
        ({"minute": True}, "minute .*true and false are not numbers"),
        ({"importance": -1}, "importance"),
        ({"importance": True}, "importance"),
        ({"minute": 2**53}, "minute"),
        ({"subjects": ["x"] * (MAX_NAMES + 1)}, "subjects"),
        ({"location": "x" * (MAX_LABEL + 1)}, "location"),
    ],
)
def test_invalid_observations_are_refused(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=f"observation for 'agent:ann': .*{named}"):
        check_entry(ANN, {"text": "saw", "minute": 5, **fields}, 5)


@pytest.mark.parametrize(
    "fields",
    [
        {"number": 1},
        {"tick": 1},
        {"rated": 1},
        {"provisional": True},
        {"items": (PlanItem(id="1-0", description="eat"),)},
        {"minute": "5"},
        {"minute": 2**70},
        {"importance": 99},
        {"evidence": (1.5,)},
        {"since_number": "2"},
        {"text": "x" * (MAX_TEXT + 1)},
        {"text": "\udfff"},
        {"subjects": (1,)},
        {"type": "dream"},
    ],
)
def test_invalid_observed_entries_are_refused(fields: dict[str, Any]) -> None:
    values: dict[str, Any] = {"type": "observation", "text": "saw", "minute": 5, **fields}
    with pytest.raises(InputError, match="observation for 'agent:ann'"):
        check_entry(ANN, Entry(**values), 5)


@pytest.mark.parametrize(
    "fields",
    [
        {"text": "x" * MAX_TEXT},
        {"minute": 0},
        {"minute": 2**53 - 1},
        {"importance": 0},
        {"importance": 10},
        {"subjects": ("x",) * MAX_NAMES},
        {"location": "x" * MAX_LABEL},
        {"tags": ("x" * MAX_LABEL,)},
    ],
)
def test_an_observation_may_be_as_large_as_fits(fields: dict[str, Any]) -> None:
    usual = {"type": "observation", "text": "saw", "minute": 5}
    assert check_entry(ANN, usual | fields, int(str((usual | fields)["minute"]))) == Entry(**(usual | fields))


def test_an_observation_is_of_the_last_thirty_days_or_the_next_one() -> None:
    day, now = 1440, 100_000
    for minute in (now - 30 * day, now, now + day):
        assert check_entry(ANN, {"text": "saw", "minute": minute}, now).minute == minute
    for minute in (now - 30 * day - 1, now + day + 1):
        with pytest.raises(InputError, match="from 30 days before to 1 day after it"):
            check_entry(ANN, {"text": "saw", "minute": minute}, now)


@pytest.mark.parametrize("places", [{"inn": INN}, "inn", b"inn", 5, None])
def test_places_are_a_list(places: object) -> None:
    with pytest.raises(InputError, match="locations are"):
        check_locations(places)


def test_the_place_that_cannot_be_used_is_named_by_its_number() -> None:
    assert check_locations(iter([INN])) == (INN,)
    for wrong, why in ((5, "location 2 is 5"), (INN, "location 2 has the id 'inn' of another")):
        with pytest.raises(InputError, match=why):
            check_locations([INN, wrong])
    many = [Location(id=str(n), name="x") for n in range(10_001)]
    assert len(check_locations(many[:-1])) == 10_000
    with pytest.raises(InputError, match="locations are more than 10,000"):
        check_locations(many)


@given(st.text(max_size=200), st.integers(0, 2**53 - 1), st.lists(st.text(max_size=20), max_size=3))
def test_accepted_input_can_be_written(text: str, minute: int, subjects: list[str]) -> None:
    entry = check_entry(ANN, {"text": f"said {text}", "minute": minute, "subjects": subjects}, minute)
    assert typed_json.decode(msgspec.json.encode(entry), Entry) == entry


def test_a_request_is_copied() -> None:
    inner: dict[str, Any] = {"a": [1, (2, 3)]}
    checked = check(params=inner, numbers=[3, 1])
    inner["a"].append(4)
    assert (checked.params, checked.numbers) == ({"a": [1, [2, 3]]}, (3, 1))


def test_invalid_requests_are_refused(subtests: pytest.Subtests) -> None:
    for fields, why in [
        ({"kind": "dream"}, "no kind 'dream'; there are rate, plan"),
        ({"kind": 7}, "no kind 7"),
        ({"kind": ["plan"]}, "no kind"),
        ({"priority": "high"}, "priority is 'high'"),
        ({"priority": True}, "priority is True"),
        ({"priority": 2**70}, "priority is 11805"),
        ({"numbers": (0,)}, "one of numbers is 0: give an integer from 1"),
        ({"numbers": (1.5,)}, "one of numbers is 1.5"),
        ({"numbers": ("a",)}, "one of numbers is 'a'"),
        ({"numbers": 5}, "numbers are 5: give a list"),
        ({"numbers": "12"}, "numbers are '12': give a list"),
        ({"numbers": range(1, MAX_NUMBERS + 2)}, "more than 10,000"),
        ({"numbers": itertools.count(1)}, "more than 10,000"),
        ({"owner": 5}, "5 is not an owner"),
        ({"reads": "agent:bo"}, "reads are 'agent:bo'"),
        ({"reads": ("agent:bo",)}, "one of reads is 'agent:bo': give a Reads"),
        ({"reads": (Reads("bo", 0),)}, "'bo' is not an owner"),
        ({"reads": (Reads(ANN, -1),)}, "upto is -1"),
        ({"reads": (Reads(ANN, 0, (0,)),)}, "one of numbers is 0"),
        ({"params": {"x": float("nan")}}, "JSON"),
        ({"params": {"x": {1, 2}}}, "JSON"),
        ({"params": {"x": b"bytes"}}, "JSON"),
        ({"params": {"x": object()}}, "JSON"),
        ({"params": {(1, 2): 3}}, "JSON"),
        ({"params": [1]}, "JSON object"),
        ({"params": {"x": "y" * MAX_PARAMS}}, "at most 20,000"),
        ({"params": {"x": "\ud800"}}, "surrogates"),
        ({"kind": "plan", "params": {"replaces": True}}, "unknown field `replaces`; plan takes status, unfinished"),
        ({"kind": "plan", "params": {"status": {"energy": "high"}}}, "Expected `float | object`, got `str`"),
        ({"kind": "plan", "params": {"unfinished": [{"priority": 3}]}}, "description"),
        ({"kind": "reflect", "params": {"since": True}}, "Expected `int`, got `bool`"),
        ({"kind": "act", "params": {"activty": "sweeping"}}, "act takes location, activity, status"),
        ({"kind": "prune", "params": {"routine": [1]}}, "prune takes none"),
        ({"kind": "recount", "params": {"start": 0, "end": 10**9, "minute": 0}}, "recount takes none"),
    ]:
        with subtests.test(fields=fields, why=why), pytest.raises(InputError, match=why):
            check(**fields)


@pytest.mark.parametrize("depth", [MAX_DEPTH, 900, 9_000])
def test_parameters_may_not_be_nested_without_end(depth: int) -> None:
    params: dict[str, Any] = {}
    for _ in range(depth):
        params = {"x": params}
    with pytest.raises(InputError, match="params"):
        check(params=params)


def test_built_in_kinds_accept_their_params() -> None:
    status = {"energy": 80, "mood": 12.5}
    assert check(kind="plan", params={"status": status}).params == {"status": status}
    told = {"location": "inn", "activity": "sweeping", "status": status}
    assert check(kind="act", params=told).params == told
    assert check(kind="reflect", params={"since": 4}).params == {"since": 4}
    for kind in kinds():
        assert check(kind=kind.name).params == {}


def test_a_meter_among_params_is_the_object_that_a_brief_makes_of_it() -> None:
    hunger = {"value": 95, "low": "sated", "high": "starving", "need": "high"}
    checked = check(kind="act", params={"status": {"hunger": Meter(**hunger)}})
    assert checked.params == {"status": {"hunger": hunger}}
    with pytest.raises(InputError, match="params must be JSON values: an object of type set is not JSON"):
        check(kind="act", params={"status": {"hunger": {95}}})


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_parameters_are_accepted_as_they_will_be_read_or_refused(params: dict[str, Any]) -> None:
    try:
        checked = check(params=params)
    except InputError:
        return
    assert typed_json.decode(msgspec.json.encode(checked), Request) == checked


@pytest.mark.parametrize(
    "effect",
    [
        Append(ANN, Entry(type="observation", text="x" * (MAX_TEXT + 1), minute=0)),
        Append(ANN, Entry(type="observation", text="x", minute=1.5)),  # type: ignore[arg-type]
        Archive(ANN, ("one",)),  # type: ignore[arg-type]
        SetPlanStatus(ANN, "1-0", "done", "pending"),  # type: ignore[arg-type]
        Tell(ANN, "action", {"x": object()}),
        Tell(ANN, "action", {"x": "\ud800"}),
        "archive everything",
    ],
)
def test_invalid_effects_are_refused(effect: Any) -> None:
    with pytest.raises(InputError, match="effect for"):
        check_effect(effect)


def test_effects_and_profiles_are_as_they_will_be_read() -> None:
    effect: Effect = Tell(ANN, "action", {"x": (1, 2)})
    assert check_effect(effect) == Tell(ANN, "action", {"x": [1, 2]})
    traits: Any = ["kind"]
    assert check_profile(ANN, Profile(name="A", traits=traits)).traits == ("kind",)
    for wrong in (Profile(name=None), Profile(name="\ud800"), Profile(name="A", age="old"), {"name": 1}):  # type: ignore[arg-type]
        with pytest.raises(InputError, match="profile of 'agent:ann'"):
            check_profile(ANN, wrong)  # type: ignore[arg-type]
    assert check_profile(ANN, Profile(name="A", language="fr")).language == "fr"
    with pytest.raises(InputError, match="language is 'French': give an ISO 639 code"):
        check_profile(ANN, Profile(name="A", language="French"))


@pytest.mark.parametrize(
    ("field", "most", "least"), [("priority", 1_000_000, -1_000_000), ("within", 1_000_000, 0), ("at", 2**53 - 1, 0)]
)
def test_the_numbers_of_a_request_are_bounded_on_both_sides(field: str, most: int, least: int) -> None:
    for fits in (most, least):
        assert getattr(check(**{field: fits}), field) == fits
    for beyond in (most + 1, least - 1):
        with pytest.raises(InputError, match=f"{field} is {beyond}: give an integer from {least:,} to {most:,}"):
            check(**{field: beyond})


@pytest.mark.parametrize("ticks", [0, -1, 1.5, True, "3", 10**7])
def test_within_is_a_number_of_ticks(ticks: object) -> None:
    with pytest.raises(InputError, match="within"):
        check_within(ticks)  # type: ignore[arg-type]


def test_a_request_without_within_may_take_as_long_as_its_kind_says() -> None:
    assert (check_within(None), check_within(3)) == (0, 3)


@pytest.mark.parametrize("wrong", [{"at": -1}, {"within": -1}, {"within": 10**7}, {"at": 2**60}])
def test_a_kinds_own_request_names_ticks(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match=r"(at|within) is .*: give an integer from 0"):
        check_request(Request(kind="plan", owner="agent:ann", **wrong), ["plan"])  # type: ignore[arg-type]


def test_the_reason_of_an_error_is_shown_in_300_characters_of_ascii() -> None:
    assert reason(ValueError("x" * 300)) == "x" * 300
    assert reason(ValueError("x" * 301)) == "x" * 300
    assert reason(ValueError("n\u00e9e \ud800")) == "n\\xe9e \\ud800"
    assert reason(ValueError()) == "ValueError"


class Words(str):
    """Text of a custom class."""


def test_text_of_another_class_is_taken_as_the_plain_text_that_it_is() -> None:
    entry = as_read("entry", Entry(type="observation", text=Words("I hummed."), minute=5), Entry)
    assert (type(entry.text), entry.text) == (str, "I hummed.")


@pytest.mark.parametrize(("age", "fine"), [(None, True), (0, True), (2**53 - 1, True), (-1, False), (2**63, False)])
def test_an_owners_age_is_a_number_that_can_be_kept(age: Any, fine: bool) -> None:
    profile = Profile(name="Ann", age=age)
    if fine:
        assert check_profile("agent:ann", profile).age == age
    else:
        with pytest.raises(InputError, match=r"profile of 'agent:ann': age"):
            check_profile("agent:ann", profile)
