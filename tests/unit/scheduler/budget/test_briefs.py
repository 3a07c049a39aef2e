"""Validation of the host's `brief` and `tier_of` callbacks."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

import pytest
import structlog

from cogitate.memory.checks import MAX_LABEL, MAX_NAMES
from cogitate.memory.entry import MAX_TEXT
from cogitate.memory.errors import InputError
from cogitate.memory.profile import Profile
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.briefs import KEYS, check_brief, checked_brief, checked_tier
from cogitate.tasks.job import Request
from cogitate.tasks.kind import Moment, WorldFacts
from cogitate.tasks.meters import MAX_METER, Meter
from tests.unit.scheduler.scheduler_case import ANN, Thinker


@pytest.mark.parametrize(
    "said",
    [
        {},
        MappingProxyType({"location": "inn"}),
        {"location": "", "activity": " ", "condition": ""},
        {"location": None, "activity": None, "condition": None, "status": None},
        {"location": "x" * MAX_LABEL, "activity": "x" * MAX_TEXT, "condition": "x" * MAX_LABEL},
        {"free": True},
        {"near": ["agent:bob"], "actions": []},
        {"near": None, "actions": None},
        {"free": False},
        {"status": {}},
        {"status": {"energy": 80, "mood": -0.5, "gold": MAX_METER, "debt": -MAX_METER, "x" * MAX_LABEL: 0}},
        {"status": {f"m{n}": n for n in range(MAX_NAMES)}},
    ],
)
def test_valid_brief_is_returned_unchanged(said: Any) -> None:
    assert check_brief(ANN, said) is said
    assert checked_brief(lambda owner: said, [])(ANN) is said


INVALID: list[tuple[Any, str]] = [
    (None, r"brief\('agent:ann'\) is None: give a dict"),
    ([("location", "inn")], "give a dict"),
    ("location", "give a dict"),
    ({"locatoin": "inn"}, f"known keys: {', '.join(KEYS)}; did you mean 'location'?"),
    ({"weather": "rain"}, "unknown key 'weather'; known keys: [a-z, ]*[a-z]$"),
    ({5: "inn"}, "unknown key 5"),
    ({"location": 5}, "location is 5"),
    ({"location": "x" * (MAX_LABEL + 1)}, f"location.*{MAX_LABEL}"),
    ({"condition": "x" * (MAX_LABEL + 1)}, f"condition.*{MAX_LABEL}"),
    ({"activity": "x" * (MAX_TEXT + 1)}, f"activity.*{MAX_TEXT:,}"),
    ({"free": 1}, "free is 1: give True or False"),
    ({"free": None}, "free is None: give True or False"),
    ({"near": "agent:bob"}, "near are 'agent:bob': give a list of strings"),
    ({"near": ["agent:bob", 5]}, "one of .*near is 5"),
    ({"actions": [""]}, "one of .*actions is ''"),
    ({"status": 5}, "status is 5: give a dict of meters"),
    ({"status": [("energy", 5)]}, "give a dict of meters"),
    ({"status": {f"m{n}": n for n in range(MAX_NAMES + 1)}}, "give a dict of meters"),
    ({"status": {"": 5}}, "a meter's name"),
    ({"status": {3: 5}}, "a meter's name is 3"),
    ({"status": {"x" * (MAX_LABEL + 1): 5}}, "a meter's name"),
    ({"status": {"energy": True}}, "energy is True: give a number"),
    ({"status": {"energy": "80"}}, "energy is '80'"),
    ({"status": {"energy": None}}, "energy is None"),
    ({"status": {"energy": math.inf}}, "energy is inf"),
    ({"status": {"energy": -math.inf}}, "energy is -inf"),
    ({"status": {"energy": math.nan}}, "energy is nan"),
    ({"status": {"energy": MAX_METER * 1.1}}, "energy is 1100000000000000"),
    ({"status": {"energy": -(10**400)}}, "energy is"),
    ({"status": {"energy": {"valu": 3}}}, "energy is .*; a meter takes value, low, high, need, least, most"),
    ({"status": {"energy": {"value": 3, "need": "both"}}}, "energy is .*need"),
    ({"status": {"energy": {"value": 3, "least": 9, "most": 9}}}, "most must be larger"),
]


def test_invalid_brief_is_refused(subtests: pytest.Subtests) -> None:
    for said, says in INVALID:
        with subtests.test(said=repr(said)), pytest.raises(InputError, match=says):
            checked_brief({ANN: said}.__getitem__, [])(ANN)


def test_meter_without_meaning_warns_once() -> None:
    stated = Meter(5, low="sated", high="starving")
    brief = checked_brief(lambda owner: {"status": {"hunger": 95, "thirst": stated}}, [])
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            brief(ANN)
    assert [(line["event"], line["meter"]) for line in logs] == [("brief.meter_without_meaning", "'hunger'")]


def test_error_suggests_one_key_even_for_long_input() -> None:
    with pytest.raises(InputError) as refused:
        check_brief(ANN, {"locations": 1}, ["location", "location2"])
    assert str(refused.value).count("did you mean") == 1
    with pytest.raises(InputError, match="did you mean 'xxx"):
        check_brief(ANN, {"x" * 100_000: 1}, ["x" * MAX_LABEL])


def test_custom_kind_adds_brief_keys() -> None:
    kind: Any = Thinker("muse")
    kind.brief_keys = ("weather", "location")
    brief = checked_brief(lambda owner: {"weather": "rain", "zz": owner}, [Thinker("think"), kind])
    with pytest.raises(InputError, match=f"'zz'; known keys: {', '.join(KEYS)}, weather$"):
        brief(ANN)
    assert checked_brief(lambda owner: {"weather": owner}, [kind])(ANN) == {"weather": ANN}


class Interrupted:
    """A host callback that raises."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __call__(self, *given: object) -> Any:
        raise self.error


@pytest.mark.parametrize("error", [KeyError("ann"), GeneratorExit(), RecursionError("deep")])
def test_callback_error_names_the_callback(error: BaseException) -> None:
    failure = f"{type(error).__name__}: "
    with pytest.raises(InputError, match=rf"the host's brief\('agent:ann'\) failed: {failure}") as refused:
        checked_brief(Interrupted(error), [])(ANN)
    assert refused.value.__cause__ is error
    with pytest.raises(InputError, match=f"tier_of for a plan of 'agent:ann' failed: {failure}"):
        checked_tier(Interrupted(error))(Request(kind="plan", owner=ANN), moment())


def test_keyboard_interrupt_propagates() -> None:
    with pytest.raises(KeyboardInterrupt):
        checked_brief(Interrupted(KeyboardInterrupt()), [])(ANN)
    with pytest.raises(KeyboardInterrupt):
        checked_tier(Interrupted(KeyboardInterrupt()))(Request(kind="plan", owner=ANN), moment())


def moment() -> Moment:
    return Moment(
        owner=ANN, stream=Stream(ANN), profile=Profile(name="Ann"), tick=7, minute=7, world=WorldFacts(), brief={}
    )


def test_tier_rule_receives_request_and_moment() -> None:
    request, now = Request(kind="plan", owner=ANN), moment()
    given: list[tuple[object, object]] = []

    def rule(request: Request, moment: Moment) -> Any:
        given.append((request, moment))
        return "strong"

    assert checked_tier(rule)(request, now) == "strong"
    assert given == [(request, now)]


@pytest.mark.parametrize("said", ["weak", "", None, ["strong"], 1])
def test_unknown_tier_is_refused(said: Any) -> None:
    with pytest.raises(InputError, match="return 'routine' or 'strong'"):
        checked_tier(lambda request, moment: said)(Request(kind="plan", owner=ANN), moment())
