"""A live run and the Flower that shows it, for tests in a browser. `artefacts/` keeps their screenshots."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cogitate.ops.fake_llm.server import FakeEndpoint
from tests.integration.command import summary
from tests.repository import ROOT

ARTEFACTS = ROOT / "artefacts"


@dataclass(frozen=True)
class Scene:
    """A live run and the address at which Flower shows it."""

    address: str
    data_dir: Path
    host: subprocess.Popen[bytes]
    endpoint: FakeEndpoint

    @contextmanager
    def still(self) -> Iterator[None]:
        """Pause the host for a block: no tick runs, so figures stop changing once the workers are done."""
        os.kill(self.host.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.host.pid, signal.SIGCONT)

    def status(self) -> dict[str, Any]:
        """Return the output of `cogitate status --json` for the run."""
        return summary("status", "town-1", data_dir=self.data_dir)


def keep(page: Any, name: str, *, whole: bool = True) -> None:
    """Save a screenshot of the whole page, or of its first screen. `make pictures` copies those that the docs show."""
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=str(ARTEFACTS / f"{name}.png"), full_page=whole)
