"""No text of a run can control the terminal: commands escape every control character."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from redis import Redis
from rich.table import Table
from rich.text import Text

from cogitate import Profile, Settings, TickLoop
from cogitate.effects import Append, Effect, Entry
from cogitate.hosting import logs
from cogitate.hosting.terminal import Terminal, visible, visible_json
from cogitate.kinds import Case, Kind
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks import registry
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import typed
from tests.repository import ROOT

RUN = "steered"
CLEAR, TITLE, TURNED, BELL = "\x1b[2J", "\x1b]0;owned\x07", "\u202elive\u202c", "\x07\r\x9b31m"
TEXT = f"I saw {CLEAR}a {TITLE}sign {TURNED}of {BELL}[/red] :fire: it."
SHOWN = r"I saw \x1b[2Ja \x1b]0;owned\x07sign \u202elive\u202cof \x07\r\x9b31m[/red] :fire: it."
OWNER = "agent:\u202eada\x9b"
OWNER_SHOWN = r"agent:\u202eada\x9b"


class Shout(Kind):
    """A kind whose thoughts contain terminal control sequences."""

    name = "shout"
    order = 91
    latency = 1

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        return (Append(OWNER, Entry(type="reflection", text=TEXT, minute=case.job.minute, importance=4)),)


@pytest.fixture(scope="module")
def steered(valkey_server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """Yield a data folder and the URL of a server with a run whose texts and names are all hostile."""
    folder = tmp_path_factory.mktemp("steered")
    with valkey_server.client() as client, pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "cogitate.scheduler.intake.checks._HIDDEN", re.compile("[\x00-\x1f]")
        )  # older versions accepted such owners
        client.flushall()
        live(folder, client)
        yield folder, valkey_server.url
        client.flushall()


def live(folder: Path, client: Redis) -> None:
    registry.register(Shout())
    with TickLoop(
        run=RUN,
        owners={OWNER: Profile(name=TEXT, occupation=TEXT)},
        settings=Settings(data_dir=folder),
        start_minute=400,
        ticks=12,
        inline=True,
        client=client,
    ) as loop:
        for tick in loop:
            if tick.number == 2:
                loop.observe(OWNER, {"text": TEXT, "minute": tick.minute, "importance": 8})
                loop.request("shout", OWNER)
            if tick.number == 5:
                loop.state.warnings[f"host.{CLEAR}"] += 1
    client.hset(RunStore.open(client, RUN).key("state"), "host", f"me{CLEAR}")


COMMANDS = {
    "memory": ("memory", RUN, OWNER),
    "query": ("memory", RUN, OWNER, "--query", TEXT),
    "nobody": ("memory", RUN, OWNER + "\x1b"),
    "plan": ("plan", RUN, OWNER),
    "jobs": ("jobs", RUN),
    "job": ("job", f"{RUN}/2/shout/{OWNER}/0/0"),
    "no job": ("job", f"{RUN}/2/shout/{OWNER}/7/0"),
    "status": ("status", RUN),
    "watch": ("status", RUN, "--watch"),
    "runs": ("runs",),
    "audit": ("audit", RUN),
    "replay": ("replay", RUN),
    "budget": ("budget", RUN),
    "throttle": ("throttle", RUN),
    "report": ("report", RUN, "--out", "page.html"),
    "json": ("memory", RUN, OWNER, "--json"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_writes_terminal_control_sequences(name: str, steered: tuple[Path, str]) -> None:
    folder, url = steered
    done = typed(*COMMANDS[name], data_dir=folder / "data", COGITATE_REDIS_URL=url, COLUMNS="250")
    said = done.stdout + done.stderr
    assert visible(said) == said
    assert done.returncode == (2 if name in ("nobody", "no job") else 0), said
    if name in ("memory", "query", "job"):
        assert SHOWN in said, "the text is complete"
    if name in ("memory", "query", "plan", "jobs", "job", "nobody"):
        assert OWNER_SHOWN in said
    if name in ("runs", "status"):
        assert r"\x1b[2J" in said


def test_a_report_escapes_control_characters(steered: tuple[Path, str]) -> None:
    folder, url = steered
    page = folder / "all.html"
    done = typed("report", RUN, "--out", page, data_dir=folder / "data", COGITATE_REDIS_URL=url)
    assert done.returncode == 0, done.stderr
    written = page.read_text()
    assert visible(written) == written
    assert r"\x1b[2J" in written


def test_text_is_shown_unchanged_and_hidden_characters_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    plain = "Zoë met 東京 👩‍🚀 at [5 PM] :smile: and [bold]left[/bold]"
    table = Table("a")
    table.add_row(plain)
    table.add_row(CLEAR)
    console = Terminal()
    console.print(table, width=90)
    console.print(plain, highlight=False, soft_wrap=True)
    console.print(Text(TURNED))
    out = capsys.readouterr().out
    assert out.count(plain) == 2
    assert r"\x1b[2J" in out
    assert r"\u202elive\u202c" in out
    assert visible(plain) == plain
    assert visible("\ud800") == r"\ud800"


def test_escaped_json_decodes_to_the_same_value() -> None:
    line = json.dumps({"a": TEXT + "\U000e0041"}, ensure_ascii=False).encode()
    shown = visible_json(line)
    assert visible(shown.decode()) == shown.decode()
    assert json.loads(shown) == json.loads(line)


def test_a_log_shows_names_of_owners_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(0)
    structlog.get_logger().warning("memory.forgotten", owner=OWNER + CLEAR)
    err = capsys.readouterr().err
    assert visible(err) == err
    assert OWNER_SHOWN in err


def test_every_command_prints_through_the_escaping_console() -> None:
    """Check that no module uses rich's own console, which interprets markup and escapes nothing."""
    modules = [path for package in ("hosting", "ops") for path in sorted((ROOT / package).glob("**/*.py"))]
    assert len(modules) > 70
    direct = [path.name for path in modules if " Console(" in path.read_text()]
    assert direct == []
