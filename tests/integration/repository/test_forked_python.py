"""Processes that tests fork from one that has imported the product behave as if an interpreter had started them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import LONGEST

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems start every interpreter")

TELL = """
import json, os, sys
print(json.dumps({
    "forked": "openai" in sys.modules,
    "parent": os.getppid(),
    "command": open("/proc/self/cmdline").read().rstrip("\\0").split("\\0"),
    "arguments": sys.argv,
    "file": __file__,
    "name": __name__,
    "folder": os.getcwd(),
    "session": os.getsid(0) == os.getpid(),
    "path": sys.path[0],
    "mine": os.environ.get("MINE"),
    "theirs": os.environ.get("PYTEST_CURRENT_TEST"),
    "input": sys.stdin.read(),
    "descriptors": sorted(map(int, os.listdir("/proc/self/fd"))),
}))
"""
ENDS = """
import atexit, sys, threading
atexit.register(lambda: print("at exit"))
threading.Thread(target=lambda: (threading.main_thread().join(), print("thread"))).start()
print("main")
print("said", file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""
NESTED = """
import os, subprocess, sys
done = subprocess.run([sys.executable, "tell.py"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
print(os.getpid(), done.stdout)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"tell": TELL, "ends": ENDS, "nested": NESTED, "wrong": "1 / 0", "waits": "input()"}.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def test_a_forked_process_has_what_it_was_started_with(folder: Path) -> None:
    command = [sys.executable, "-W", "error", "tell.py", "one", "two words"]
    with subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | {"MINE": "here"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        told = json.loads(process.communicate("typed", LONGEST)[0])
    assert process.returncode == 0
    descriptors = told.pop("descriptors")
    assert told == {
        "forked": True,
        "parent": os.getpid(),
        "command": command,
        "arguments": command[3:],
        "file": str(folder / "tell.py"),
        "name": "__main__",
        "folder": str(folder),
        "session": True,
        "path": str(folder),
        "mine": "here",
        "theirs": os.environ["PYTEST_CURRENT_TEST"],
        "input": "typed",
    }
    assert len(descriptors) == 5, "three streams, the channel to its zygote, and the listed folder"


def test_it_ends_as_an_interpreter_does(folder: Path) -> None:
    done = subprocess.run([sys.executable, "ends.py", "3"], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "main\nthread\nat exit\n", "said\n")
    done = subprocess.run([sys.executable, "wrong.py"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[:2] == [
        "Traceback (most recent call last):",
        f'  File "{folder / "wrong.py"}", line 1, in <module>',
    ]
    with subprocess.Popen(
        [sys.executable, "waits.py"], cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(LONGEST) == -signal.SIGINT


def test_what_it_starts_is_its_own_child(folder: Path) -> None:
    done = subprocess.run([sys.executable, "nested.py"], cwd=folder, capture_output=True, text=True, check=True)
    parent, _, told = done.stdout.partition(" ")
    assert json.loads(told)["forked"]
    assert json.loads(told)["parent"] == int(parent) != os.getpid()


@pytest.mark.parametrize(("variable", "value"), [("PYTHONHASHSEED", "1"), ("PYTHONPATH", "elsewhere")])
def test_an_interpreter_that_starts_otherwise_is_not_forked(folder: Path, variable: str, value: str) -> None:
    done = subprocess.run(
        [sys.executable, "tell.py"],
        cwd=folder,
        env=os.environ | {variable: value},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
    )
    assert not json.loads(done.stdout)["forked"]


def test_a_process_that_was_forked_without_its_zygote_starts_interpreters(folder: Path) -> None:
    (folder / "forks.py").write_text("import os\nif os.fork():\n    raise SystemExit(os.wait()[1])\n" + NESTED)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "forks.py"], cwd=folder, capture_output=True, text=True, check=True
    )
    parent, _, told = done.stdout.partition(" ")
    assert not json.loads(told)["forked"]
    assert json.loads(told)["parent"] == int(parent)
