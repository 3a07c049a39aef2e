"""The page on the story: run each command in order in one shell, and compare the output with the page."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.integration.repository.test_tutorial import END, shown
from tests.patience import LONGEST
from tests.process_environment import shell_environment
from tests.repository import ROOT

PAGE = (ROOT / "docs" / "tutorial" / "the-story.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_every_command_of_the_story_prints_the_pages_output(tmp_path: Path) -> None:
    script = "\n".join(["set -eu", *(f"{body}echo '{END}'" for language, body in BLOCKS if language == "sh")])
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=shell_environment(COLUMNS="80"),
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    printed = iter(done.stdout.split(f"{END}\n"))
    said = ""
    checked = 0
    for language, body in BLOCKS:
        if language == "sh":
            said = next(printed)
        elif language == "text":
            assert shown(body).fullmatch(said), f"the page says\n{body}\nand this was printed\n{said}"
            checked += 1
    assert checked == 6
