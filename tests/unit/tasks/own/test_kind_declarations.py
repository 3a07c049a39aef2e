"""The declaration of a host's own kind: each mistake is reported by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cogitate import CogitateError, TickLoop
from cogitate.errors import KindError
from cogitate.tasks.kind import Kind, NoParams
from cogitate.tasks.registry import is_kind, kind_names, kind_of, register
from tests.unit.tasks.own.declared_case import ADA, Whim, but
from tests.unit.tasks.own_kind_case import Own, remembered


class Bare:
    """A class that declares nothing."""


async def awaited(*_: Any) -> Any:
    return ()


def yielding(*_: Any) -> Any:
    yield ()


class Number(int):
    """A number of a class of its own."""


class Word(str):
    """A string of a class of its own."""


class Computing(Own):
    """A kind that computes a field, which might be another at each look."""

    @property
    def brief_keys(self) -> Any:  # type: ignore[override]
        raise KeyError("mood")


class Unnamed(Kind):
    """A kind without a name and a place."""

    def heuristic(self, case: Any) -> Any:
        return ()


class Mute(Unnamed):
    """A kind that asks a model for nothing."""

    name, order, prompt_cap, output_cap = "hum", 90, 100, 100


class Saying(Own):
    """A kind that says of its class what it may."""

    brief_keys = ("mood",)
    params = None
    latency_least, latency_most = 1, 100_000


#: What is registered, and what the refusal says.
WRONG: dict[str, tuple[Any, str]] = {
    "none": (None, r"^None is not derived from Kind: write class Hum\(Kind\) and register\(Hum\(\)\), or .* @kind$"),
    "a class": (Own, r"^Own is a class: register an instance of it, as in register\(Own\(\)\)$"),
    "a module's name": ("my_town.kinds", "^the class str is not derived from Kind"),
    "an object of another class": (Bare(), r"^the class Bare is not derived from Kind: write class Hum\(Kind\)"),
    "another class": (Bare, r"^the class Bare is not derived from Kind"),
    "no name, no order": (
        Unnamed(),
        "^the kind of class Unnamed cannot be registered: it has no name; it has no order$",
    ),
    "no question": (Mute(), "^the kind 'hum' .*: output_cap 100 lets it ask a model: give it the methods prompt and"),
    "name none": (but(name=None), "name None is invalid"),
    "name a number": (but(name=7), "name 7 is invalid"),
    "name empty": (but(name=""), "name '' is invalid: use at most 64 letters, digits"),
    "name blank": (but(name=" "), "name ' ' is invalid"),
    "name with a space": (but(name="day dream"), "name 'day dream' is invalid"),
    "name with a slash": (but(name="a/b"), "name 'a/b' is invalid"),
    "name with a brace": (but(name="a}b"), "name 'a}b' is invalid"),
    "name with a colon": (but(name="kind:hum"), "name 'kind:hum' is invalid"),
    "name with a bar": (but(name="a|b"), r"name 'a\|b' is invalid"),
    "name with a star": (but(name="*"), r"name '\*' is invalid"),
    "name with a line": (but(name="hum\n"), r"name 'hum\\n' is invalid"),
    "name that steers": (but(name="hum\x1b[2J"), r"name 'hum\\x1b\[2J' is invalid"),
    "name with half a character": (but(name="hum\ud800"), r"name 'hum\\ud800' is invalid"),
    "name that hides": (but(name="_hum"), "name '_hum' is invalid"),
    "name too long": (but(name="h" * 65), "is invalid: use at most 64"),
    "name without end": (but(name="h" * 1_000_000), "is invalid: use at most 64"),
    "name of Celery's": (but(name="celery"), "name 'celery' is reserved for a queue"),
    "name of its events": (but(name="celeryev.abc"), "is reserved"),
    "name of its mailbox": (but(name="hum.celery.pidbox"), "is reserved"),
    "name of kombu's": (but(name="unacked_mutex"), "is reserved"),
    "order none": (but(order=None), "order None is not an integer"),
    "order a word": (but(order="last"), "order 'last' is not an integer"),
    "order a float": (but(order=4.5), "order 4.5 is not an integer"),
    "order true": (but(order=True), "order True is not an integer"),
    "order taken": (but(order=10), "has order 10, which is 'plan''s"),
    "order far": (but(order=10**9), "order 1000000000 is not an integer from"),
    "latency zero": (but(latency=0), "latency 0 is not an integer from 1"),
    "latency negative": (but(latency=-4), "latency -4 is not an integer from 1"),
    "latency a float": (but(latency=2.0), "latency 2.0 is not an integer"),
    "latency a word": (but(latency="2"), "latency '2' is invalid: give ticks, such as 5, game minutes, such as"),
    "latency true": (but(latency=True), "latency True is not an integer"),
    "latency_least zero": (but(latency_least=0), "latency_least 0 is not an integer from 1"),
    "latency_most a float": (but(latency_most=2.0), "latency_most 2.0 is not an integer"),
    "latency_least far": (but(latency_least=100_001, latency_most=5), "latency_least 100001 is not an [^;]*$"),
    "latency_least a word": (but(latency_least="x", latency_most=5), "latency_least 'x' is not an [^;]*$"),
    "latency_most zero": (but(latency_least=5, latency_most=0), "latency_most 0 is not an [^;]*$"),
    "latency_most a word": (but(latency_least=5, latency_most="x"), "latency_most 'x' is not an [^;]*$"),
    "latency_least above most": (but(latency_least=9, latency_most=8), "latency_least 9 is above latency_most 8"),
    "latency huge": (but(latency=10**9), "latency 1000000000 is not an integer from 1 to 100000"),
    "latency of many digits": (but(latency=10**10_000), "latency a value of type int is not an integer|latency 10+"),
    "on_denied a typo": (but(on_denied="heuristics"), "on_denied 'heuristics' is not 'heuristic', 'defer', 'drop'"),
    "on_denied none": (but(on_denied=None), "on_denied None is not"),
    "on_denied a list": (but(on_denied=["drop"]), "on_denied .'drop'. is not"),
    "prompt_cap negative": (but(prompt_cap=-1), "prompt_cap -1 is not an integer from 0"),
    "prompt_cap a float": (but(prompt_cap=1e3), "prompt_cap 1000.0 is not an integer"),
    "prompt_cap none": (but(prompt_cap=None), "prompt_cap None is not an integer"),
    "output_cap negative": (but(output_cap=-1), "output_cap -1 is not an integer from 0"),
    "output_cap true": (but(output_cap=True), "output_cap True is not an integer"),
    "output_cap a word": (but(output_cap="many"), "output_cap 'many' is not an integer"),
    "output_cap without room": (but(output_cap=100, prompt_cap=0), "prompt_cap 0 leaves no room for a prompt"),
    "name of a class": (but(name=Word("hum")), "name is a Word: give a plain string"),
    "order of a class": (but(order=Number(90)), "order 90 is not a plain integer, as int.…. gives, from"),
    "latency of a class": (but(latency=Number(1)), "latency 1 is not a plain integer"),
    "latency_least of a class": (but(latency_least=Number(1)), "latency_least 1 is not a plain integer"),
    "prompt_cap of a class": (but(prompt_cap=Number(1)), "prompt_cap 1 is not a plain integer"),
    "output_cap of a class": (but(output_cap=Number(1)), "output_cap 1 is not a plain integer"),
    "brief_keys none": (but(brief_keys=None), "brief_keys None is not a tuple of the keys"),
    "brief_keys a number": (but(brief_keys=5), "brief_keys 5 is not a tuple of the keys"),
    "brief_keys a word": (but(brief_keys="mood"), "brief_keys 'mood' is not a tuple of the keys"),
    "brief_keys a dict": (but(brief_keys={"mood": 1}), "brief_keys .'mood': 1. is not a tuple"),
    "brief_keys of numbers": (but(brief_keys=("mood", 5)), "brief_keys has 5: give names"),
    "brief_keys of none": (but(brief_keys=[None]), "brief_keys has None: give names"),
    "brief_keys with no name": (but(brief_keys=("",)), "brief_keys has '': give names"),
    "brief_keys with half a character": (but(brief_keys=("\ud800",)), "brief_keys has '.ud800': give names"),
    "brief_keys too long": (but(brief_keys=("y" * 501,)), "brief_keys has 'y+': give names of 1 to 500 printable"),
    "brief_keys computed": (Computing(), "brief_keys is a property, whose value may change: set a plain attribute$"),
    "params a number": (but(params=5), "params 5 is not a subclass of msgspec.Struct"),
    "params a word": (but(params="mood"), "params 'mood' is not a subclass of msgspec.Struct"),
    "params a dict": (but(params={"mood": str}), "params .* is not a subclass of msgspec.Struct"),
    "params another class": (but(params=int), "params <class 'int'> is not a subclass of msgspec.Struct"),
    "params an instance": (but(params=NoParams()), r"params NoParams\(\) is not a subclass of msgspec.Struct"),
}


def test_invalid_kinds_cannot_be_registered(subtests: pytest.Subtests) -> None:
    for name, (kind, why) in WRONG.items():
        with subtests.test(name=name):
            before = kind_names()
            with pytest.raises(KindError, match=why) as refused:
                register(kind)
            assert isinstance(refused.value, CogitateError)
            assert isinstance(refused.value, ValueError)
            assert len(str(refused.value)) < 1_000
            str(refused.value).encode()
            assert kind_names() == before


def test_all_mistakes_of_a_kind_are_reported_at_once() -> None:
    with pytest.raises(
        KindError, match=r"^the kind 'hum' cannot be registered: latency 0 .*; name is.*; on_denied 'x'"
    ):
        register(but(latency=0, on_denied="x", name=Word("hum")))


@pytest.mark.parametrize(
    "kind",
    [
        Own(),
        but(name="day-dream.2"),
        but(name="грёза"),
        but(order=-5),
        but(brief_keys=("mood", "x", "y" * 500)),
        but(brief_keys=[]),
        but(params=NoParams),
        but(params=Whim),
        but(params=None),
        Saying(),
        but(latency_least=1, latency_most=1),
        but(order=1_000_000),
        but(order=-1_000_000),
        but(name="h" * 64),
        but(prompt_cap=10_000_000, output_cap=10_000_000),
        but(prompt_cap=0, output_cap=0),
        but(latency=1),
        but(output_cap=100),
    ],
)
def test_valid_kinds_can_be_registered(kind: Own) -> None:
    register(kind)
    assert is_kind(kind.name)
    assert kind_of(kind.name) is kind


def test_a_kind_without_a_heuristic_cannot_be_instantiated() -> None:
    class Hum(Kind):
        name, order = "hum", 90

    with pytest.raises(TypeError, match="heuristic"):
        Hum()  # type: ignore[abstract]


def test_a_minimal_kind_runs_on_request(cogitate_loop: Callable[..., TickLoop]) -> None:
    class Hum(Kind):
        name, order = "hum", 90

        def heuristic(self, case: Any) -> Any:
            return remembered(case)

    register(Hum())
    loop = cogitate_loop(owners=ADA, ticks=9)
    left: list[int] = []
    for tick in loop:
        left += [tick.number for change in tick.applied if change.kind == "hum"]
        if tick.number == 2:
            loop.request("hum", "agent:ada", params={"any": "thing"})
    assert left == [7], "its latency is five game minutes"


#: What only a type checker refuses: what the kind does, and how its job is refused in a run.
UNTYPED: dict[str, tuple[dict[str, Any], str]] = {
    "heuristic async": ({"heuristic": awaited}, "coroutine is not a tuple of effects"),
    "heuristic yields": ({"heuristic": yielding}, "generator is not a tuple of effects"),
    "heuristic of nothing": ({"heuristic": lambda: ()}, "kind 'hum': heuristic raised TypeError in "),
    "heuristic a value": ({"heuristic": ()}, "kind 'hum': heuristic raised TypeError in "),
}


@pytest.mark.parametrize(("does", "why"), UNTYPED.values(), ids=UNTYPED)
def test_a_method_of_the_wrong_type_refuses_its_jobs_and_ends_no_run(
    cogitate_loop: Callable[..., TickLoop], does: dict[str, Any], why: str
) -> None:
    register(but(**does))
    ends = [end for tick in cogitate_loop(owners=ADA, ticks=3) for end in tick.ended]
    assert ends
    assert all(end.end == "refused" and why in end.why for end in ends), ends


def test_a_kind_takes_the_place_of_the_one_of_its_name() -> None:
    register(but(name="plan", order=10))
    assert kind_of("plan").latency == 1
    assert sorted(kind_names()).count("plan") == 1
