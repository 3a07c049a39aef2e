"""The class that a host declares as a kind: what is refused of it, and from which module workers import it."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from cogitate import daily, newest
from cogitate import kind as declare
from cogitate.errors import KindError
from cogitate.tasks.own.declared_kind import declaring_modules
from cogitate.tasks.registry import is_kind, kind_of
from tests.unit.tasks.own_kind_case import Said


class Numbers(BaseModel):
    """No text at all."""

    one: int


def of_two(one: Any, other: Any) -> None:
    return None


def of_three(one: Any, other: Any, third: Any) -> None:
    return None


def of_one(one: Any) -> Any:
    return None


def register(arguments: dict[str, Any], **methods: Any) -> None:
    """Declare a class that has these methods, none of which takes itself."""
    body = {name: staticmethod(given) if callable(given) else given for name, given in methods.items()}
    declare(**({"name": "tell"} | arguments))(type("Tell", (), body))


ASKED: dict[str, Any] = {"ask": "Tell it.", "answer": Said}

REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "instead a value": ({}, {"instead": 3}, r"instead cannot be called as instead\(case, memories\)"),
    "instead of one": ({}, {"instead": of_one}, r"instead cannot be called as instead\(case, memories\)"),
    "instead of three": ({}, {"instead": of_three}, r"instead cannot be called as instead\(case, memories\)"),
    "store of two": (ASKED, {"instead": of_two, "store": of_two}, r"store cannot be called as store\(case, answer"),
    "store a value": (ASKED, {"instead": of_two, "store": ()}, "store cannot be called"),
    "due twice": (
        {"due": daily("02:00")},
        {"instead": of_two, "due": of_one, "wake": of_one},
        r"it declares due twice: give due=… or the method due\(moment\), not both",
    ),
    "two questions": (
        ASKED | {"template": "tell.j2"},
        {"instead": of_two},
        "it has two questions: give ask=… or template=…, not both",
    ),
    "owners of numbers": ({"owners": ("agent", 3)}, {"instead": of_two}, "owners .*3.* is not a tuple of owner types"),
    "owners a list": ({"owners": ["agent"]}, {"instead": of_two}, "owners .* is not a tuple of owner types"),
    "importance 0": ({"importance": 0}, {"instead": of_two}, "importance 0 is not an integer from 1 to 10"),
    "importance 11": ({"importance": 11}, {"instead": of_two}, "importance 11 is not an integer"),
    "importance true": ({"importance": True}, {"instead": of_two}, "importance True is not an integer"),
    "importance a float": ({"importance": 5.0}, {"instead": of_two}, "importance 5.0 is not an integer"),
    "due a number": ({"due": 0}, {"instead": of_two}, "due 0 is invalid: give one such as daily"),
    "ask a number": ({"ask": 3, "answer": Said}, {"instead": of_two}, "it has an answer but no question"),
    "answer no model": (ASKED | {"answer": int}, {"instead": of_two}, "answer <class 'int'> is not a subclass"),
    "no text": (ASKED | {"answer": Numbers}, {"instead": of_two}, "Numbers has 0 texts.*add a method store"),
    "an answer for nothing": ({"answer": Said}, {"instead": of_two}, "it has an answer but no question: give"),
    "a template for nothing": (
        {"template": "tell.j2"},
        {"instead": of_two},
        "it asks a model but has no answer=…, the class of",
    ),
}


@pytest.mark.parametrize(("arguments", "methods", "said"), REFUSED.values(), ids=REFUSED)
def test_a_class_that_could_not_work_is_refused(
    arguments: dict[str, Any], methods: dict[str, Any], said: str, tmp_path: Path
) -> None:
    if "template" in arguments:
        arguments = arguments | {"template": str(written(tmp_path))}
    with pytest.raises(KindError, match=rf"the kind 'tell' cannot be registered: {said}") as refused:
        register(arguments, **methods)
    assert "; " not in str(refused.value), "and of nothing else"
    assert not is_kind("tell")


def written(folder: Path) -> Path:
    path = folder / "tell.j2"
    path.write_text("{% block system %}Be brief.{% endblock %}{% block user %}Go.{% endblock %}")
    return path


@pytest.mark.parametrize(
    ("arguments", "methods"),
    [
        ({"importance": 1}, {"instead": of_two}),
        ({"importance": 10}, {"instead": of_two}),
        ({"owners": ()}, {"instead": of_two}),
        ({"reads": newest(1)}, {"instead": lambda *given: None}),
        ({}, {"heuristic": of_one}),
        ({"due": daily("02:00")}, {"heuristic": of_one, "wake": of_one}),
        ({}, {"instead": of_two, "due": of_one, "wake": of_one}),
        (ASKED | {"on_denied": "drop"}, {}),
        (ASKED | {"on_denied": "defer"}, {}),
        (ASKED, {"instead": of_two, "store": of_three}),
        (ASKED, {"heuristic": of_one}),
        (ASKED | {"answer": Numbers}, {"instead": of_two, "store": of_three}),
        (ASKED | {"answer": Numbers}, {"instead": of_two, "effects": of_three}),
        ({"answer": Said}, {"instead": of_two, "prompt": of_two}),
    ],
)
def test_a_class_that_can_work_is_registered(arguments: dict[str, Any], methods: dict[str, Callable[..., Any]]) -> None:
    register(arguments, **methods)
    assert is_kind("tell")


@pytest.mark.parametrize(("called", "name"), [("Tell", "tell"), ("DayDream", "day_dream"), ("Tell2You", "tell2_you")])
def test_a_kind_without_a_name_has_that_of_its_class(called: str, name: str) -> None:
    body = {"instead": staticmethod(of_two)}
    assert declare()(type(called, (), body)).__name__ == called
    assert is_kind(name)


def test_omitted_attributes_have_their_defaults() -> None:
    register(ASKED, instead=of_two)
    own: Any = kind_of("tell")
    assert (own.latency, own.on_denied, own.prompt_cap, own.output_cap) == ("5m", "heuristic", 1_500, 300)
    declared = own.declared
    assert (declared.owners, declared.importance, declared.due) == (("agent",), 5, None)


DECLARING = """
from cogitate import kind

@kind()
class Night:
    def instead(self, case, memories):
        return None
"""


@pytest.mark.parametrize(
    ("run", "module"),
    [
        (lambda town: runpy.run_module("my_town.night", run_name="__main__", alter_sys=True), "my_town.night"),
        (lambda town: runpy.run_module("my_town", run_name="__main__", alter_sys=True), "my_town.__main__"),
        (lambda town: runpy.run_path(str(town / "night.py"), run_name="__main__"), ""),
        (lambda town: runpy.run_path(str(town), run_name="__main__"), ""),
    ],
    ids=["python -m my_town.night", "python -m my_town", "python night.py", "python my_town/"],
)
def test_workers_import_the_module_that_was_run_by_its_name_and_no_script(
    run: Callable[[Path], object], module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    town = tmp_path / "my_town"
    town.mkdir()
    (town / "__init__.py").touch()
    for name in ("__main__", "night"):
        (town / f"{name}.py").write_text(DECLARING)
    monkeypatch.syspath_prepend(str(tmp_path))
    run(town)
    assert declaring_modules() == [module]


def test_a_class_that_cannot_be_made_is_refused_with_its_error() -> None:
    def fails(self: object) -> None:
        raise LookupError("no town")

    with pytest.raises(KindError, match=r"Tell\(\) fails with LookupError: no town; it must take no arguments"):
        declare(name="tell")(type("Tell", (), {"__init__": fails, "instead": lambda self, case, memories: None}))
