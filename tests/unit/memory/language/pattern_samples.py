"""Every regular expression of the product, and texts made for each to keep it busy: its own repeats, pumped."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from re import _constants as sre
from re import _parser
from typing import Any, NamedTuple

from tests.repository import ROOT
from tests.unit.memory.language.hostile_text import filled

PACKAGES = ("memory", "prompts", "tasks", "scheduler", "workers", "hosting", "simulation", "ops")
_NEED_MORE = ("__main__", "mesa_llm")  # in the names of modules that start something or need further packages
_SOURCE = f"{ROOT / 'cogitate'}/"
_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
_FEW, _MANY = 3, 40  # samples of one alternative; a repeat of at most so many cannot be pumped far
_OF_CATEGORY = {
    sre.CATEGORY_DIGIT: "1",
    sre.CATEGORY_NOT_DIGIT: "a",
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_NOT_SPACE: "a",
    sre.CATEGORY_WORD: "a",
    sre.CATEGORY_NOT_WORD: "%",
}


class Used(NamedTuple):
    """A pattern, and whether its module only asks for matches that begin where a text does."""

    pattern: re.Pattern[str]
    anchored: bool = False

    def on(self, text: str) -> object:
        """All that a use of the pattern may do."""
        if self.anchored:
            return self.pattern.match(text), self.pattern.fullmatch(text)
        return self.pattern.sub("", text)


def patterns(package: str) -> Mapping[str, Used]:
    """Return the patterns that a package compiles or writes in a call of `re`, by where they stand."""
    found: dict[str, Used] = {}
    for file in sorted((ROOT / package).rglob("*.py")):
        name = ".".join(("cogitate", *file.relative_to(ROOT).with_suffix("").parts))
        if any(word in name for word in _NEED_MORE):
            continue
        source = list(ast.walk(ast.parse(file.read_text())))
        methods: dict[str, set[str]] = {}
        for node in source:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                methods.setdefault(node.value.id, set()).add(node.attr)
        for key, value in vars(importlib.import_module(name)).items():
            anchored = key in methods and methods[key] <= {"match", "fullmatch"}
            for index, pattern in enumerate(_within(value)):
                found.setdefault(f"{name}.{key}" + (f"[{index}]" if index else ""), Used(pattern, anchored))
        for call in source:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and _names(call.func.value, "re"):
                literal, method = call.args[0], call.func.attr
                if isinstance(literal, ast.Constant) and method != "compile":
                    pattern = re.compile(literal.value)
                    found[f"{name}:{call.lineno}"] = Used(pattern, method in ("match", "fullmatch"))
    return {key: used for key, used in found.items() if isinstance(used.pattern.pattern, str)}


@contextmanager
def compiled(found: dict[str, re.Pattern[str]]) -> Iterator[None]:
    """Note each pattern that a function of the product compiles within the block, of names among others."""
    compile_one = re._compile  # type: ignore[attr-defined]  # of all of the module's functions

    def noted(pattern: Any, flags: Any) -> re.Pattern[str]:
        made: re.Pattern[str] = compile_one(pattern, flags)
        code = sys._getframe(2).f_code
        if code.co_filename.startswith(_SOURCE):
            found.setdefault(made.pattern, made)
        return made

    re._compile = noted  # type: ignore[attr-defined]
    try:
        yield
    finally:
        re._compile = compile_one  # type: ignore[attr-defined]


def _names(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _within(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _within(part)
    elif isinstance(value, dict):
        yield from _within(list(value.values()))


def pumps(pattern: re.Pattern[str]) -> list[Callable[[int], str]]:
    """Texts of any length in which one of its repeats goes on and on, once or again and again, and then fails."""
    parsed = _parser.parse(pattern.pattern, pattern.flags)
    found = dict.fromkeys(_pumps(list(parsed), [""]))
    again = dict.fromkeys(("", head + one) for head, one in found if head)
    return [filled(one, "\x01", head) for head, one in [*found, *again]]


def _pumps(nodes: list[Any], before: list[str]) -> Iterator[tuple[str, str]]:
    for op, argument in nodes:
        if op in _REPEATS:
            _, most, body = argument
            if most > _MANY:
                for head in before[:_FEW]:
                    for one in _samples(list(body))[:_FEW]:
                        if one:
                            yield head, one
            yield from _pumps(list(body), before)
        elif op is sre.BRANCH:
            for branch in argument[1]:
                yield from _pumps(list(branch), before)
        elif op is sre.SUBPATTERN:
            yield from _pumps(list(argument[3]), before)
        elif op is sre.ATOMIC_GROUP:
            yield from _pumps(list(argument), before)
        elif op in (sre.ASSERT, sre.ASSERT_NOT):
            yield from _pumps(list(argument[1]), before)
        before = [head + one for head in before for one in _samples([(op, argument)])][:_FEW]


def _samples(nodes: list[Any]) -> list[str]:
    """Some texts that these parts of a pattern match."""
    texts = [""]
    for op, argument in nodes:
        texts = [text + one for text in texts for one in _of(op, argument)][: 4 * _FEW]
    return texts


def _of(op: Any, argument: Any) -> list[str]:
    if op is sre.LITERAL:
        return [chr(argument)]
    if op is sre.NOT_LITERAL:
        return ["a" if argument != ord("a") else "b"]
    if op is sre.ANY:
        return ["a"]
    if op is sre.IN:
        return _of_set(argument)
    if op is sre.BRANCH:
        return [text for branch in argument[1] for text in _samples(list(branch))[:1]]
    if op is sre.SUBPATTERN:
        return _samples(list(argument[3]))
    if op is sre.ATOMIC_GROUP:
        return _samples(list(argument))
    if op in _REPEATS:
        least, _, body = argument
        once = _samples(list(body))[:_FEW]
        return [text * max(1, least) for text in once] + ([] if least else [""])
    return [""]  # looks ahead or behind, or at an edge


def _of_set(parts: list[Any]) -> list[str]:
    if parts[0][0] is sre.NEGATE:
        taken = re.compile(
            "[" + "".join(re.escape(c) for c in map(chr, range(32, 127)) if _takes(parts[1:], c)) + "\x00]"
        )
        return [next(char for char in "a %1.\n" if not taken.match(char))]
    texts: list[str] = []
    for op, argument in parts:
        if op is sre.LITERAL:
            texts.append(chr(argument))
        elif op is sre.RANGE:
            texts.append(chr(argument[0]))
        elif op is sre.CATEGORY:
            texts.append(_OF_CATEGORY[argument])
    return texts


def _takes(parts: list[Any], char: str) -> bool:
    for op, argument in parts:
        if op is sre.LITERAL and ord(char) == argument:
            return True
        if op is sre.RANGE and argument[0] <= ord(char) <= argument[1]:
            return True
        if op is sre.CATEGORY and re.match(
            {
                sre.CATEGORY_DIGIT: r"\d",
                sre.CATEGORY_NOT_DIGIT: r"\D",
                sre.CATEGORY_SPACE: r"\s",
                sre.CATEGORY_NOT_SPACE: r"\S",
                sre.CATEGORY_WORD: r"\w",
                sre.CATEGORY_NOT_WORD: r"\W",
            }[argument],
            char,
        ):
            return True
    return False
