"""Processes forked by `tests.forked_python` behave as if an interpreter had started them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import LONGEST
from tests.process_environment import shell_environment

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


def test_a_forked_process_keeps_its_arguments_environment_and_input(folder: Path) -> None:
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
    assert len(descriptors) == 5, "the three streams, the channel to its zygote, and the listed folder"


def test_a_forked_process_exits_as_an_interpreter_does(folder: Path) -> None:
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


def test_a_nested_process_is_a_child_of_the_forked_one(folder: Path) -> None:
    done = subprocess.run([sys.executable, "nested.py"], cwd=folder, capture_output=True, text=True, check=True)
    parent, _, told = done.stdout.partition(" ")
    assert json.loads(told)["forked"]
    assert json.loads(told)["parent"] == int(parent) != os.getpid()


@pytest.mark.parametrize(("variable", "value"), [("PYTHONHASHSEED", "1"), ("PYTHONPATH", "elsewhere")])
def test_a_process_with_other_python_variables_is_not_forked(folder: Path, variable: str, value: str) -> None:
    done = subprocess.run(
        [sys.executable, "tell.py"],
        cwd=folder,
        env=os.environ | {variable: value},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
    )
    assert not json.loads(done.stdout)["forked"]


def in_a_shell(script: str, folder: Path, **environment: str) -> str:
    """Run a script in a shell, check that it succeeds, and return its output."""
    return subprocess.run(
        ["bash", "-euc", script],
        cwd=folder,
        env=shell_environment(**environment),
        input="typed",
        stdout=subprocess.PIPE,
        text=True,
        timeout=LONGEST,
        check=True,
    ).stdout


def test_a_process_forked_from_a_shell_keeps_its_arguments_environment_and_input(folder: Path) -> None:
    (folder / "more").mkdir()
    told = json.loads(in_a_shell("MINE=here python -W error tell.py 'two words'", folder))
    assert told["forked"]
    assert told["command"] == [sys.executable, "-W", "error", "tell.py", "two words"]
    assert (told["arguments"], told["path"]) == (["tell.py", "two words"], str(folder))
    assert (told["folder"], told["mine"], told["input"]) == (str(folder), "here", "typed")
    (folder / "more" / "mine.py").write_text("import sys\nprint(sys.argv, sys.path[0], __name__)\n")
    assert in_a_shell("echo 'import mine' | python - one", folder, PYTHONPATH=str(folder / "more")) == (
        "['-', 'one']  mine\n"
    )
    nested = in_a_shell("python nested.py", folder, PYTHONPATH=str(folder / "more")).partition(" ")[2]
    assert json.loads(nested)["forked"]
    assert in_a_shell("cogitate --help", folder).lstrip().startswith("Usage: cogitate ")


def test_a_process_forked_from_a_shell_exits_as_an_interpreter_does(folder: Path) -> None:
    assert in_a_shell("python ends.py 3 || echo $?", folder) == "main\nthread\nat exit\n3\n"
    waits = "mkfifo hold; python waits.py < hold & exec 3> hold; kill -{} $!; wait $! || echo $?"
    for number in (signal.SIGTERM, signal.SIGKILL):
        (folder / "hold").unlink(missing_ok=True)
        assert in_a_shell(waits.format(number.value), folder) == f"{128 + number}\n"


@pytest.mark.parametrize("command", ["PYTHONHASHSEED=1 python tell.py", "python -m tell"])
def test_a_shell_starts_an_interpreter_for_other_commands(folder: Path, command: str) -> None:
    assert not json.loads(in_a_shell(command, folder))["forked"]


def test_a_process_that_forks_itself_starts_interpreters(folder: Path) -> None:
    (folder / "forks.py").write_text("import os\nif os.fork():\n    raise SystemExit(os.wait()[1])\n" + NESTED)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "forks.py"], cwd=folder, capture_output=True, text=True, check=True
    )
    parent, _, told = done.stdout.partition(" ")
    assert not json.loads(told)["forked"]
    assert json.loads(told)["parent"] == int(parent)
