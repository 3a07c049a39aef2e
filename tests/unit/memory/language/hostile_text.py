"""Text that somebody writes to stall a host: shapes that can be made of any length."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Shape = Callable[[int], str]  # a text of so many characters, about


def filled(unit: str, tail: str = "", head: str = "") -> Shape:
    """A shape: `unit` again and again between `head` and `tail`."""

    def made(length: int) -> str:
        room = max(0, length - len(head) - len(tail))
        return f"{head}{(unit * (room // len(unit) + 1))[:room]}{tail}"

    return made


#: Runs of one kind, ended by what makes a match fail late.
SHAPES: Mapping[str, Shape] = {
    "apostrophes": filled("'", "x"),
    "quotes": filled("”'\"»", "x"),
    "spaces": filled(" ", "%", "1"),
    "dots and commas": filled(".,", "x"),
    "brackets": filled(" (", "x"),
    "one word": filled("a"),
    "letters and dots": filled("a.", "%"),
    "marks out of order": lambda length: "a" + "\u0301" * (length // 2) + "\u0316" * (length // 2),
    "line ends and tabs": filled("\n\t", "%"),
    "marks on one Thai letter": filled("\u0e48", head="\u0e01"),
    "dashes": filled(" -", "%"),
    "sentences of a letter": filled("a.\n"),
    "initials": filled("a. "),
    "contractions": filled("I'd "),
    "you": filled("you "),
    "conjunctions": filled(" so I a"),
    "and": filled(" and", "%", "1"),
    "clock times": filled("1pm "),
    "days": filled("today "),
    "praise": filled("so ", "%", "you are "),
    "Han": filled("。中"),
    "flags": filled("\U0001f1e6"),
}
#: What a model may write in the place of an answer, too.
SHAPES_OF_ANSWERS: Mapping[str, Shape] = {
    **SHAPES,
    "thoughts": filled("<think>", "x"),
    "fences": filled("```", "x"),
    "fences with line ends": filled("```a \n", "x"),
    "objects": filled('{"a":', "x"),
    "lists and objects": filled("[{", "x"),
    "whole objects": filled("{}"),
}
