"""A host that forks in the body of its loop: the child gets an error, exits, and stops no process of its parent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.command import left_behind
from tests.patience import LONGEST

HOST = """
import json, os, sys
from cogitate import CogitateError, Profile, Settings, TickLoop
from cogitate.errors import UsageError

def child(loop, tick, way):
    if way == "observes":
        loop.observe("agent:ada", {"text": "I am a copy.", "minute": tick.minute})
    elif way == "goes on":
        next(iter(loop))
    elif way == "holds on":
        next(ticks)
    elif way == "leaves":
        loop.close()
        sys.exit(0)

data_dir, way = sys.argv[1:]
owners = {"agent:ada": Profile(name="Ada Smith"), "agent:ben": Profile(name="Ben Cole")}
parent, told = os.getpid(), None
try:
    with TickLoop(
        run="forked", owners=owners, settings=Settings(data_dir=data_dir, workers=1), start_minute=350, ticks=30
    ) as loop:
        ticks = iter(loop)
        for tick in ticks:
            if tick.number == 5 and way != "never":
                reads, writes = os.pipe()
                forked = os.fork()
                if not forked:
                    try:
                        child(loop, tick, way)
                    except UsageError as error:
                        os.write(writes, str(error).encode())
                        raise
                os.close(writes)
                with os.fdopen(reads) as pipe:
                    told = pipe.read()
                _, status = os.waitpid(forked, 0)
                told = [told, os.waitstatus_to_exitcode(status)]
except CogitateError:
    if os.getpid() == parent:
        raise
    sys.exit(7)
ended = {f"{kind} {source} {reason}": count for (kind, source, reason), count in loop.ended.items()}
print(json.dumps({"digest": loop.digest, "tick": loop.tick, "told": told, "ended": ended}))
"""


def lived(folder: Path, way: str) -> dict[str, object]:
    """Run a host that forks at its fifth tick, in a separate process, and return what it prints."""
    script, data_dir = folder / "host.py", folder / "data"
    script.write_text(HOST)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), str(data_dir), way],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not left_behind(data_dir)
    (line,) = done.stdout.splitlines()
    found: dict[str, object] = json.loads(line)
    return found


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Return the result of the same run without a fork."""
    return lived(tmp_path_factory.mktemp("alone"), "never")


@pytest.mark.parametrize("way", ["observes", "goes on", "holds on", "leaves"])
def test_a_forked_child_is_refused_and_its_parent_keeps_its_workers(
    way: str, alone: dict[str, object], tmp_path: Path
) -> None:
    found = lived(tmp_path, way)
    told = found.pop("told")
    assert found == {name: value for name, value in alone.items() if name != "told"}
    assert found["tick"] == 30
    assert isinstance(told, list)
    said, code = told
    assert code == (0 if way == "leaves" else 7)
    assert ("opened this loop" in said and "is a fork of it" in said) == (way != "leaves")
