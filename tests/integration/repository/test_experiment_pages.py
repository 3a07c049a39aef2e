"""The pages on experiments: save each file, run each command in order, and compare the output with the pages."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.integration.repository.test_tutorial import END, shown
from tests.patience import LONGEST
from tests.process_environment import shell_environment
from tests.repository import ROOT

SAVED = re.compile(r"[Ss]ave (?:this|it) as `([\w.]+)`|and this as `([\w.]+)`")


def blocks(page: str) -> list[tuple[str, str]]:
    """Return a page's blocks, each with the file to save it as, or with "run", "python" or "printed"."""
    found, file = [], ""
    for text, language, body in re.findall(r"(.*?)^```(\w+)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL):
        named = SAVED.findall(text)
        file = next(filter(None, named[-1])) if named else ""
        kind = {"sh": "run", "text": "printed", "python": "python"}.get(language, "")
        found.append((file or kind, body))
    return [(what, body) for what, body in found if what]


def check_page(name: str, folder: Path) -> int:
    """Follow a page's steps, and return the number of output blocks that were compared."""
    found = blocks((ROOT / "docs" / name).read_text())
    lines = ["set -eu"]
    for what, body in found:
        if what in ("run", "python"):
            lines.append(body if what == "run" else f"python -W error - <<'PYTHON'\n{body}PYTHON")
            lines.append(f"echo '{END}'")
        elif what != "printed":
            lines.append(f"cat > {what} <<'SAVED'\n{body}SAVED")
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)],
        cwd=folder,
        env=shell_environment(COLUMNS="100", PYTHONPATH=str(folder)),
        capture_output=True,
        text=True,
        timeout=3 * LONGEST,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    printed = iter(done.stdout.split(f"{END}\n"))
    said, checked = "", 0
    for what, body in found:
        if what in ("run", "python"):
            said = next(printed)
        elif what == "printed":
            assert shown(body).fullmatch(said), f"the page says\n{body}\nand this was printed\n{said}"
            checked += 1
    return checked


def test_the_tutorial_prints_the_shown_output_and_writes_the_plot(tmp_path: Path) -> None:
    assert check_page("tutorial/an-experiment.md", tmp_path) == 3
    assert "<svg" in (tmp_path / "afternoon" / "plot.svg").read_text()


def test_the_experiments_of_the_guide_print_the_shown_output(tmp_path: Path) -> None:
    assert check_page("how-to/experiments.md", tmp_path) == 1
    assert (tmp_path / "reflection" / "summary.html").exists()
