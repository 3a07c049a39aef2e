"""The image holds all of us, and what it starts is reachable from this machine only."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_image_holds_every_package() -> None:
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    wanted = {f"{module}.py" for module in setup["py-modules"]} | {name.partition(".")[0] for name in setup["packages"]}
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
    assert "celery -A workers worker" in compose
    assert "celery -A workers flower" in compose
    assert "FLOWER_BASIC_AUTH:?" in compose  # no Flower without a password
    assert "--maxmemory-policy noeviction" in compose
    assert "--appendfsync everysec" in compose
