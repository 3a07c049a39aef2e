"""Every command and option that an alert, a card, a page or a message tells users to type exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from typer.testing import CliRunner

from cogitate.ops.cli import COMMANDS, app
from tests.repository import ROOT

PACKAGES = ("memory", "prompts", "tasks", "scheduler", "workers", "hosting", "simulation", "ops", "cogitate")
COMMAND = re.compile(r"(?<!-A )\bcogitate ([a-z][a-z-]*)((?: (?:--?[a-z][\w-]*|[A-Z]+|\{[^}]*\}|[\w./:=-]+))*)")
PROSE = {"as", "needs", "share"}  # after the name of the product in a sentence
PASSED_ON = {"--port", "--basic-auth", "--url-prefix", "--address"}  # Flower's


def texts() -> Iterator[tuple[str, str]]:
    """Every text of the alerts, the pages and the code, docstrings included."""
    yield "alerts.yml", (ROOT / "ops/prometheus/alerts.yml").read_text()
    for page in sorted((ROOT / "ops").rglob("templates/*")):
        yield page.name, page.read_text()
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.JoinedStr):
                    parts = [str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values]
                    yield str(file.relative_to(ROOT)), "".join(parts)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield str(file.relative_to(ROOT)), node.value


def told() -> dict[str, set[tuple[str, str]]]:
    """Return where each command is told to users, with which options."""
    found: dict[str, set[tuple[str, str]]] = {}
    for where, text in texts():
        for name, rest in COMMAND.findall(text):
            for option in re.findall(r"--[a-z][a-z-]*", rest) or [""]:
                found.setdefault(name, set()).add((where, option))
    return found


def test_every_documented_command_and_option_exists() -> None:
    commands = told()
    assert {name: commands[name] for name in commands.keys() - COMMANDS.keys() - PROSE} == {}
    assert len(commands.keys() & COMMANDS.keys()) > 15
    for name in sorted(commands.keys() & COMMANDS.keys() - {"worker"}):  # whose further options are Celery's
        known = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"}).output
        if name == "flower":
            known += " ".join(PASSED_ON)
        unknown = [(name, where, option) for where, option in sorted(commands[name]) if option not in known]
        assert unknown == []
