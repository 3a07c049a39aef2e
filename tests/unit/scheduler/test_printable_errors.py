"""What others write reaches no terminal as it is: every error, line of a command and line of a log can be printed.

Hostile texts stand as keys and as values in all that enters: settings, their file and variables, arguments of a loop,
calls of its body, messages of hosts, and arguments of the command line.
"""

from __future__ import annotations

import io
import json
import logging
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import structlog
from fakeredis import FakeRedis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cogitate import CogitateError, Event, EventRule, Location, Observation, Profile, Settings, TickLoop
from cogitate.effects import SetCounter
from cogitate.hosting.protocol.host_table import HostTable
from cogitate.hosting.protocol.stdio import StdioHost
from cogitate.memory.language.hidden_characters import visible
from cogitate.ops import cli
from cogitate.scheduler.config.tables import TABLE_OF
from cogitate.tasks.job import Reads
from cogitate.workers.processes.logs import escape_foreign, text_processors
from tests.unit.scheduler.test_wrong_inputs import ADA, opened

LONGEST = 2_100  # characters of a message
PARTS = (
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m",
    "\u202eevil\u202c",
    "\u2066",
    "\r\n",
    "\n",
    "\x00",
    "\x7f",
    "\ud800",
    "\u2028",
    "\u200b",
    "\ufeff",
    "\U000e0041",
    "a",
    "ada",
    ":",
    ".",
    "}",
    "'",
    '"',
    "\\",
    "%s",
    "{}",
    "[red]",
    "é",
    "x" * 9_000,
)
HOSTILE = st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map("".join)
VALUES = st.one_of(HOSTILE, HOSTILE.map(lambda text: {text: text}), HOSTILE.map(lambda text: [text]), st.just(-1))
MANY = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def is_clear(error: BaseException) -> None:
    """The message is a line of bounded length, and a traceback shows nothing else of what was given."""
    said = str(error)
    assert said.isprintable(), ascii(said)
    assert len(said) <= LONGEST
    for line in "".join(traceback.format_exception(error)).split("\n"):
        assert line.isprintable(), ascii(line)


def refused(call: Callable[[], object]) -> None:
    """Whatever is done with the input, it is taken or refused in a clear line."""
    try:
        call()
    except CogitateError as error:
        is_clear(error)


@MANY
@given(name=HOSTILE, value=VALUES, field=st.sampled_from(sorted(Settings.model_fields)))
def test_settings(name: str, value: Any, field: str) -> None:
    refused(lambda: Settings(**{name: value}))
    refused(lambda: Settings(**{field: value}))
    refused(lambda: Settings(**{field: {name: value}}))
    refused(lambda: Settings(**{field: {"default": {name: value}}}))


@MANY
@given(name=HOSTILE, value=HOSTILE, field=st.sampled_from(sorted(Settings.model_fields)))
def test_the_file_of_settings(
    name: str, value: str, field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    key, text = (json.dumps(one, ensure_ascii=False) for one in (name, value))
    table = TABLE_OF[field]
    for line in (
        *(f"{key} = {text}", f"[{table}]\n{key} = {text}", f"[{table}.{field}]\n{key} = {text}"),
        *(f"[{table}.{field}.{key}]\n{key} = 1", f"{name}\n{value}"),
    ):
        Path("cogitate.toml").write_bytes(line.encode("utf-8", "surrogatepass"))
        refused(Settings)


@MANY
@given(name=HOSTILE, value=HOSTILE, field=st.sampled_from(sorted(Settings.model_fields)))
def test_variables(name: str, value: str, field: str) -> None:
    name, value = (text.replace("\0", "").replace("\ud800", "\udc80") for text in (name, value))
    for variable, given_as in (
        (f"COGITATE_{field.upper()}", value),
        (f"COGITATE_{field.upper()}", json.dumps({name: value})),
        (f"COGITATE_{field.upper()}__{name.replace('=', '')}", value),
    ):
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv(variable, given_as)
            refused(Settings)


ARGUMENTS: dict[str, Callable[[str, Any], dict[str, Any]]] = {
    "run": lambda name, value: {"run": name},
    "owners": lambda name, value: {"owners": {name: Profile(name="Ada")}},
    "profiles": lambda name, value: {"owners": {ADA: Profile(name=name, home=value)}},
    "no profiles": lambda name, value: {"owners": {name: value}},
    "locations": lambda name, value: {"locations": [Location(id=name, name=value)] * 2},
    "describe": lambda name, value: {"describe": {name: value}},
    "event_types": lambda name, value: {"event_types": {name: value}},
    "a rule": lambda name, value: {"event_types": {name: EventRule(strategy=value)}},
    "exist": lambda name, value: {"exist": name},
    "brief": lambda name, value: {"brief": lambda owner: {name: value}},
    "limits": lambda name, value: {"settings": Settings(limits={f"day.owner:{name}.calls": 1})},
    "policies": lambda name, value: {"settings": Settings(policies={f"agent:{name}": "cells"})},
}


@pytest.mark.parametrize("argument", ARGUMENTS)
@MANY
@given(name=HOSTILE, value=VALUES)
def test_arguments_of_a_loop(argument: str, name: str, value: Any, tmp_path: Path) -> None:
    def lived() -> None:
        with opened(tmp_path, FakeRedis(), ticks=2, **ARGUMENTS[argument](name, value)) as loop:
            next(iter(loop))

    refused(lived)


CALLS: tuple[Callable[[TickLoop, str, Any], object], ...] = (
    lambda loop, name, value: loop.observe(name, {"text": "x"}),
    lambda loop, name, value: loop.observe(ADA, {"text": "x", "minute": loop.tick, name: value}),
    lambda loop, name, value: loop.observe(ADA, {"text": name, "minute": value}),
    lambda loop, name, value: loop.observe(ADA, Observation(**{"text": "x", "minute": 1, name: value})),
    lambda loop, name, value: loop.event(ADA, {"kind": "quest", name: value}),
    lambda loop, name, value: loop.event(ADA, Event(kind=name)),
    lambda loop, name, value: loop.request("plan", ADA, params={name: value}),
    lambda loop, name, value: loop.request("act", ADA, params={"status": {name: value}}),
    lambda loop, name, value: loop.request(name, ADA),
    lambda loop, name, value: loop.request("plan", ADA, reads=(Reads(name, 0),)),
    lambda loop, name, value: loop.apply(SetCounter(ADA, name, 3)),
    lambda loop, name, value: loop.apply(SetCounter(name, "mine", value)),
    lambda loop, name, value: loop.join(name, Profile(name="Bo")),
    lambda loop, name, value: loop.join("agent:bo", Profile(name=name, traits=value)),
    lambda loop, name, value: loop.leave(name),
    lambda loop, name, value: loop.left_location(name, [value]),
    lambda loop, name, value: loop.story_event(name, tags=[value], related={name: value}),
    lambda loop, name, value: loop.scope_context(name),
    lambda loop, name, value: loop.memory(name),
    lambda loop, name, value: loop.memory(ADA).recall("x", profile=name),
    lambda loop, name, value: loop.memory(ADA).recall("x", profile={name: value}),
)


@MANY
@given(data=st.data())
def test_calls_of_a_body(data: st.DataObject, tmp_path: Path) -> None:
    with opened(tmp_path, FakeRedis(), ticks=1) as loop:
        for _ in loop:
            for call in CALLS:
                name, value = data.draw(HOSTILE), data.draw(VALUES)
                refused(lambda call=call, name=name, value=value: call(loop, name, value))  # type: ignore[misc]


LINES: tuple[Callable[[str, Any], Any], ...] = (
    lambda name, value: {name: value},
    lambda name, value: {"do": name, "run": "r"},
    lambda name, value: {"do": "status", "run": name},
    lambda name, value: {"do": "memory", "run": name, "body": {name: value}},
    lambda name, value: {"do": "open", "run": "r", "body": {name: value}},
    lambda name, value: {"do": "open", "run": "r", "body": {"settings": {name: value}}},
    lambda name, value: {"do": "open", "run": "r", "body": {"settings": {"limits": {name: 1}}}},
    lambda name, value: {"do": "open", "run": "r", "body": {"owners": {name: {"name": "x"}}}},
    lambda name, value: {"do": "open", "run": "r", "body": {"owners": {ADA: {"name": "x", name: value}}}},
    lambda name, value: {"do": "tick", "run": name, "tick": 1, "body": {name: value}},
    lambda name, value: {"do": "tick", "run": "r", "tick": 1, "body": {"briefs": {ADA: {name: value}}}},
    lambda name, value: {"do": "steer", "run": "r", "body": {"limit": name, "value": 1}},
)


@MANY
@given(data=st.data())
def test_messages_of_hosts(data: st.DataObject, tmp_path: Path) -> None:
    with HostTable(Settings(data_dir=tmp_path), FakeRedis()) as table:
        host = StdioHost(table)
        for line in LINES:
            message = line(data.draw(HOSTILE), data.draw(VALUES))
            for raw in (json.dumps(message).encode(), json.dumps(message, ensure_ascii=False).encode(errors="replace")):
                problem = host.answer(raw).get("error", {"message": "", "do": ""})
                for said in (problem["message"], problem["do"]):
                    assert said.isprintable(), ascii(said)
                    assert len(said) <= LONGEST


@contextmanager
def typed(*arguments: str) -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """Run a command in this process, from what a user typed to its exit."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(out), redirect_stderr(err):
        patched.setattr(sys, "argv", ["cogitate", *arguments])
        with pytest.raises(SystemExit):
            cli.main()
        yield out, err


@settings(parent=MANY, max_examples=10)
@given(text=HOSTILE)
def test_arguments_of_a_command(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = text.replace("\0", "").replace("\ud800", "\udc80")
    for arguments in (
        (text,),
        ("config", f"--{text}"),
        ("run", "--town", text),
        ("run", "--data-dir", text, "--run", text),
        ("status", text, "--data-dir", str(tmp_path)),
        ("config", "--data-dir", text),
        ("export", "r", "--what", text),
    ):
        with typed(*arguments) as (out, err):
            said = out.getvalue() + err.getvalue()
            assert visible(said) == said, ascii(said)
            assert "bug in cogitate" not in said
            assert len(err.getvalue()) <= LONGEST


@MANY
@given(name=HOSTILE, value=VALUES)
def test_lines_of_a_log(name: str, value: Any) -> None:
    stream = io.StringIO()
    log = structlog.wrap_logger(structlog.PrintLogger(stream), processors=text_processors(stream))
    try:
        raise ValueError(name)
    except ValueError as error:
        log.warning("owner.forgotten", owner=name, told=value, exc_info=error)
    log.warning("owner.forgotten", owner=name)
    logger, handler = logging.Logger("celery"), logging.StreamHandler(stream)
    logger.addHandler(handler)
    escape_foreign(logger)
    logger.warning("Received %s and %r", name, value, exc_info=ValueError(name))
    logger.warning(name)
    said = stream.getvalue()
    assert visible(said) == said, ascii(said)


def test_a_line_of_a_log_is_one_line() -> None:
    stream = io.StringIO()
    log = structlog.wrap_logger(structlog.PrintLogger(stream), processors=text_processors(stream))
    log.warning("owner.forgotten", owner="ada\n12:00 [error] forged")
    assert len(stream.getvalue().splitlines()) == 1
