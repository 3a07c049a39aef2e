"""The one check of effects: what a kind asks for is as it will be read, or is refused with what is wrong."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from cogitate.memory import typed_json
from cogitate.memory.effects import (
    AdvanceCursor,
    Append,
    Archive,
    Effect,
    ForgetWaiting,
    MarkAccessed,
    Rate,
    ReplaceSummary,
    SetCharacter,
    SetCounter,
    SetPlanStatus,
    TakeWaiting,
    Tell,
)
from cogitate.memory.entry import MAX_TEXT, Character, Entry, PlanItem
from cogitate.scheduler.engine.late_answers import read_offers
from cogitate.scheduler.intake.checks import MAX_DEPTH, MAX_INTEGER, MAX_LABEL, MAX_PARAMS, InputError, check_params
from cogitate.scheduler.intake.effects import (
    MAX_BYTES,
    MAX_EFFECTS,
    MAX_ITEMS,
    MAX_NUMBERS,
    MAX_SUMMARY,
    check_bounds,
    check_effects,
)
from cogitate.scheduler.ledger.claims import Result
from cogitate.scheduler.ledger.step_replies import read_rows
from cogitate.tasks.job import JobKey, Request
from tests.unit.scheduler.scheduler_case import ANN
from tests.unit.tasks.kind_cases import KLAUS, MARIA

BIG = 2**53


def append(**fields: Any) -> Append:
    return Append(ANN, Entry(**{"type": "observation", "text": "I hummed.", "minute": 5} | fields))


def plan(**fields: Any) -> Append:
    return append(type="plan", items=(PlanItem(**{"id": "1-0", "description": "hum"} | fields),))


def nested(levels: int) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for _ in range(levels):
        data = {"x": data}
    return data


def itself() -> dict[str, Any]:
    data: dict[str, Any] = {}
    data["x"] = data
    return data


#: What a kind returns, and what the refusal says of it.
WRONG: list[tuple[str, Any, str]] = [
    # no effects
    ("none", None, "NoneType is not a tuple of effects"),
    ("text", "append", "str is not a tuple of effects"),
    ("generator", (one for one in range(0)), "generator is not a tuple of effects"),
    ("set", {1}, "set is not a tuple of effects"),
    ("of none", (None,), "NoneType.: that is not an effect"),
    ("of text", ("archive everything",), "str.: that is not an effect"),
    ("of dicts", ({"type": "append", "owner": ANN},), "dict.: that is not an effect"),
    ("of classes", (Append,), "that is not an effect"),
    ("second", (append(), 7), "effect 2 of 2 .*that is not an effect"),
    ("many", (append(),) * (MAX_EFFECTS + 1), "1001 effects, at most 1000 fit"),
    ("much", (append(text="é" * MAX_TEXT),) * 300, "bytes of JSON, at most 2000000 fit"),
    # owners
    ("owner none", (SetCounter(None, "x", 1),), "Expected `str`, got `null`"),  # type: ignore[arg-type]
    ("owner blank", (SetCounter("", "x", 1),), "'' is not an owner"),
    ("owner bare", (SetCounter("ann", "x", 1),), "'ann' is not an owner"),
    ("owner control", (SetCounter("agent:a\x1b[2J", "x", 1),), "is not an owner"),
    ("owner long", (SetCounter("agent:" + "x" * 300, "x", 1),), "is not an owner"),
    ("owner half", (SetCounter("agent:\ud800", "x", 1),), "surrogates"),
    # entries
    ("type", (append(type="dream"),), "Invalid enum value 'dream'"),
    ("type none", (append(type=None),), "got `null`"),
    ("source", (append(source="gossip"),), "Invalid enum value 'gossip'"),
    ("text none", (append(text=None),), "Expected `str`, got `null`"),
    ("text bytes", (append(text=7),), "Expected `str`, got `int`"),
    ("text empty", (append(text=""),), "text is blank"),
    ("text blank", (append(text=" \n\t"),), "text is blank"),
    ("text long", (append(text="x" * (MAX_TEXT + 1)),), "text has 4001 characters, at most 4000"),
    ("text huge", (append(text="x" * 5_000_000),), "5000\\d{3} bytes of JSON|5000000 characters"),
    ("text half", (append(text="half \ud800"),), "surrogates"),
    ("minute", (append(minute=-5),), "minute -5 is not from 0"),
    ("minute far", (append(minute=BIG),), f"minute {BIG} is not from 0"),
    ("minute float", (append(minute=1.5),), "Expected `int`, got `float`"),
    ("minute bool", (append(minute=True),), "Expected `int`, got `bool`"),
    ("minute none", (append(minute=None),), "Expected `int`, got `null`"),
    ("minute beyond JSON", (append(minute=2**70),), "minute 1180591620717411303424 is not from 0"),
    ("importance", (append(importance=77),), "importance 77 is not from 1 to 10"),
    ("importance below", (append(importance=-1),), "importance -1 is not from 1 to 10"),
    ("importance word", (append(importance="high"),), "Expected `int`, got `str`"),
    ("location", (append(location="x" * 501),), "location has 501 characters"),
    ("location none", (append(location=None),), "Expected `str`, got `null`"),
    ("subjects", (append(subjects=("x" * 501,)),), "subjects has 501 characters"),
    ("subjects text", (append(subjects="ann"),), "Expected `array`, got `str`"),
    ("subjects of numbers", (append(subjects=(1,)),), "Expected `str`, got `int`"),
    ("subjects many", (append(subjects=("a",) * (MAX_NUMBERS + 1)),), "subjects has 100001 values"),
    ("tags", (append(tags=("x" * 501,)),), "tags has 501"),
    ("keywords", (append(keywords=("x" * 501,)),), "keywords has 501"),
    ("source_id", (append(source_id="x" * 501),), "source_id has 501"),
    ("quest_id", (append(quest_id="x" * 501),), "quest_id has 501"),
    ("encounter_id", (append(encounter_id="x" * 501),), "encounter_id has 501"),
    ("evidence", (append(evidence=(0,)),), "0 in evidence is not the number of an entry"),
    ("evidence word", (append(evidence=("one",)),), "Expected `int`, got `str`"),
    ("valid_until", (append(valid_until=-1),), "valid_until -1"),
    ("since_minute", (append(since_minute=-1),), "since_minute -1"),
    ("since_number", (append(since_number=-1),), "since_number -1"),
    ("no entry", (Append(ANN, "I hummed."),), "Expected `object`, got `str`"),  # type: ignore[arg-type]
    ("replaces", (Append(ANN, append().entry, replaces=-1),), "replaces -1"),
    # plans
    ("item id", (plan(id=""),), "id of an item is blank"),
    ("item text", (plan(description=" "),), "description of an item is blank"),
    ("item long", (plan(description="x" * (MAX_TEXT + 1)),), "description of an item has 4001"),
    ("item place", (plan(location="x" * 501),), "location of an item has 501"),
    ("item minute", (plan(minute=-1),), "minute of an item -1"),
    ("item priority", (plan(priority=9),), "priority 9 of an item is not from 1 to 5"),
    ("item status", (plan(status="done"),), "Invalid enum value 'done'"),
    ("item twice", (append(items=(PlanItem(id="1", description="a"),) * 2),), "two items have the same id"),
    (
        "items many",
        (append(items=tuple(PlanItem(id=str(i), description="a") for i in range(MAX_ITEMS + 1))),),
        "there are 201 items, at most 200",
    ),
    ("items text", (append(items=("hum",)),), "Expected `object`, got `str`"),
    # the others
    ("archive", (Archive(ANN, ("one",)),), "Expected `int`, got `str`"),  # type: ignore[arg-type]
    ("archive none", (Archive(ANN, (0,)),), "0 in numbers is not the number of an entry"),
    ("archive far", (Archive(ANN, (1, BIG)),), f"{BIG} in numbers is not the number of an entry"),
    ("archive many", (Archive(ANN, tuple(range(1, MAX_NUMBERS + 2))),), "numbers names 100001 entries"),
    ("summary", (ReplaceSummary(ANN, "x" * (MAX_SUMMARY + 1), 0),), "text has 400001 characters, at most 400000"),
    ("summary none", (ReplaceSummary(ANN, None, 0),), "got `null`"),  # type: ignore[arg-type]
    ("summary version", (ReplaceSummary(ANN, "x", -1),), "version -1"),
    ("summary cut", (ReplaceSummary(ANN, "x", 0, cut=-1),), "cut -1"),
    ("take", (TakeWaiting(ANN, -1),), "count -1"),
    ("forget", (ForgetWaiting(ANN, 1, start=-1),), "start -1"),
    ("forget none", (ForgetWaiting(ANN, -1, start=1),), "count -1"),
    ("character", (SetCharacter(ANN, Character(objectives=("x" * MAX_TEXT,))),), "character has"),
    ("character type", (SetCharacter(ANN, Character(names="Ann")),), "Expected `array`, got `str`"),  # type: ignore[arg-type]
    ("plan status", (SetPlanStatus(ANN, "1-0", "done", "pending"),), "'done'"),  # type: ignore[arg-type]
    ("plan status item", (SetPlanStatus(ANN, "", "active", "pending"),), "item is blank"),
    ("cursor", (AdvanceCursor(ANN, "x", 0, 1.5),), "got `float`"),  # type: ignore[arg-type]
    ("cursor start", (AdvanceCursor(ANN, "x", -1, 1),), "start -1"),
    ("cursor end", (AdvanceCursor(ANN, "x", 0, BIG),), f"end {BIG}"),
    ("cursor name", (AdvanceCursor(ANN, " ", 0, 1),), "name is blank"),
    ("cursor shown", (AdvanceCursor(ANN, "x", 0, 1, shown=(0,)),), "0 in shown is not the number of an entry"),
    ("archive shown", (Archive(ANN, (1,), shown=(0,)),), "0 in shown is not the number of an entry"),
    ("archive lost", (Archive(ANN, (1,), lost=-1),), "lost -1"),
    ("counter", (SetCounter(ANN, "x", "1"),), "Expected `int`, got `str`"),  # type: ignore[arg-type]
    ("counter far", (SetCounter(ANN, "x", -BIG),), f"value -{BIG}"),
    ("counter name", (SetCounter(ANN, "x" * 501, 1),), "name has 501 characters"),
    ("accessed", (MarkAccessed(ANN, (1,), -1),), "minute -1"),
    ("accessed numbers", (MarkAccessed(ANN, (-1,), 1),), "-1 in numbers"),
    ("rate", (Rate(ANN, (1,), (11,)),), "rating 11 is not from 1 to 10"),
    ("rate none", (Rate(ANN, (1,), (0,)),), "rating 0 is not from 1 to 10"),
    ("rate pairs", (Rate(ANN, (1, 2), (5,)),), "1 ratings for 2 numbers"),
    ("rate numbers", (Rate(ANN, (0,), (5,)),), "0 in numbers"),
    ("tell topic", (Tell(ANN, "", {}),), "topic is blank"),
    ("tell list", (Tell(ANN, "x", [1]),), "Expected `object`, got `array`"),  # type: ignore[arg-type]
    ("tell object", (Tell(ANN, "x", {"x": object()}),), "unsupported"),
    ("tell half", (Tell(ANN, "x", {"x": "\udfff"}),), "surrogates"),
    ("tell nan", (Tell(ANN, "x", {"x": float("nan")}),), "data must be JSON values"),
    ("tell much", (Tell(ANN, "x", {"x": "y" * 20_000}),), "at most 20000"),
    ("tell deep", (Tell(ANN, "x", nested(MAX_DEPTH)),), f"nested {MAX_DEPTH + 1} deep"),
    ("tell deeper", (Tell(ANN, "x", nested(3_000)),), "recursion|deep"),
    ("tell itself", (Tell(ANN, "x", itself()),), "recursion|deep"),
]


def test_invalid_effects_are_refused(subtests: pytest.Subtests) -> None:
    for name, made, why in WRONG:
        with subtests.test(name=name):
            with pytest.raises(InputError, match=why) as refused:
                check_effects(made)
            assert len(str(refused.value)) < 600
            str(refused.value).encode()  # what says it is printed and logged


def test_a_refusal_names_the_effect_and_its_owner() -> None:
    with pytest.raises(InputError, match=r"^effect 2 of 3 for 'agent:maria' \(Append\): Invalid enum value 'dream'"):
        check_effects((append(), Append(MARIA, append(type="dream").entry), append()))


def test_valid_effects_are_returned_as_they_will_be_read() -> None:
    subjects: Any = ["agent:ann", "Ben"]
    made = [append(subjects=subjects), Tell(ANN, "x", {"x": (1, 2)}), SetCounter(ANN, "x", -1)]
    checked = check_effects(made)
    assert checked == (append(subjects=("agent:ann", "Ben")), Tell(ANN, "x", {"x": [1, 2]}), SetCounter(ANN, "x", -1))
    assert typed_json.decode(msgspec.json.encode(checked), tuple[Effect, ...]) == checked
    assert check_effects(()) == ()


#: Effects whose values are the last that fit.
AT_THE_BOUND: list[tuple[str, Effect]] = [
    ("text", append(text="x" * MAX_TEXT)),
    ("minute", append(minute=MAX_INTEGER)),
    ("least", append(minute=0)),
    ("importance", append(importance=10)),
    ("not rated", append(importance=0)),
    ("label", append(location="x" * MAX_LABEL, tags=("x" * MAX_LABEL,))),
    ("subjects", append(subjects=("a",) * MAX_NUMBERS)),
    ("since", append(since_minute=0, since_number=0)),
    ("item", plan(priority=1, minute=0)),
    ("item without a place", plan(priority=5, location=None, minute=None)),
    ("items", append(items=tuple(PlanItem(id=str(n), description="a") for n in range(MAX_ITEMS)))),
    ("archive", Archive(ANN, (*range(1, MAX_NUMBERS), MAX_INTEGER))),
    ("archive nothing", Archive(ANN, ())),
    ("summary", ReplaceSummary(ANN, "x" * MAX_SUMMARY, MAX_INTEGER)),
    ("summary empty", ReplaceSummary(ANN, "", 0)),
    ("cursor", AdvanceCursor(ANN, "x", 0, MAX_INTEGER)),
    ("forget", ForgetWaiting(ANN, 0, start=0)),
    ("most", SetCounter(ANN, "x" * MAX_LABEL, MAX_INTEGER)),
    ("least", SetCounter(ANN, "x", -MAX_INTEGER)),
    ("accessed", MarkAccessed(ANN, (1,), 0)),
    ("rate", Rate(ANN, (1, 2), (1, 10))),
    ("character", SetCharacter(ANN, Character())),
    ("data", Tell(ANN, "x", nested(MAX_DEPTH - 1))),
    ("broad data", Tell(ANN, "x", nested(MAX_DEPTH - 1) | {"y": [[], []]})),
    ("much data", Tell(ANN, "x", {"x": "y" * (MAX_PARAMS - len('{"x":""}'))})),
]


def test_values_on_a_bound_are_valid(subtests: pytest.Subtests) -> None:
    for effect in [row[1] for row in AT_THE_BOUND]:
        with subtests.test(effect=effect):
            assert check_effects((effect,)) == (effect,)


def test_effects_up_to_the_limits_of_number_and_bytes_are_valid() -> None:
    assert len(check_effects((append(),) * MAX_EFFECTS)) == MAX_EFFECTS
    long = [append(text="x" * MAX_TEXT)] * (MAX_BYTES // (MAX_TEXT + 200))
    left = MAX_BYTES - len(msgspec.json.encode([*long, ReplaceSummary(ANN, "", 0)]))
    exactly = (*long, ReplaceSummary(ANN, "x" * left, 0))
    assert len(msgspec.json.encode(exactly)) == MAX_BYTES
    assert check_effects(exactly) == exactly
    with pytest.raises(InputError, match=f"have {MAX_BYTES + 1} bytes of JSON, at most {MAX_BYTES} fit"):
        check_effects((*long, ReplaceSummary(ANN, "x" * (left + 1), 0)))


def test_a_result_that_was_decoded_is_held_to_the_same_bounds() -> None:
    good: tuple[Effect, ...] = (append(), Rate(KLAUS, (1,), (10,)))
    check_bounds(good)
    readable = [row for row in WRONG if row[0] in ("importance", "minute", "text empty", "rate", "owner blank")]
    assert len(readable) == 5
    for _, made, why in readable:
        with pytest.raises(InputError, match=why):
            check_bounds(typed_json.decode(msgspec.json.encode(made), tuple[Effect, ...]))


def test_results_of_another_versions_worker_are_checked_too() -> None:
    key = JobKey(1, "hum", ANN, 0, 0)
    for effects, readable in (((append(),), True), ((append(importance=77),), False)):
        raw = msgspec.json.encode(Result(effects=effects, source="llm"))
        (row,) = read_rows([key.text().encode(), b"staged", raw, b"1", b"1", b"", b"", b""])
        (offer,) = read_offers([key.text().encode(), raw], [])
        assert (row.state, row.result is not None) == (("staged", True) if readable else ("dead", False))
        assert (offer.result is not None) == readable


#: An effect of each class that has numbers, with its fields that hold one.
NUMBERS: list[tuple[Effect, tuple[str, ...]]] = [
    (append(), ("replaces", "cut")),
    (ReplaceSummary(ANN, "x", 0), ("version", "cut")),
    (TakeWaiting(ANN, 1), ("count",)),
    (ForgetWaiting(ANN, 1), ("count", "start")),
    (SetCharacter(ANN, Character()), ("cut",)),
    (AdvanceCursor(ANN, "x", 1, 2), ("start", "end")),
    (MarkAccessed(ANN, (1,), 5), ("minute",)),
]


@pytest.mark.parametrize(("effect", "field"), [(effect, field) for effect, fields in NUMBERS for field in fields])
def test_each_number_of_an_effect_fits_every_reader(effect: Effect, field: str) -> None:
    for number in (0, MAX_INTEGER):
        check_effects((msgspec.structs.replace(effect, **{field: number}),))
    for number in (-1, MAX_INTEGER + 1):
        with pytest.raises(InputError, match=f"{field} {number} is not from 0 to"):
            check_effects((msgspec.structs.replace(effect, **{field: number}),))


class Interrupting:
    """A value whose reading is interrupted by Ctrl-C."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise KeyboardInterrupt


def test_an_interrupt_passes_while_effects_or_parameters_are_looked_at() -> None:
    with pytest.raises(KeyboardInterrupt):
        check_effects((Tell(owner="agent:ann", topic="x", data={"value": Interrupting()}),))

    class Params(msgspec.Struct):
        def __post_init__(self) -> None:
            raise KeyboardInterrupt

    kind: Any = SimpleNamespace(name="think", params=Params)
    with pytest.raises(KeyboardInterrupt):
        check_params(Request(kind="think", owner="agent:ann"), kind)


def test_one_effect_is_taken_for_a_tuple_of_one() -> None:
    assert check_effects(append()) == (append(),)
