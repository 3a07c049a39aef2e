"""Draw the dashboard of a live run whose model fails for a while: `python -m tests.browser.dashboard.picture FILE`.

Needs node, Prometheus and Chromium. Grafana's libraries, pinned by `package-lock.json`, draw a real Prometheus's
answers to the dashboard's queries; no Grafana server is involved.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from bench.soak import workers_of
from cogitate.ops.fake_llm.server import FakeEndpoint
from tests.browser.conftest import FLAGS
from tests.browser.scene import ARTEFACTS
from tests.integration.hosting.test_metrics import prometheus
from tests.integration.hosting.thinking_town import thinking
from tests.live_flower import started, until
from tests.patience import LONGEST
from tests.ports import free_ports
from tests.repository import ROOT

HERE = Path(__file__).parent
BUILT = ARTEFACTS / "dashboard"
DASHBOARD = ROOT / "ops" / "grafana" / "dashboards" / "cogitate.json"
WORKERS = 3
STEP = 5  # seconds between two points of a curve
SHOWN = 180  # the picture's time range in seconds
LIMITS = {"tick.run.calls": 6, "day.kind:act.calls": 150}
USUAL = {"503": 0.04, "wrong_types": 0.06}


def built() -> Path:
    """Build the page's script and its style sheet in one folder, and return the script's path."""
    BUILT.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json", "draw.jsx"):
        shutil.copy(HERE / name, BUILT)
    subprocess.run(
        ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=BUILT, check=True
    )
    subprocess.run(["npm", "run", "--silent", "build"], cwd=BUILT, check=True)
    return BUILT / "drawn.js"


def live(endpoint: FakeEndpoint, host: int) -> None:
    """Let the run meet the incidents that the picture shows: a slow model, a failing model, and a killed worker."""
    time.sleep(60)
    endpoint.change(latency=2.0)
    time.sleep(20)
    endpoint.change(latency=0.1)
    time.sleep(30)
    workers_of(host)[0].kill()
    endpoint.change(faults={"503": 1.0})
    time.sleep(20)
    endpoint.change(faults=USUAL)
    time.sleep(50)


def draw(script: Path, address: str, until_then: float, file: Path) -> None:
    """Draw the dashboard for the time range that ends at `until_then`, in seconds since the epoch."""
    asked = {"prometheus": address, "from": until_then - SHOWN, "to": until_then, "step": STEP}
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = chromium.new_page(viewport={"width": 1600, "height": 900})
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{address}/-/ready")  # an empty page of an origin that may query Prometheus
        page.add_style_tag(path=script.with_suffix(".css"))
        page.add_script_tag(path=script)
        empty = page.evaluate(
            "([dashboard, asked]) => draw(dashboard, asked)", [json.loads(DASHBOARD.read_text()), asked]
        )
        assert not empty, f"without data: {empty}"
        page.wait_for_function("() => document.querySelectorAll('canvas').length > 20")
        assert not errors, errors
        page.screenshot(path=file, full_page=True)
        chromium.close()


def main(file: Path) -> None:
    """Run the town through its incidents, and draw the dashboard of what Prometheus measured."""
    with tempfile.TemporaryDirectory() as name, FakeEndpoint(latency=0.1, tail=0.5, faults=USUAL) as endpoint:
        folder = Path(name)
        data_dir, port, address = folder / "data", free_ports(WORKERS + 1), free_ports()
        script = built()
        thinks = {
            **thinking(endpoint.url),
            "COGITATE_TUNING": '{"breaker_failures": 3, "breaker_pause": 2}',
            "COGITATE_LIMITS": json.dumps(LIMITS),
            "COGITATE_METRICS_PORT": str(port),
        }
        town = ("--town", 12, "--days", 90, "--tick-rate", 8, "--workers", WORKERS)
        run = ("run", "--run", "town", *town, "--llm", "openai", "--limit-usd", 1)
        workers = range(port + 1, port + 1 + WORKERS)
        log = folder / "town.log"
        with (
            prometheus(folder, {"cogitate-host": [port], "cogitate-worker": workers}, port=address) as ask,
            started(*run, data_dir=data_dir, log=log, **thinks) as host,
        ):
            until(lambda: ask("cogitate_tick > 0") or host.poll() is not None, "the run to start", LONGEST)
            assert host.poll() is None, log.read_text()
            live(endpoint, host.pid)
            draw(script, f"http://127.0.0.1:{address}", time.time() // STEP * STEP, file)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
