"""The image holds all of us, and what it starts is reachable from this machine only."""

from __future__ import annotations

import re
import tomllib

import yaml

from tests.repository import ROOT


def test_the_image_holds_every_package() -> None:
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    wanted = {f"{module}.py" for module in setup["py-modules"]}
    wanted |= {name.partition(".")[0] for name in setup["packages"]["find"]["include"]}
    copied = set(" ".join(re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)).split())
    assert wanted <= copied
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {f"!{name}" for name in copied} <= set(ignored)


def test_only_loopback_ports_are_published() -> None:
    compose = (ROOT / "docker-compose.yml").read_text()
    published = re.findall(r'- "([^"]*:\d+)"', compose)
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_the_commands_are_those_without_docker() -> None:
    compose = (ROOT / "docker-compose.yml").read_text()
    assert "celery -A cogitate worker" in compose
    assert "celery -A cogitate flower" in compose
    assert "command: cogitate run" in compose
    assert "--maxmemory-policy noeviction" in compose
    assert "--appendfsync everysec" in compose


def test_each_service_has_a_user_whose_password_must_be_given() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    for name, service in services.items():
        for variable, value in service.get("environment", {}).items():
            if variable.endswith(("_PASSWORD", "_AUTH", "REDIS_URL")):
                assert re.search(r"\$\{(\w+):\?set \1", value), f"{name}: {variable}"
        if "COGITATE_REDIS_URL" in service.get("environment", {}):
            user = {"flower": "operator"}.get(name, name)
            assert service["environment"]["COGITATE_REDIS_URL"].startswith(
                f"redis://{user}:${{{user.upper()}_PASSWORD:?"
            )
    assert {"host", "worker", "operator", "flower"} <= services.keys()


def test_prometheus_scrapes_what_compose_serves() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    scraped = (ROOT / "ops/prometheus/prometheus.yml").read_text()
    assert '["host:9464"]' in scraped
    assert "names: [worker]" in scraped
    assert {services[name]["environment"]["COGITATE_METRICS_PORT"] for name in ("host", "worker")} == {9464}
