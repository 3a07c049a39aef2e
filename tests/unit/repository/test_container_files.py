"""The image holds all of us, and what it starts is reachable from this machine only."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from cogitate.scheduler.config.settings import Settings
from tests.repository import ROOT

#: What containers fix, or what cannot be a variable there: the folder, the servers, keys, and modules of a host's own.
FIXED = {
    "data_dir",
    "redis_url",
    "redis_urls",
    "broker_url",
    "api_key",
    "prompts",
    "kinds",
    "workers",
    "metrics_port",
    "metrics_address",
    "gateway_token",
}
START, TOWN = ROOT / "ops/container/start.sh", ROOT / "ops/container/town.sh"


def test_the_image_holds_every_package() -> None:
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    wanted = {f"{module}.py" for module in setup["py-modules"]}
    wanted |= {"cogitate", *(link.readlink().name for link in (ROOT / "cogitate").iterdir() if link.is_symlink())}
    copied = set(" ".join(re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)).split())
    assert wanted <= copied
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {f"!{name}" for name in copied} <= set(ignored)


def test_only_loopback_ports_are_published() -> None:
    compose = (ROOT / "docker-compose.yml").read_text()
    published = re.findall(r'- "([^"]*:\d+)"', compose)
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_every_container_is_confined_and_its_log_rotated() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    assert len(services) == 8
    for name, service in services.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert set(service["logging"]["options"]) == {"max-size", "max-file"}, name


def test_compose_runs_the_same_commands_as_a_bare_machine() -> None:
    compose = (ROOT / "docker-compose.yml").read_text()
    assert "celery -A cogitate worker" in compose
    assert "celery -A cogitate flower" in compose
    assert "exec cogitate run" in TOWN.read_text()
    assert "--maxmemory-policy noeviction" in compose
    assert "--appendfsync everysec" in compose
    for name in ("hash", "zset"):
        assert f"--{name}-max-listpack-entries 1024" in compose


def test_each_service_has_a_user_whose_password_is_in_a_file() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    for name, service in compose["services"].items():
        environment = service.get("environment", {})
        assert not [one for one in environment if one.endswith(("PASSWORD", "AUTH", "API_KEY"))], name
        files = {value.removeprefix("/run/secrets/") for one, value in environment.items() if one.endswith("_FILE")}
        assert files == set(service.get("secrets", ())) <= compose["secrets"].keys()
        if "COGITATE_REDIS_URL" in environment:
            user = {"flower": "operator"}.get(name, name)
            assert environment["COGITATE_REDIS_URL"] == f"redis://{user}:PASSWORD@redis:6379/0"
            assert environment["COGITATE_BROKER_URL"] == f"redis://{user}:PASSWORD@redis:6379/1"
            assert f"{user}_password" in files
    assert {"host", "worker", "operator", "flower"} <= compose["services"].keys()


@pytest.mark.parametrize("service", ["host", "worker"])
def test_every_setting_that_an_operator_changes_reaches_hosts_and_workers(service: str) -> None:
    environment = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"][service]["environment"]
    settings = {f"COGITATE_{name.upper()}" for name in Settings.model_fields if name not in FIXED}
    assert settings <= environment.keys()
    for name in settings:
        value = environment[name]
        assert value is None or value.startswith(f"${{{name}:-"), "it may be changed"
    assert {one for one in environment if one.startswith("COGITATE_")} <= {
        f"COGITATE_{name.upper()}" for name in Settings.model_fields
    }


def test_every_service_has_a_bound_of_memory_a_health_check_and_a_version() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    for name, service in services.items():
        assert service["mem_limit"], name
        assert ("healthcheck" in service) == (name != "operator"), name  # it ends by itself
        assert re.fullmatch(r"\S+:v?\d+\.\d+\.\d+(-\w+)?", service["image"]), name
        if "build" in service:
            assert service["image"] == f"cogitate:{version}"
    (base,) = re.findall(r"^FROM (\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert re.fullmatch(r"python:\d+\.\d+\.\d+-slim", base)


def run_in_container(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a container's command finds in its environment."""
    show = ["sh", "-c", 'echo "$COGITATE_REDIS_URL|${OPENAI_API_KEY-none}|${REDIS_PASSWORD-none}"']
    given = {"PATH": "/usr/bin:/bin", "COGITATE_REDIS_URL": "redis://host:PASSWORD@redis:6379/0", **environment}
    return subprocess.run(["sh", str(START), *show], env=given, cwd=folder, capture_output=True, text=True, check=False)


def test_secrets_come_from_files(tmp_path: Path) -> None:
    for name, text in {"password": "abc123\n", "key": "sk-1 2'$x\n", "empty": ""}.items():
        (tmp_path / name).write_text(text)
    done = run_in_container(tmp_path, REDIS_PASSWORD_FILE="password", OPENAI_API_KEY_FILE="key")
    assert (done.stdout, done.stderr) == ("redis://host:abc123@redis:6379/0|sk-1 2'$x|none\n", "")
    done = run_in_container(tmp_path, REDIS_PASSWORD_FILE="password", OPENAI_API_KEY_FILE="empty")
    assert done.stdout == "redis://host:abc123@redis:6379/0|none|none\n"


def test_rabbitmq_has_a_separate_password(tmp_path: Path) -> None:
    (tmp_path / "redis").write_text("abc")
    (tmp_path / "rabbitmq").write_text("def")
    given = {
        "PATH": "/usr/bin:/bin",
        "COGITATE_REDIS_URL": "redis://host:PASSWORD@redis:6379/0",
        "COGITATE_BROKER_URL": "amqp://cogitate:PASSWORD@rabbitmq:5672/",
        "REDIS_PASSWORD_FILE": "redis",
        "RABBITMQ_PASSWORD_FILE": "rabbitmq",
    }
    show = ["sh", "-c", 'echo "$COGITATE_REDIS_URL|$COGITATE_BROKER_URL|${RABBITMQ_PASSWORD-none}"']
    said = subprocess.run(
        ["sh", str(START), *show], env=given, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert said.stdout == "redis://host:abc@redis:6379/0|amqp://cogitate:def@rabbitmq:5672/|none\n"


@pytest.mark.parametrize(
    ("text", "message"), [(None, "REDIS_PASSWORD_FILE: secret cannot be read"), ("a@b/c", "letters and digits only")]
)
def test_secrets_that_cannot_be_used_are_named_but_not_shown(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "secret").write_text(text)
    done = run_in_container(tmp_path, REDIS_PASSWORD_FILE="secret")
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    assert "a@b" not in done.stderr


def test_prometheus_scrapes_the_services_of_compose() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    scraped = (ROOT / "ops/prometheus/prometheus.yml").read_text()
    for name in ("host", "worker"):
        assert f"names: [{name}]" in scraped, "each container, however many there are"
    assert {services[name]["environment"]["COGITATE_METRICS_PORT"] for name in ("host", "worker")} == {9464}


def started_town(folder: Path, *, known: str = "", **environment: str) -> str:
    """The command that a town's container runs, where Redis knows one run."""
    said = folder / "said"
    (folder / "cogitate").write_text(
        f'#!/bin/sh\n[ "$1" != status ] || {{ [ "$2" = "{known}" ]; exit; }}\necho "$@" > {said}\n'
    )
    (folder / "hostname").write_text("#!/bin/sh\necho 3f2a9c\n")
    for program in ("cogitate", "hostname"):
        (folder / program).chmod(0o755)
    given = {"PATH": f"{folder}:/usr/bin:/bin", **environment}
    subprocess.run(["sh", str(TOWN), "--town", "25"], env=given, check=True)
    return said.read_text().strip()


def test_a_town_resumes_when_its_container_restarts(tmp_path: Path) -> None:
    assert started_town(tmp_path) == "run --run town-3f2a9c --days 1 --workers 0 --town 25"
    assert started_town(tmp_path, known="town-3f2a9c") == "run --run town-3f2a9c --resume --days 1 --workers 0"
    named = {"RUN": "village", "DAYS": "3"}
    assert started_town(tmp_path, known="other", **named) == "run --run village --days 3 --workers 0 --town 25"
    assert started_town(tmp_path, known="village", **named) == "run --run village --resume --days 3 --workers 0"


def test_alerts_reach_the_alertmanager_of_compose() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    (sent,) = yaml.safe_load((ROOT / "ops/prometheus/prometheus.yml").read_text())["alerting"]["alertmanagers"]
    (target,) = sent["static_configs"][0]["targets"]
    name, port = target.split(":")
    assert f"127.0.0.1:{port}:{port}" in services[name]["ports"]
    config = yaml.safe_load((ROOT / "ops/alertmanager/alertmanager.yml").read_text())
    assert config["route"]["receiver"] in {one["name"] for one in config["receivers"]}
    (group,) = yaml.safe_load((ROOT / "ops/prometheus/alerts.yml").read_text())["groups"]
    named = re.findall(r"Cogitate\w+", str(config["inhibit_rules"]))
    assert named
    assert {*named} <= {rule["alert"] for rule in group["rules"]}
