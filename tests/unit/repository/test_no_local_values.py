"""No log of the product shows local variables: they hold memories, keys and prompts."""

from __future__ import annotations

import ast

import pytest
import structlog

from cogitate.hosting import logs
from tests.repository import ROOT

PACKAGES = ("memory", "prompts", "tasks", "scheduler", "workers", "hosting", "simulation", "ops")


def test_an_error_is_shown_without_the_values_of_variables(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["a secret", "rose"]
    before = structlog.get_config()
    try:
        logs.configure(0)
        try:
            secret = " ".join(words)
            raise KeyError(len(secret))
        except KeyError as error:
            structlog.get_logger().error("failed", exc_info=error)
    finally:
        structlog.configure(**before)
    said = capsys.readouterr().err
    assert "KeyError" in said
    assert "a secret rose" not in said


def test_no_event_carries_an_error_whose_text_may_quote_a_memory() -> None:
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                    logged = isinstance(node.func.value, ast.Name) and node.func.value.id in ("log", "logger")
                    carries = node.func.attr == "exception" or any(k.arg == "exc_info" for k in node.keywords)
                    assert not (logged and carries), f"{file}:{node.lineno}"
