"""A real Prometheus with the shipped rules."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.patience import LONGEST
from tests.ports import free_ports
from tests.repository import ROOT

SHIPPED = ROOT / "ops" / "prometheus"


@contextmanager
def prometheus(
    folder: Path, targets: Mapping[str, Sequence[int]], *, port: int | None = None
) -> Iterator[Callable[[str], list[dict[str, Any]]]]:
    """Run a Prometheus with the shipped rules that scrapes jobs at loopback ports; yield a function that queries it."""
    binary = shutil.which("prometheus")
    if binary is None:
        # COGITATE_REQUIRE_SYSTEM, as in CI, makes this skip a failure.
        pytest.skip("no prometheus on this machine")
    port = port or free_ports(1)
    jobs = [
        {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{target}" for target in found]}]}
        for name, found in targets.items()
    ]
    config = folder / "prometheus.yml"
    config.write_text(
        json.dumps(
            {
                "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                "rule_files": [str(SHIPPED / "alerts.yml")],
                "scrape_configs": jobs,
            }
        )
    )
    with (folder / "prometheus.log").open("wb") as out:
        process = subprocess.Popen(
            [
                *(binary, f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"),
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=out,
            stderr=out,
        )

    def ask(expression: str) -> list[dict[str, Any]]:
        url = f"http://127.0.0.1:{port}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
        try:
            with urllib.request.urlopen(url, timeout=LONGEST) as answer:
                found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
                return found
        except OSError:
            assert process.poll() is None, (folder / "prometheus.log").read_text()
            return []

    try:
        yield ask
    finally:
        process.terminate()
        process.wait(LONGEST)


LIMIT = 'run="town",period="run",scope="run",unit="tokens"'
