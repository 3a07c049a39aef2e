"""The tutorial as a newcomer follows it: run each command in order in one shell, and compare output with the page."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

from tests.patience import LONGEST
from tests.ports import free_ports
from tests.process_environment import shell_environment
from tests.repository import ROOT

PAGE = (ROOT / "docs" / "tutorial" / "first-host.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
PORT = "8123"  # the page's port, which the test replaces by a free one
END = "=== end of block ==="


def demo() -> str:
    """Return the command of `make demo`, without the path of .venv."""
    recipe = re.search(r"^demo:.*\n\t(.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert recipe is not None
    return recipe[1].replace("$(BIN)/", "")


def script(port: str) -> str:
    """Return the page as one script that prints END after each block of commands."""
    lines = ["set -eu", f"make() {{ {demo()}; }}"]
    for language, body in BLOCKS:
        if language == "sh":
            lines.append(body.replace(PORT, port))
            if "fake-llm" in body:  # a newcomer types the next command after the endpoint is up
                lines.append(f"until (exec 3<> /dev/tcp/127.0.0.1/{port}) 2> /dev/null; do sleep 0.05; done")
            lines.append(f"echo '{END}'")
        elif language == "python":
            lines.append(f"cat > village.py <<'PYTHON'\n{body}PYTHON")
    return "\n".join(lines)


def shown(text: str) -> re.Pattern[str]:
    """Return the pattern of a block of output: "…" matches the rest of a line, or any lines if it stands alone."""
    parts = [
        r"(?:.*\n)*?" if line == "…" else "[^\n]*".join(map(re.escape, line.split("…"))) + "[ ]*\n"
        for line in text.splitlines()
    ]
    return re.compile("".join(parts))


def test_every_step_prints_the_pages_output(tmp_path: Path) -> None:
    port = str(free_ports())
    clone = tmp_path / "cogitate"
    clone.mkdir()
    errors = tmp_path / "stderr"
    with (
        errors.open("w") as stderr,
        subprocess.Popen(
            ["bash", "-c", script(port)],
            cwd=clone,
            env=shell_environment(COLUMNS="80"),
            text=True,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
        ) as shell,
    ):
        try:
            out, _ = shell.communicate(timeout=LONGEST)
        finally:
            if shell.poll() is None:
                os.killpg(shell.pid, signal.SIGTERM)
    assert shell.returncode == 0, out + errors.read_text()
    printed = iter(out.replace(port, PORT).split(f"{END}\n"))
    said = ""
    checked = 0
    for language, body in BLOCKS:
        if language == "sh":
            said = next(printed)
        elif language == "text":
            assert shown(body).fullmatch(said.lstrip("\n")), f"the page says\n{body}\nand this was printed\n{said}"
            checked += 1
    assert checked == 8
    warnings = set(re.findall(r"\b[a-z]+\.[a-z]+\b", errors.read_text()))
    assert set(re.findall(r"a warning, `([\w.]+)`", PAGE)) <= warnings
