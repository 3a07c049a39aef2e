"""The Grafana dashboard: each of its queries finds data in a real Prometheus that scrapes a real run."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.hosting.test_metrics import prometheus
from tests.integration.hosting.thinking_town import thinking
from tests.live_flower import started
from tests.ports import free_ports
from tests.repository import ROOT

GRAFANA = ROOT / "ops" / "grafana"
DASHBOARD: dict[str, Any] = json.loads((GRAFANA / "dashboards" / "cogitate.json").read_text())
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
#: Grafana's macros and their values; the rate interval follows from the scrape interval, which is a second here.
MACROS = {"$__rate_interval": "5s"}


def variables() -> Iterator[tuple[str, str, str]]:
    """Yield the name, the series and the label of each variable whose values come from Prometheus."""
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            found = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
            assert found is not None, variable
            assert variable["definition"] == variable["query"]["query"]
            yield variable["name"], found[1], found[2]


def expressions() -> dict[str, str]:
    """Return the queries by their panel and letter, with every variable set to "all"."""
    found = {
        f"{panel['id']} {panel['title']} {one['refId']}": one["expr"]
        for panel in PANELS
        for one in panel.get("targets", ())
    }
    found |= {f"variable {name}": f'{series} and {{{label}!=""}}' for name, series, label in variables()}
    for macro, value in MACROS.items():
        found = {name: text.replace(macro, value) for name, text in found.items()}
    for name, _, _ in variables():
        found = {at: text.replace(f"${name}", ".*") for at, text in found.items()}
    assert not [text for text in found.values() if "$" in text]
    return found


@pytest.mark.system
def test_every_query_has_data_of_a_live_run(tmp_path: Path, eventually: Callable[..., None]) -> None:
    data_dir, port = tmp_path / "data", free_ports(2)
    with EmbeddedServer(data_dir) as server, FakeEndpoint(latency=0.02, faults={"503": 0.3}) as endpoint:
        with server.client() as client:
            client.config_set("maxmemory", "1gb")
        thinks = {
            **thinking(endpoint.url),
            "COGITATE_TUNING": '{"breaker_failures": 3, "breaker_pause": 1}',
            "COGITATE_LIMITS": json.dumps({"tick.run.calls": 2}),
            "COGITATE_METRICS_PORT": str(port),
        }
        run = ("run", "--town", 4, "--days", 90, "--tick-rate", 8, "--workers", 1, "--llm", "openai", "--limit-usd", 1)
        with (
            prometheus(tmp_path, {"cogitate-host": [port], "cogitate-worker": [port + 1]}) as ask,
            started(*run, "--run", "town", data_dir=data_dir, log=tmp_path / "town.log", **thinks) as host,
        ):
            missing = expressions()
            assert len(missing) > 40

            def asked() -> bool:
                for name, text in [*missing.items()]:
                    if any(math.isfinite(float(series["value"][1])) for series in ask(text)):
                        del missing[name]
                return not missing or host.poll() is not None

            try:
                eventually(asked, "each query to have data")
            finally:
                assert not missing, (missing, (tmp_path / "town.log").read_text())


def test_panels_name_their_source_and_do_not_overlap() -> None:
    ids = [panel["id"] for panel in PANELS]
    assert len(set(ids)) == len(ids)
    taken: set[tuple[int, int]] = set()
    for panel in PANELS:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells
        if panel["type"] != "row":
            assert panel["description"].endswith("."), panel["title"]
            assert {one["datasource"]["uid"] for one in (panel, *panel["targets"])} == {"${datasource}"}


def test_the_grafana_of_compose_finds_dashboard_and_prometheus() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    mounted = dict(volume.split(":")[:2] for volume in services["grafana"]["volumes"])
    inside = {there: ROOT / here for here, there in mounted.items() if here.startswith("./")}
    provisioning = inside["/etc/grafana/provisioning"]
    (source,) = yaml.safe_load((provisioning / "datasources/prometheus.yml").read_text())["datasources"]
    name, port = source["url"].removeprefix("http://").split(":")
    assert f"127.0.0.1:{port}:{port}" in services[name]["ports"]
    scraped = yaml.safe_load((ROOT / "ops/prometheus/prometheus.yml").read_text())["global"]["scrape_interval"]
    assert source["jsonData"]["timeInterval"] == scraped
    (provider,) = yaml.safe_load((provisioning / "dashboards/cogitate.yml").read_text())["providers"]
    assert [path.name for path in inside[provider["options"]["path"]].iterdir()] == ["cogitate.json"]
