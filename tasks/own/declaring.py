"""`cogitate.kind`: declares a kind of job with one class, checks the class and registers the kind."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from cogitate.memory.errors import quoted
from cogitate.prompts.render import VALUES, TemplateError, Templates
from cogitate.tasks.job import Latency
from cogitate.tasks.kind import OnDenied
from cogitate.tasks.kind_check import KindError, wrong_fields
from cogitate.tasks.own.cadences import Cadence
from cogitate.tasks.own.choices import Choice, newest
from cogitate.tasks.own.declared_kind import BUILT_IN_TEMPLATE, Declaration, DeclaredKind, defines, order_of, texts_in
from cogitate.tasks.registry import register

Declared = TypeVar("Declared", bound=type)


def kind(
    *,
    name: str | None = None,
    due: Cadence | None = None,
    owners: tuple[str, ...] = ("agent",),
    reads: Choice | None = None,
    ask: str = "",
    template: str = "",
    answer: type[BaseModel] | None = None,
    importance: int = 5,
    latency: Latency = "5m",
    on_denied: OnDenied = "heuristic",
    prompt_cap: int = 1_500,
    output_cap: int = 300,
    order: int | None = None,
) -> Callable[[Declared], Declared]:
    """Return a decorator that registers a class as a kind of job.

    The class may define `instead(self, case, memories)`, which runs without a model, and
    `store(self, case, answer, memories)`, which handles an answer. Both return a text or an `Entry` to remember,
    effects, or None. Without `store` the answer's one text is remembered. The class may override any method of `Kind`
    (`due`, `wake`, `prompt`, `effects`, `heuristic`, …) and set `params`, `brief_keys`, `needs_brief`, `latency_least`
    and `latency_most`.

    Args:
        name: the name of the kind, its queue and its limits; by default the class's name in lower case.
        due: when owners are due, such as `daily("02:00")`, `every("6h")` or `every("3 ticks")`; None: only when a host
            requests it.
        owners: the types of owners that are due, such as "agent", "npc" or "location".
        reads: the memories that it reads: `newest(20)` (the default), or for example `drawn(3, older="1d")`.
        ask: the task for the model, in a sentence or two; the memories follow.
        template: instead of `ask`, the name of a prompt template beside the module.
        answer: the answer's class, a pydantic model; None: the kind asks no model.
        importance: the importance of a remembered text, from 1 to 10.
        latency: from request to result if ticks wait for results: ticks, game minutes such as "5m", or
            seconds such as "5s".
        on_denied: what happens when the budget refuses a job: "heuristic" (`instead`), "defer" or "drop".
        prompt_cap: the most tokens of a prompt.
        output_cap: the most tokens of an answer, reasoning included.
        order: the kind's place within a boundary; None: after the built-in kinds, by its name.

    Raises:
        KindError: naming the file, the line and each missing or invalid part.
    """
    frame = sys._getframe(1)
    file, line, module = frame.f_code.co_filename, frame.f_lineno, _module_of(frame)

    def declare(body: Declared) -> Declared:
        called = name if name is not None else re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", body.__name__).lower()
        templates, template_name, fault = _template(template, Path(file).parent)
        declared = Declaration(
            name=called,
            module=module,
            due=due,
            owners=owners,
            reads=reads if reads is not None else newest(20),
            ask=ask,
            template=templates,
            template_name=template_name,
            answer=answer,
            importance=importance,
        )
        fields: dict[str, object] = {
            "name": called,
            "order": order if order is not None else order_of(str(called)),
            "latency": latency,
            "on_denied": on_denied,
            "prompt_cap": prompt_cap if answer is not None else 0,
            "output_cap": output_cap if answer is not None else 0,
            "declared": declared,
            "__doc__": body.__doc__,
            "__module__": body.__module__,
            "__qualname__": body.__qualname__,
        }
        wrong = [*fault, *_wrong_values(declared)]
        at = f"{file}, line {line}: "
        made: Any = type(body.__name__, (body, DeclaredKind), fields)
        try:
            own = made()
        except Exception as error:
            wrong.insert(0, f"{body.__name__}() fails with {type(error).__name__}: {error}; it must take no arguments")
            own = made.__new__(made)
        wrong += [*_wrong_question(own), *_wrong_methods(own), *wrong_fields(own)]
        if wrong:
            raise KindError(f"{at}the kind {called!a} cannot be registered: {'; '.join(wrong)}")
        try:
            register(own)
        except KindError as error:
            raise KindError(f"{at}{error}") from error
        return cast(Declared, made)

    return declare


def _module_of(frame: FrameType) -> str:
    """Return the name by which workers can import the module; "" for a script."""
    name = frame.f_globals.get("__name__", "")
    if name == "__main__":
        spec = frame.f_globals.get("__spec__")  # of `python -m my_town.night`
        return spec.name if spec is not None and spec.name != "__main__" else ""
    return str(name)


def _template(file: object, folder: Path) -> tuple[Templates | None, str, list[str]]:
    """Return the host's template, its name, and its errors."""
    if not file:
        return None, BUILT_IN_TEMPLATE, []
    if not isinstance(file, str):
        return None, BUILT_IN_TEMPLATE, [f"template {quoted(file)} is invalid: name a file beside the module"]
    path = folder / file
    if path.suffix != ".j2":
        return None, BUILT_IN_TEMPLATE, [f"template {file!r} is invalid: name a file {path.stem}.j2 beside the module"]
    templates = Templates(path.parent)
    try:
        templates.check([path.stem])
    except TemplateError as error:
        return None, BUILT_IN_TEMPLATE, [f"template: {error}"]
    if unknown := templates.unknown_in(path.stem, VALUES[BUILT_IN_TEMPLATE]):
        known = ", ".join(sorted(VALUES[BUILT_IN_TEMPLATE]))
        fault = f"template {file!r} uses the unknown variables {', '.join(unknown)}; it may use {known}"
        return None, BUILT_IN_TEMPLATE, [f"{fault}, and the request's params.…"]
    return templates, path.stem, []


def _wrong_values(declared: Declaration) -> Iterator[str]:
    """Yield the errors of the arguments that do not become a field of the kind."""
    if declared.due is not None and not hasattr(declared.due, "next_tick"):
        yield f'due {quoted(declared.due)} is invalid: give one such as daily("02:00")'
    reads: object = declared.reads  # not checked yet
    if not callable(reads):
        yield f"reads {quoted(reads)} is invalid: give one such as newest(20)"
    if type(declared.owners) is not tuple or not all(isinstance(one, str) for one in declared.owners):
        yield f'owners {quoted(declared.owners)} is not a tuple of owner types, such as ("agent", "npc")'
    if type(declared.importance) is not int or not 1 <= declared.importance <= 10:
        yield f"importance {quoted(declared.importance)} is not an integer from 1 to 10"


def _wrong_methods(own: DeclaredKind) -> Iterator[str]:
    """Yield the methods with a wrong signature, since no type checker compares the host's class with `Kind`."""
    for name, usual in inspect.getmembers(DeclaredKind, inspect.isfunction):
        if not defines(own, name):
            continue
        arguments = list(inspect.signature(usual).parameters)[1:]
        call = f"{name}({', '.join(arguments)})"
        try:
            signature = inspect.signature(getattr(own, name))
            signature.bind(*arguments)
        except ValueError:  # a built-in function without a signature
            continue
        except TypeError:
            yield f"{name} cannot be called as {call}"
            continue
        if any(
            given != expected and given in arguments
            for given, expected in zip(signature.parameters, arguments, strict=False)
        ):
            yield f"{name} has its parameters in another order: write {call}"


def _wrong_question(own: DeclaredKind) -> Iterator[str]:
    """Yield contradictions and gaps between the parts of a declaration: due, question, answer, fallback."""
    declared = own.declared
    if declared.due is not None and defines(own, "due"):
        yield "it declares due twice: give due=… or the method due(moment), not both"
    if defines(own, "due") and not defines(own, "wake"):
        yield "it has a method due(moment) but no wake(moment), which returns the next tick at which to call it"
    without_model = defines(own, "instead") or defines(own, "heuristic")
    if not without_model and declared.answer is None:
        yield "it has neither answer=…, the class of a model's answer, nor a method instead(case, memories)"
    elif not without_model and own.on_denied == "heuristic":
        yield 'it has no method instead(case, memories), which answers without a model: add it, or on_denied="drop"'
    answer: object = declared.answer  # not checked yet
    asks = bool(declared.ask) or declared.template_name != BUILT_IN_TEMPLATE
    if answer is None:
        if asks:
            yield "it asks a model but has no answer=…, the class of the answer"
        return
    if not isinstance(answer, type) or not issubclass(answer, BaseModel):
        yield f"answer {quoted(answer)} is not a subclass of pydantic's BaseModel"
        return
    if not isinstance(declared.ask, str) or (not asks and not defines(own, "prompt")):
        yield "it has an answer but no question: give ask=…, the instruction to the model, or template=…"
    if declared.ask and declared.template_name != BUILT_IN_TEMPLATE:
        yield "it has two questions: give ask=… or template=…, not both"
    if not defines(own, "store") and not defines(own, "effects") and len(texts := texts_in(answer)) != 1:
        yield (
            f"{answer.__name__} has {len(texts)} texts, so it is not clear what to remember: "
            "add a method store(case, answer, memories)"
        )
